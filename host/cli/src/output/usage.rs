//! Errors of the command line's parser. They quote typed words, or a variable's value, verbatim.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

use super::text::one_line;

/// Returns the error with each quotation on one line.
pub(super) fn quoting_harmlessly(mut error: clap::Error) -> clap::Error {
    let quoted: Vec<(ContextKind, ContextValue)> =
        error.context().filter_map(|(kind, value)| Some((kind, escape_value(value)?))).collect();
    for (kind, value) in quoted {
        error.insert(kind, value);
    }
    error
}

/// `None` if nothing is quoted.
fn escape_value(value: &ContextValue) -> Option<ContextValue> {
    match value {
        ContextValue::String(one) => Some(ContextValue::String(one_line(one))),
        ContextValue::Strings(many) => {
            Some(ContextValue::Strings(many.iter().map(|one| one_line(one)).collect()))
        }
        // Advice, one sentence each.
        ContextValue::StyledStrs(many) => Some(ContextValue::StyledStrs(
            many.iter().map(|text| StyledStr::from(one_line(&text.to_string()))).collect(),
        )),
        // The usage text, in lines of ours.
        _ => None,
    }
}
