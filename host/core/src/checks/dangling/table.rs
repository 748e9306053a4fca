//! The fields in which objects name others that they can't work without.
//!
//! Each row says where a provider's code reads the field. Fields whose referents move with their object by owner, such as
//! templates, are not in the table.

use crate::GroupKind;

pub(super) mod row;
mod rows;

use row::Row;
use rows::ROWS;

/// The rows of an object's kind, each with the bundled plugin that brings along what its field names; "" if there is none.
pub(super) fn find_rows(kind: &GroupKind) -> impl Iterator<Item = (&'static str, &'static Row)> {
    let all = ROWS.iter().flat_map(|(plugin, rows)| rows.iter().map(|row| (*plugin, row)));
    all.filter(move |(_, row)| row.is_of_kind(kind))
}

/// Returns the bundled plugins that see objects of a kind. A plugin sees only some kinds of a row for a whole group.
pub(in crate::checks) fn find_plugins_seeing(kind: &GroupKind) -> impl Iterator<Item = &'static str> {
    let rows = find_rows(kind).filter(|(plugin, row)| !plugin.is_empty() && row.names_kinds());
    rows.map(|(plugin, _)| plugin)
}

#[cfg(test)]
mod tests;
