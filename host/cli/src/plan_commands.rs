//! `plan show`, `plan diff` and `plan sign`: the commands for saved plans.

use pivot_core::records::saved_plan::{SavedPlan, aspects_between, compare_plans, compare_stays};
use pivot_engine::Exit;
use serde_json::json;

use crate::approval;
use crate::args::{OutputFormat, PlanVerb};
use crate::exit;
use crate::output::{self, ComparedPlans, Document, ErrorDocument, Output, Text};
use crate::saved::read_plan;

const UNCHANGED_STATE: &str = "nothing is changed";

/// Shows, compares or signs saved plans, and returns the exit code.
pub(crate) fn run(verb: &PlanVerb, output: &Output) -> u8 {
    let done = match verb {
        PlanVerb::Show { file, tree } => read_plan(file).map(|plan| {
            let settings = output.settings();
            let (name, all) = (file.display().to_string(), settings.verbose > 0);
            match settings.format {
                OutputFormat::Picture(_) => output.own(&output::saved_plan_page(&plan, &name)),
                _ => output.result(&plan, || output::saved_plan_text(&plan, &name, (*tree || all, all))),
            }
            exit::DONE
        }),
        PlanVerb::Sign(signing) => match approval::sign_plan(signing, output) {
            Ok(()) => Ok(exit::DONE),
            Err((_, why)) => Err(why),
        },
        PlanVerb::Diff { old, new } => {
            read_plan(old).and_then(|older| Ok(show_differences(&older, &read_plan(new)?, output)))
        }
    };
    // Not the code that says that two plans differ.
    done.unwrap_or_else(|message| {
        if output.settings().format.is_document() {
            let document = ErrorDocument::outside_engine(Exit::Usage, &message, UNCHANGED_STATE, Vec::new());
            output.result(&document, Text::default);
        }
        output.fail(message);
        exit::exit_code(Exit::Usage)
    })
}

/// Shows how a plan differs from an older one, and returns the exit code.
fn show_differences(old: &SavedPlan, new: &SavedPlan, output: &Output) -> u8 {
    let (differences, stays) = (compare_plans(old, new), compare_stays(old, new));
    let otherwise = aspects_between(old, new);
    let changes = output::list_aspect_changes(old, new, &otherwise);
    let content = json!({
        "old": old.checksum(),
        "new": new.checksum(),
        "differences": differences,
        "stays": stays,
        "otherwise": otherwise,
        "changes": changes,
    });
    let compared = ComparedPlans { old, new, differences: &differences, stays: &stays, changes: &changes };
    let all = output.settings().verbose > 0;
    output.result(&Document::new("PlanDiff", content), || output::differences_text(compared, all));
    let same = differences.is_empty() && stays.is_empty() && otherwise.is_empty();
    if same { exit::DONE } else { exit::exit_code(Exit::Differs) }
}
