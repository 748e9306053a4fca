//! The macro that turns a plugin into a component.

/// Turns a [`Plugin`](crate::Plugin) into a component, with the named hooks and no others.
///
/// ```
/// use pivot_sdk::prelude::*;
///
/// const LEASE: Kind = Kind::new("coordination.k8s.io", "Lease");
///
/// #[derive(Default)]
/// struct NoLeases;
///
/// impl Plugin for NoLeases {
///     fn about() -> About {
///         About::new("no-leases", "0.1.0", "Leaves leases where they are.").sees(LEASE)
///     }
///
///     fn relate(&self, _object: &Object) -> Result<Vec<Relation>> {
///         Ok(vec![Relation::leave("a lease belongs to the cluster it was taken in")])
///     }
/// }
///
/// pivot_sdk::export!(NoLeases, hooks = [relate]);
/// # fn main() {}
/// ```
///
/// With `schema = include_bytes!("options.json")`, the component has a JSON Schema of its configuration. The host refuses a configuration
/// that doesn't fit, and shows operators the options. [`Harness::compare_schema`](crate::test::Harness::compare_schema) tests the schema.
///
/// Use it once per crate, in a crate with `crate-type = ["cdylib"]` (and `"rlib"` if it has tests outside `src`).
#[macro_export]
macro_rules! export {
    ($plugin:ty, hooks = [$($hook:ident),+ $(,)?] $(, schema = $schema:expr)? $(,)?) => {
        impl $crate::Exported for $plugin {
            const HOOKS: &'static [$crate::Hook] = &[$($crate::__hook!($hook)),+];
            $(const SCHEMA: ::core::option::Option<&'static [u8]> = ::core::option::Option::Some($schema);)?
        }

        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, reason = "the component's exports are symbols with given names")]
        const _: () = {
            type Exports = $crate::guest::Adapter<$plugin>;
            $crate::guest::bindings::describe::export!(Exports with_types_in $crate::guest::bindings::describe);
            $crate::guest::bindings::configure::export!(Exports with_types_in $crate::guest::bindings::configure);
            $($crate::guest::bindings::$hook::export!(Exports with_types_in $crate::guest::bindings::$hook);)+
            $(
                // The name is `pivot_bounds::options::SECTION`: an attribute takes no constant.
                #[unsafe(link_section = "pivot-host:configuration-schema")]
                static SCHEMA: [u8; $schema.len()] = *$schema;
            )?
        };
    };
}

/// A hook by its name, so that a misspelt one is an error on every target.
#[doc(hidden)]
#[macro_export]
macro_rules! __hook {
    (relate) => {
        $crate::Hook::Relate
    };
    (check) => {
        $crate::Hook::Check
    };
    (hold) => {
        $crate::Hook::Hold
    };
    (adapt) => {
        $crate::Hook::Adapt
    };
    (restore) => {
        $crate::Hook::Restore
    };
    (settle) => {
        $crate::Hook::Settle
    };
}
