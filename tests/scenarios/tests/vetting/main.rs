//! What carries plugins: a real registry, and other tools for it.

#[cfg(test)]
mod registry;
