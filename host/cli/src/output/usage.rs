//! Errors of the command line's parser. They quote what was typed, or what a variable holds, as it is.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

use super::text::one_line;

/// The same error, with what it quotes on one line each.
pub(super) fn quoting_harmlessly(mut error: clap::Error) -> clap::Error {
    let quoted: Vec<(ContextKind, ContextValue)> =
        error.context().filter_map(|(kind, value)| Some((kind, harmless(value)?))).collect();
    for (kind, value) in quoted {
        error.insert(kind, value);
    }
    error
}

/// None where nothing is quoted.
fn harmless(value: &ContextValue) -> Option<ContextValue> {
    match value {
        ContextValue::String(one) => Some(ContextValue::String(one_line(one))),
        ContextValue::Strings(many) => {
            Some(ContextValue::Strings(many.iter().map(|one| one_line(one)).collect()))
        }
        // Advice, each a sentence.
        ContextValue::StyledStrs(many) => {
            let one = |text: &StyledStr| StyledStr::from(one_line(&text.to_string()));
            Some(ContextValue::StyledStrs(many.iter().map(one).collect()))
        }
        // How the command is used, in lines of ours.
        _ => None,
    }
}
