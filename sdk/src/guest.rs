//! The component: what implements the contract's interfaces, and what calls the host's.
//!
//! The bindings are generated one hook at a time, each from a world of its own that exports only that hook: a component exports
//! the interfaces that its plugin names in [`export!`](crate::export!) and no others, because the host finds hooks by their
//! exports. The linker merges the worlds; they share the types of the first.

mod adapter;
pub mod bindings;
mod convert;
pub(crate) mod imports;
mod panic;

pub use adapter::Adapter;
