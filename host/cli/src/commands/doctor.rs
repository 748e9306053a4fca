//! Checks a management cluster long before a move, alone or next to another one.

use pivot_core::plan::Plan;
use pivot_engine::{Failure, diagnosis};

use super::Command;
use crate::args::TargetEnd;
use crate::ends;
use crate::exit;
use crate::output::{self, AlreadyShown, DiagnosisDocument, PlanUse, Progress};
use crate::plugins::Loading;

impl Command<'_> {
    pub(crate) async fn doctor(&self) -> u8 {
        let plugins = Loading::begin(&self.choices.with);
        let opened = match ends::to_read(&self.choices.ends, None).await {
            Ok(opened) => opened,
            Err(error) => return self.not_opened(&error, &plugins).await,
        };
        let options = self.options(&opened);
        let scope = options.scope.clone();
        let progress = Progress::new(self.output.clone(), opened.labels(), PlanUse::Result);
        let result = diagnosis::diagnose(self.setup(&opened, options, &progress, &plugins)).await;
        let result = result.map_err(|stop| self.name_kubeconfigs(stop));
        progress.end();
        if let Some(code) = self.plugins_refused(result.as_ref().err(), &plugins).await {
            progress.show_reported();
            return code;
        }
        let (plan, code) = match (result, progress.plan()) {
            (Ok(plan), _) => (plan, exit::DONE),
            (Err(stop), Some(plan)) if matches!(stop.failure, Failure::Refused(_) | Failure::Gate(_)) => {
                let refusals = output::refusals_of(&stop.failure).to_vec();
                (Plan { refusals, ..Plan::clone(&plan) }, exit::exit_code(stop.exit))
            }
            (Err(stop), _) => {
                return self.report_stop(&stop, AlreadyShown::Nothing, &plugins.disabled_plugins());
            }
        };
        let moves = self.under_way(&progress);
        let next: Vec<Vec<String>> = moves.iter().map(|one| self.ways(None, one, moves.len() > 1)).collect();
        let reported = progress.reported_so_far();
        let plan = Plan { notes: reported.notes(), ..plan };
        let (cluster, other) = opened.labels();
        let has_other = !matches!(self.choices.ends.target, TargetEnd::None);
        let sides = (cluster, has_other.then_some(other));
        let document = DiagnosisDocument::new(&plan, sides, &scope, &reported, (&moves, &next))
            .with_disabled_plugins(&plugins.disabled_plugins());
        let all = self.output.settings().verbose > 0;
        self.output.result(&document, || {
            let mut text = output::diagnosis_text(&plan, cluster, &reported, all);
            text.append(output::under_way(&moves, &next));
            text
        });
        code
    }
}
