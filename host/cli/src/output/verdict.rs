//! The end of a plan: whether a move would be refused, and the command that carries the plan out.

use pivot_core::messages::refusal::Refusal;
use pivot_core::plan::Plan;

use super::lines::count_text;
use super::reported::Reported;
use super::text::Text;

/// Facts that a plan and its events don't have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outlook<'a> {
    /// True if planning ended early.
    pub(crate) has_failed: bool,
    /// True if the user named a target.
    pub(crate) has_target: bool,
    /// True if the target's server answered a dry run of each create.
    pub(crate) has_dry_run: bool,
    /// The command that carries the plan out.
    pub(crate) command: Option<&'a str>,
}

/// The judgement of a plan, for a terminal and for a page.
#[derive(Clone, Debug)]
pub(crate) struct PlanVerdict {
    /// `good`, `bad`, `warn` or `none`.
    pub(super) sign: &'static str,
    /// Sentences that judge the plan.
    pub(super) text: String,
    /// The command that carries the plan out.
    pub(super) command: Option<String>,
}

/// Returns the number of problems, each of which refuses a move. Those that say the same of several objects count as one.
pub(super) fn count_problems(plan: &Plan, reported: &Reported) -> usize {
    Refusal::group_similar(&plan.refusals).len() + reported.stop_groups().len()
}

/// Judges a plan.
pub(crate) fn judge_plan(plan: &Plan, reported: &Reported, outlook: Outlook<'_>) -> PlanVerdict {
    let without_command = |sign, text: String| PlanVerdict { sign, text, command: None };
    let problems = count_problems(plan, reported);
    if problems > 0 {
        let problems = count_text(problems, "problem");
        return without_command(
            "bad",
            format!("{problems}: a move would be refused. Solve what is listed, then plan again."),
        );
    }
    if plan.is_empty() {
        return without_command("none", "Nothing to move".to_owned());
    }
    if outlook.has_failed {
        return without_command("bad", "Planning stopped before everything was checked".to_owned());
    }
    let more = reported.in_short();
    let sign = if more.is_none() && outlook.has_target { "good" } else { "warn" };
    let more = more.map(|more| format!("; {more}")).unwrap_or_default();
    let mut text = if outlook.has_target {
        format!("No problems{more}.")
    } else {
        format!("No problems in the source{more}. To check the target too, name it.")
    };
    if outlook.has_dry_run {
        text.push_str(" The target's server accepted each create as a dry run.");
    }
    PlanVerdict { sign, text, command: outlook.command.map(str::to_owned) }
}

impl PlanVerdict {
    /// Returns the last lines of a complete plan.
    pub(crate) fn to_text(&self) -> Text {
        let mut text = Text::default();
        text.gap();
        text.add_line(self.text.clone());
        if let Some(command) = &self.command {
            text.add_line("To move:");
            text.add_line(format!("  {command}"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use pivot_core::messages::risk::Risk;
    use pivot_engine::Event;

    use super::super::tests::small_plan;
    use super::*;

    const OUTLOOK: Outlook<'_> =
        Outlook { has_failed: false, has_target: true, has_dry_run: false, command: None };

    fn print_verdict(plan: &Plan, reported: &Reported, outlook: Outlook<'_>) -> String {
        judge_plan(plan, reported, outlook).to_text().message()
    }

    #[test]
    fn a_plan_ends_with_its_command() {
        let mut reported = Reported::default();
        reported.keep_event(&Event::Accepted { code: Risk::PauseUnchecked, kinds: Vec::new() });
        let (code, text, remedies) = ("w".into(), "a warning".into(), Vec::new());
        reported.keep_event(&Event::Warning { code, object: None, text, remedies });
        let command = Some("pivot-host move --to-kubeconfig b");
        let outlook = Outlook { has_dry_run: true, command, ..OUTLOOK };
        let expected = "\nNo problems; 1 risk accepted, 1 warning. The target's server accepted each create as a dry run.\nTo move:\n  \
                        pivot-host move --to-kubeconfig b";
        assert_eq!(print_verdict(&small_plan(), &reported, outlook), expected);
    }

    #[test]
    fn plan_without_target_asks_for_one() {
        let outlook = Outlook { has_target: false, ..OUTLOOK };
        let expected = "\nNo problems in the source. To check the target too, name it.";
        assert_eq!(print_verdict(&small_plan(), &Reported::default(), outlook), expected);
    }

    #[test]
    fn a_plan_with_problems_has_no_command() {
        let refusals = vec![Refusal::target("crd-missing", "kind A is not served", "install it")];
        let plan = Plan { refusals, ..small_plan() };
        let outlook = Outlook { command: Some("pivot-host move"), ..OUTLOOK };
        let expected = "\n1 problem: a move would be refused. Solve what is listed, then plan again.";
        assert_eq!(print_verdict(&plan, &Reported::default(), outlook), expected);
    }
}
