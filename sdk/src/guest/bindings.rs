//! The bindings, generated from the contract. Only [`export!`](crate::export!) names them outside this crate.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::restriction,
    reason = "generated from the contract"
)]

/// The part of every plugin: the host's interfaces, the types, and `describe`.
pub mod describe {
    wit_bindgen::generate!({ path: "wit", world: "plugin", pub_export_macro: true, generate_all });
}

/// The check of the configuration, which every plugin has.
pub mod configure {
    wit_bindgen::generate!({
        path: "wit",
        inline: "package pivot:sdk; world configure { export pivot:provider/configure@0.1.0; }",
        pub_export_macro: true,
        with: { "pivot:provider/types@0.1.0": crate::guest::bindings::describe::pivot::provider::types },
    });
}

macro_rules! hook {
    ($hook:ident, $wit:literal) => {
        pub mod $hook {
            wit_bindgen::generate!({
                path: "wit",
                inline: $wit,
                pub_export_macro: true,
                with: { "pivot:provider/types@0.1.0": crate::guest::bindings::describe::pivot::provider::types },
            });
        }
    };
}

hook!(relate, "package pivot:sdk; world relate { export pivot:provider/relate@0.1.0; }");
hook!(check, "package pivot:sdk; world check { export pivot:provider/check@0.1.0; }");
hook!(hold, "package pivot:sdk; world hold { export pivot:provider/hold@0.1.0; }");
hook!(adapt, "package pivot:sdk; world adapt { export pivot:provider/adapt@0.1.0; }");
hook!(restore, "package pivot:sdk; world restore { export pivot:provider/restore@0.1.0; }");
hook!(settle, "package pivot:sdk; world settle { export pivot:provider/settle@0.1.0; }");
