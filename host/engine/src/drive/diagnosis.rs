//! Examines a management cluster long before a move. Changes nothing.

use std::sync::Arc;

use pivot_core::Side;
use pivot_core::plan::Plan;

use crate::base::events::Event;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::stop::Stop;
use crate::base::requests::side::Sides;
use crate::base::setup::Setup;
use crate::check::active_in_both::find_active_in_both;
use crate::check::diagnosis;
use crate::drive::left_guards::{list_guards, report_left_guards};
use crate::drive::open::{Opened, open_sides};
use crate::drive::run::read_plan;
use crate::drive::status;
use crate::drive::stopping::stop_without_move;

/// Returns the plan of a move of the source into an unknown cluster, or the problems that would prevent it wherever it goes. If
/// the setup's target is a cluster, Clusters that are active in both are problems, too. Reports the moves out of the source and into it.
pub async fn diagnose(setup: Setup) -> Result<Plan, Stop> {
    let missing = (!setup.sides.target.end_kind().is_cluster()).then_some(Side::Target);
    let result = async {
        let opened = open_sides(&setup, missing).await?;
        let compare = async {
            if missing.is_some() {
                return Ok(Vec::new());
            }
            let namespaces = &setup.options.scope.namespaces;
            find_active_in_both(&opened.sides, &opened.kinds, namespaces, &*setup.watcher).await
        };
        let read = read_plan(setup.clone(), Some(Side::Target));
        let checks = async { tokio::try_join!(compare, read) };
        let (checked, reported) = tokio::join!(checks, report_moves(&setup, &opened, missing));
        if let Err(failure) = reported {
            let text = format!("pivot-host can't read the moves under way: {failure}");
            setup.watcher.event(Event::warning("moves-unreadable", text));
        }
        let (in_both, (active, snapshot, _)) = checked?;
        diagnosis::check_source(&active.job, &snapshot, in_both).await?;
        Ok(Arc::unwrap_or_clone(snapshot.plan))
    };
    result.await.map_err(stop_without_move)
}

/// Reports the moves out of the source, and then those into it. Failures of the second reading name the source as a target.
async fn report_moves(setup: &Setup, opened: &Opened, missing: Option<Side>) -> Result<(), Failure> {
    let mut guards = list_guards(opened).await;
    guards.retain(|guard| guard.read_as == Side::Source);
    status::report_moves(setup, &opened.read_visible_moves().await?, missing);
    let source = setup.sides.source.clone();
    let as_target = Setup { sides: Sides { source: source.clone(), target: source }, ..setup.clone() };
    let as_target = open_sides(&as_target, Some(Side::Source)).await?;
    status::report_moves(setup, &as_target.read_visible_moves().await?, Some(Side::Source));
    // Visible moves lack moves whose records the user can't read.
    if !guards.is_empty()
        && let (Ok(out), Ok(into)) = (opened.read_moves().await, as_target.read_moves().await)
    {
        let records = out.0.iter().chain(&into.0).filter_map(|found| found.record());
        report_left_guards(setup, &guards, |id| records.clone().any(|record| record.move_id == id));
    }
    Ok(())
}
