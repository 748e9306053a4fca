//! `plan show`, `plan diff` and `plan sign`: the commands for saved plans.

use pivot_core::records::saved_plan::{aspects_between, compare_plans};
use pivot_engine::Exit;
use serde_json::json;

use crate::approval;
use crate::args::{OutputFormat, PlanVerb};
use crate::exit;
use crate::output::{self, Document, ErrorDocument, Output, Text};
use crate::saved::read_plan;

const UNCHANGED_STATE: &str = "nothing is changed";

/// Shows, compares or signs saved plans, and returns the exit code.
pub(crate) fn run(verb: &PlanVerb, output: &Output) -> u8 {
    let done = match verb {
        PlanVerb::Show { file } => read_plan(file).map(|plan| {
            let settings = output.settings();
            match settings.format {
                OutputFormat::Picture(_) => {
                    output.own(&output::saved_plan_page(&plan, &file.display().to_string()));
                }
                _ => output.result(&plan, || output::saved_plan(&plan, settings.verbose > 0)),
            }
            exit::DONE
        }),
        PlanVerb::Sign(signing) => match approval::sign_plan(signing, output) {
            Ok(()) => Ok(exit::DONE),
            Err((_, why)) => Err(why),
        },
        PlanVerb::Diff { old, new } => read_plan(old).and_then(|older| {
            let newer = read_plan(new)?;
            let (differences, otherwise) = (compare_plans(&older, &newer), aspects_between(&older, &newer));
            let content = json!({
                "old": older.checksum(),
                "new": newer.checksum(),
                "differences": differences,
                "otherwise": otherwise,
            });
            output.result(&Document::new("PlanDiff", content), || {
                output::differences_text(&older, &newer, &differences, &otherwise)
            });
            let same = differences.is_empty() && otherwise.is_empty();
            Ok(if same { exit::DONE } else { exit::exit_code(Exit::Differs) })
        }),
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
