//! Tools of others, with what is made here.

#[cfg(test)]
mod cosign;
#[cfg(test)]
mod wkg;
