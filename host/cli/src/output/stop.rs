//! A run that did not get to its end: what failed, how both sides stand, what to type.

use pivot_core::refusal::Refusal;
use pivot_engine::{Failure, Remedy, Stop};

use super::Output;
use super::text::Text;

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
pub(super) fn failure_text(stop: &Stop) -> Text {
    match refusals(&stop.failure) {
        [] => stop.failure.lines().into_iter().collect(),
        [_] => Text::from("refused, for this reason"),
        many => Text::from(format!("refused, for {} reasons", many.len())),
    }
}

/// One way out, with the flag or the setting that it takes.
pub(super) fn remedy_text(remedy: &Remedy) -> String {
    let switch_off = |plugin: &str| format!("enabled = false below [plugins.{plugin}] in plugins.toml");
    match remedy {
        Remedy::ResumeAgain => "resume, and it is asked again".to_owned(),
        Remedy::Fix { plugin } => format!("fix plugin {plugin}, then run this command again"),
        Remedy::SwitchOff { plugin } => {
            format!("switch plugin {plugin} off ({}), then run this command again", switch_off(plugin))
        }
        Remedy::LetCheckPass { plugin } => format!(
            "let failing checks of plugin {plugin} pass (on-failure = {{ check = \"warn\" }} below [plugins.{plugin}] in \
             plugins.toml), then resume"
        ),
        Remedy::RollBackThenFix { plugin } => {
            format!("roll back, which needs no plugin; fix plugin {plugin}, and move again")
        }
        Remedy::RollBackThenSwitchOff { plugin } => {
            format!("roll back, switch plugin {plugin} off ({}), and move again", switch_off(plugin))
        }
        Remedy::FixThenAcceptChange { plugin: Some(plugin) } => {
            format!("fix plugin {plugin}, and resume with --accept-plugin-change")
        }
        Remedy::FixThenAcceptChange { plugin: None } => {
            "fix the plugins, and resume with --accept-plugin-change".to_owned()
        }
        Remedy::ResolveThenResume => "resolve what the plugins found, and resume".to_owned(),
        Remedy::SwitchOffThenAcceptChange { plugins } => {
            let off: Vec<String> = plugins.iter().map(|plugin| switch_off(plugin)).collect();
            format!(
                "go on without: {}, and resume with --accept-plugin-change; what the plugins hold is then unpaused without them",
                off.join(", ")
            )
        }
    }
}

/// One refusal: what is wrong, then what to do about it.
pub(super) fn refusal_lines(refusal: &Refusal) -> Text {
    let Refusal { code: _, side, object: _, message, remedy } = refusal;
    let mut text = Text::from(format!("  - {side}: {message}"));
    if !remedy.is_empty() {
        text.line(format!("    {remedy}"));
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
        self.alternatives("fix: ", stop.remedies().iter().map(remedy_text));
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
