//! What carries plugins: a real registry, and other tools for it.

#[cfg(test)]
mod publishing;
#[cfg(test)]
mod registry;
