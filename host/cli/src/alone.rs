//! Finishes moves in an agent's cluster, without a link.

use std::sync::Arc;

use futures::FutureExt;
use pivot_core::Side;
use pivot_core::records::record::FinishAlone;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_engine::{Halt, Halter, MoveStatus, Options, Setup, Sides, Stop, run};
use pivot_link::Finish;
use pivot_places::Place;

use crate::missing_side::MissingSide;
use crate::operator;
use crate::output::{self, Output, PlanUse, Progress};
use crate::plugins::Loading;
use crate::signals;

/// The agent's settings for finishing moves without a link.
pub(crate) struct Alone {
    pub(crate) record_namespace: String,
    pub(crate) plugins: Loading,
    pub(crate) output: Arc<Output>,
}

impl Alone {
    /// Finishes all moves that are sealed.
    pub(crate) fn finish(self) -> Finish {
        let alone = Arc::new(self);
        Box::new(move |place, returned| {
            let alone = alone.clone();
            async move {
                let halter = Halter::default();
                let stop = async {
                    returned.await;
                    // The controller goes on where this stops.
                    halter.halt(Halt::Signal(signals::TERMINATE));
                    std::future::pending().await
                };
                tokio::select! {
                    again = alone.finish_all(&place, &halter) => again,
                    never = stop => never,
                }
            }
            .boxed()
        })
    }

    /// Returns whether it has to be tried again.
    async fn finish_all(&self, place: &Arc<dyn Place>, halter: &Halter) -> bool {
        let moves = match run::status(self.setup(place, halter)).await {
            Ok(status) => status.moves,
            Err(_) if halter.halt_reason().is_some() => return false,
            Err(stop) => {
                self.report_failure("which moves are under way can't be read", &stop);
                return true;
            }
        };
        let mut again = false;
        for MoveStatus { record, .. } in
            moves.iter().filter(|one| one.record.finish_alone == Some(FinishAlone::Allowed))
        {
            let id = &record.move_id;
            self.output.say(format!("without a link for long: finishing move {id} here, alone"));
            match run::finish_alone(self.setup(place, halter), Some(id.clone())).await {
                Ok(()) => self.output.say(format!(
                    "move {id}: its copies run here; what is left of it in its source waits, paused, for the controller to return"
                )),
                Err(_) if halter.halt_reason().is_some() => {
                    self.output.say(format!("the link is back: the controller goes on with move {id}"));
                    return false;
                }
                Err(stop) => {
                    self.report_failure(&format!("move {id} is not finished here"), &stop);
                    again = true;
                }
            }
        }
        again
    }

    fn report_failure(&self, what: &str, stop: &Stop) {
        let mut text = output::explain_stop(stop);
        text.add_line(format!("{what}: {}; it is tried again, until there is a link", stop.state));
        self.output.warn(text);
    }

    fn setup(&self, place: &Arc<dyn Place>, halter: &Halter) -> Setup {
        let source: Arc<dyn Place> = Arc::new(MissingSide::missing_cluster(Side::Source));
        let progress = Progress::new(self.output.clone(), (source.label(), place.label()), PlanUse::Counted);
        let options = Options {
            operator: operator::user_name(),
            record_namespace: self.record_namespace.clone(),
            // Nobody is there to see what comes of it, and the record doesn't say what was chosen.
            unpause_batch: 1,
            // A move has the scope of its record.
            ..Options::new(Scope::new(Namespaces::All))
        };
        Setup {
            sides: Sides { source, target: place.clone() },
            options,
            plugins: self.plugins.participating(|_| {}),
            watcher: progress,
            halter: halter.clone(),
            parking: Default::default(),
            workload_clusters: None,
        }
    }
}
