//! Prints the roles that a move needs on one side.

use pivot_core::Side;
use pivot_engine::{Options, run};

use super::{Command, MoveOrResume};
use crate::args::Roles;
use crate::ends;
use crate::exit;
use crate::output::{self, AlreadyShown, PlanUse, Progress};
use crate::plugins::Loading;

impl Command<'_> {
    pub(crate) async fn rbac(&self, Roles { side, bind_to, finish_alone, guard }: &Roles) -> u8 {
        // The roles are for later moves, too, which other kinds may concern.
        let plugins = Loading::begin_all(&self.choices.with);
        let read = async {
            Ok((
                ends::read_additions(&self.choices.add).await?,
                ends::to_read(&self.choices.ends, Some(&self.authors(MoveOrResume::Move))).await?,
            ))
        };
        let (added, opened) = match read.await {
            Ok(read) => read,
            Err(error) => return self.not_opened(&error, &plugins).await,
        };
        let options = self.options(&opened).with_additions(added);
        let options = Options { finish_alone: *finish_alone, guard: *guard, ..options };
        let (of, about) = (options.scope.to_string(), opened.labels());
        let progress = Progress::new(self.output.clone(), about, PlanUse::Hidden);
        let result = run::permissions(self.setup(&opened, options, &progress, &plugins), *side).await;
        let result = result.map_err(|stop| self.name_kubeconfigs(stop));
        progress.end();
        if let Some(code) = self.plugins_refused(result.as_ref().err(), &plugins).await {
            return code;
        }
        match result {
            Ok(rights) => {
                let end = if *side == Side::Source { about.0 } else { about.1 };
                let roles = output::build_roles(&rights, *side, bind_to.as_deref());
                self.output.result(&output::role_list(&roles), || output::role_manifests(&roles, (&of, end)));
                exit::DONE
            }
            Err(stop) => self.report_stop(&stop, AlreadyShown::Nothing, &plugins.disabled_plugins()),
        }
    }
}
