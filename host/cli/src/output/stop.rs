//! A run that did not get to its end: what failed, how both sides stand, what to type.

use pivot_core::refusal::Refusal;
use pivot_engine::{Failure, Stop};

use super::text::Text;
use super::{Output, remedies};

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

/// What failed, in words, and what has to be typed to go on; refusals are counted here and listed apart.
pub(super) fn failure_text(stop: &Stop) -> Text {
    match &stop.failure {
        Failure::Refused(refusals) if refusals.len() == 1 => Text::from("refused, for this reason"),
        Failure::Refused(refusals) => Text::from(format!("refused, for {} reasons", refusals.len())),
        Failure::Several(_) => {
            let mut lines = stop.failure.lines();
            if let Some(head) = lines.first_mut() {
                *head = "several moves are under way; name one of them with --move:".to_owned();
            }
            lines.into_iter().collect()
        }
        Failure::OtherEnd { into_directory, .. } => {
            let flag = if *into_directory { "--to-directory" } else { "--to-kubeconfig" };
            Text::from(format!("{stop}: name that with {flag}, or roll it back first"))
        }
        Failure::Plugins { remedy, .. } => Text::from(format!("{stop}; {}", remedies::text(remedy))),
        failure => failure.lines().into_iter().collect(),
    }
}

/// One refusal: what is wrong, then what to do about it.
pub(super) fn refusal_lines(refusal: &Refusal) -> Text {
    let Refusal { code: _, side, object: _, message, remedies } = refusal;
    let mut text = Text::from(format!("  - {side}: {message}"));
    if !remedies.is_empty() {
        text.line(format!("    {}", remedies::sentence(remedies)));
    }
    text
}

impl Output {
    /// Tells people about a stop; `next` are whole commands.
    pub(crate) fn stopped(&self, stop: &Stop, told: Told, next: &[String]) {
        let mut text = failure_text(stop);
        if told != Told::Refusals {
            refusals(&stop.failure).iter().for_each(|refusal| text.append(refusal_lines(refusal)));
        }
        self.fail(text);
        self.alternatives("fix: ", stop.remedies().iter().map(remedies::text));
        self.standing(&stop.standing, next);
    }

    /// How both sides stand, and what to type.
    pub(crate) fn standing(&self, standing: &str, next: &[String]) {
        self.say(format!("state: {standing}"));
        self.alternatives("next:", next.iter().cloned());
    }

    /// A line for each of them.
    fn alternatives(&self, head: &str, ways: impl Iterator<Item = String>) {
        for (index, way) in ways.enumerate() {
            let word = if index == 0 { head } else { "   or" };
            self.say(format!("{word}  {way}"));
        }
    }
}
