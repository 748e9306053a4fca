//! Parts of what moves, as they are typed for flags.

use std::collections::BTreeSet;

use pivot_core::objects::selector::Part;
use pivot_core::request::selector_syntax;

use super::usage::{Result, usage};

/// The parts that a flag names.
pub(super) fn parts(flag: &str, given: &[String]) -> Result<BTreeSet<Part>> {
    let parts = given.iter().map(|text| {
        selector_syntax::parse_part(text).or_else(|why| usage(format!("{flag} {text:?}: {why}")))
    });
    parts.collect()
}
