//! A run that did not get to its end: what failed, how both sides stand, what to type.

use pivot_core::refusal::Refusal;
use pivot_engine::{Failure, Stop};

use super::{Output, lines};

/// How much of it has been told already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nothing.
    Nothing,
    /// The refusals, as part of the plan.
    Refusals,
    /// The plan, without what failed.
    Plan,
}

/// The refusals of a failure, if it is one of those.
pub(super) fn refusals(failure: &Failure) -> &[Refusal] {
    match failure {
        Failure::Refused(refusals) => refusals,
        _ => &[],
    }
}

/// What failed, in words; refusals are counted here and listed apart.
pub(super) fn failure_text(stop: &Stop) -> String {
    match refusals(&stop.failure) {
        [] => stop.to_string(),
        [_] => "refused, for this reason".to_owned(),
        many => format!("refused, for {} reasons", many.len()),
    }
}

/// One refusal: what is wrong, then what to do about it.
pub(super) fn refusal_lines(refusal: &Refusal) -> String {
    let Refusal { code: _, side, object: _, message, remedy } = refusal;
    let mut text = format!("  - {side}: {}\n", lines::hanging(message, "    "));
    if !remedy.is_empty() {
        text.push_str(&format!("    {}\n", lines::hanging(remedy, "    ")));
    }
    text
}

impl Output {
    /// Tells people about a stop; `next` are whole commands.
    pub(crate) fn stopped(&self, stop: &Stop, told: Told, next: &[String]) {
        let mut text = failure_text(stop);
        if told != Told::Refusals {
            for refusal in refusals(&stop.failure) {
                text.push('\n');
                text.push_str(refusal_lines(refusal).trim_end());
            }
        }
        self.fail(&text);
        self.standing(&stop.standing, next);
    }

    /// How both sides stand, and what to type.
    pub(crate) fn standing(&self, standing: &str, next: &[String]) {
        self.say(&format!("state: {standing}"));
        for (index, line) in next.iter().enumerate() {
            let word = if index == 0 { "next:" } else { "   or" };
            self.say(&format!("{word}  {line}"));
        }
    }
}
