//! Parts of what moves, as they are typed for flags.

use std::collections::BTreeSet;

use pivot_core::part::Part;
use pivot_core::typed;

use super::usage::{Result, usage};

/// The parts that a flag names.
pub(super) fn parts(flag: &str, given: &[String]) -> Result<BTreeSet<Part>> {
    let parts = given
        .iter()
        .map(|text| typed::parse_part(text).or_else(|why| usage(format!("{flag} {text:?}: {why}"))));
    parts.collect()
}
