//! Saved plans: writes them and reads them.

use std::path::Path;

use pivot_core::plan::{Note, Plan};
use pivot_core::records::saved_plan::{Decisions, End, Made, SavedPlan};
use pivot_engine::read_end;
use pivot_places::{Place, read_regular_file};

use crate::ends::SourceAndTarget;
use crate::output::{self, Text};
use crate::plugins::Loading;
use crate::private_file::PrivateFile;

/// The circumstances in which a plan was made.
pub(crate) struct PlanCircumstances<'a> {
    pub(crate) decisions: Decisions,
    pub(crate) operator: String,
    pub(crate) opened: &'a SourceAndTarget,
    pub(crate) has_target: bool,
    pub(crate) plugins: &'a Loading,
    pub(crate) warnings: Vec<Note>,
}

/// Saves a plan in a file, and returns a text about it.
pub(crate) async fn save_plan(
    file: PrivateFile,
    plan: &Plan,
    with: PlanCircumstances<'_>,
) -> Result<Text, Text> {
    let PlanCircumstances { decisions, operator, opened, has_target, plugins, warnings } = with;
    let target = if has_target { Some(identify_end(&*opened.target).await?) } else { None };
    let made = Made {
        by: operator,
        at: output::current_time(),
        source: identify_end(&*opened.source).await?,
        target,
        plugins: plugins.pins().await,
    };
    let remedies = plan.refusals.iter().map(|refusal| output::remedies_sentence(&refusal.remedies)).collect();
    let saved = SavedPlan::new(plan, made, decisions, remedies).with_warnings(warnings);
    let shown = file.path().display().to_string();
    file.write_text(&saved.text())
        .map_err(|error| format!("the plan can't be written to {shown}: {error}"))?;
    let why = match (has_target, saved.refusals.len()) {
        (false, _) => "; without a target it can be looked at, and not carried out",
        (true, 0) => "",
        (true, _) => "; it has problems, and can be looked at, and not carried out",
    };
    Ok(format!("the plan is saved in {shown}, with checksum {}{why}", saved.checksum()).into())
}

/// Returns the reasons that prevent a plan from being carried out.
pub(crate) fn preventing_reasons(plan: &SavedPlan) -> impl Iterator<Item = &'static str> {
    let target = plan.target.is_none().then_some("has no target");
    target.into_iter().chain((!plan.refusals.is_empty()).then_some("has problems"))
}

async fn identify_end(place: &dyn Place) -> Result<End, Text> {
    read_end(place).await.map_err(|error| format!("{} can't be identified: {error}", place.label()).into())
}

/// Reads a saved plan.
pub(crate) fn read_plan(file: &Path) -> Result<SavedPlan, Text> {
    read_with_bytes(file).map(|(plan, _)| plan)
}

/// Reads a saved plan and returns its bytes too, because an approval is of a file as it is.
pub(crate) fn read_with_bytes(file: &Path) -> Result<(SavedPlan, Vec<u8>), Text> {
    let shown = file.display();
    let bytes = read_regular_file(file)
        .map_err(|error| Text::from(format!("the plan {shown} can't be read: {error}")))?;
    let text = str::from_utf8(&bytes)
        .map_err(|_| Text::from(format!("{shown} is no saved plan: it is not text")))?;
    match SavedPlan::parse(text) {
        Ok(plan) => Ok((plan, bytes)),
        Err(error) => Err(format!("{shown} can't be used: {error}; save a new one with plan --out").into()),
    }
}
