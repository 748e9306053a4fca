//! The component: what the contract's interfaces call, and what calls the host's.
//!
//! The bindings are generated one hook at a time, each from a world of its own that exports that hook only: a
//! component exports the interfaces that its plugin names in [`export!`](crate::export!) and no others, because
//! the host finds hooks by looking. The linker puts the worlds together; they share the types of the first.

mod adapter;
pub mod bindings;
mod convert;
pub(crate) mod imports;
mod panic;

pub use adapter::Adapter;
