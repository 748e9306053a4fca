//! `wit/provider.wit` as Rust types, generated.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "generated from the contract")]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "provider",
    imports: {
        "pivot:provider/context.providers": async | trappable,
        "pivot:provider/objects.read": async | trappable,
        "pivot:provider/endpoints.probe": async | trappable,
        default: trappable,
    },
    exports: { default: async },
});

#[cfg(test)]
mod tests;

/// The contract's package.
pub(crate) const PACKAGE: &str = "pivot:provider";
/// The line of compatible versions.
pub(crate) const LINE: (u64, u64) = (0, 1);
