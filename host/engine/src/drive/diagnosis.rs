//! Examines a management cluster long before a move. Changes nothing.

use std::sync::Arc;

use pivot_core::Side;
use pivot_core::plan::Plan;

use crate::base::outcome::stop::Stop;
use crate::base::setup::Setup;
use crate::check::{active_in_both, diagnosis};
use crate::drive::open::open_sides;
use crate::drive::run::read_plan;
use crate::drive::stopping::stop_without_move;

/// Returns the plan of a move of the source into an unknown cluster, or the problems that would prevent it wherever it goes. If
/// the setup's target is a cluster, Clusters that are active in both are problems, too.
pub async fn diagnose(setup: Setup) -> Result<Plan, Stop> {
    let compare = async {
        if !setup.sides.target.end_kind().is_cluster() {
            return Ok(Vec::new());
        }
        let opened = open_sides(&setup, None).await?;
        let namespaces = &setup.options.scope.namespaces;
        active_in_both::find_active_in_both(&opened.sides, &opened.kinds, namespaces, &*setup.watcher).await
    };
    let result = async {
        let read = read_plan(setup.clone(), Some(Side::Target));
        let (in_both, (active, snapshot, _)) = tokio::try_join!(compare, read)?;
        diagnosis::check_source(&active.job, &snapshot, in_both).await?;
        Ok(Arc::unwrap_or_clone(snapshot.plan))
    };
    result.await.map_err(stop_without_move)
}
