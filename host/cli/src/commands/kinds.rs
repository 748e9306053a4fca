//! A risk that takes kinds, accepted without one: kinds are found, and named. A plan finds those that need it, and the record of a
//! move under way has those that moved.

use std::collections::BTreeSet;
use std::sync::Arc;

use pivot_core::GroupKind;
use pivot_core::messages::refusal::risks_to_accept;
use pivot_core::messages::risk::AcceptedRisks;
use pivot_engine::{Exit, Failure, MoveStatus, NoWatcher, Resume, Setup, run};

use super::{Command, MoveOrResume, UNTOUCHED};
use crate::args::{needs_kinds, needs_kinds_of_move};
use crate::ends::{self, SourceAndTarget};
use crate::plugins::Loading;

impl Command<'_> {
    /// Fails if a risk that takes kinds was accepted without one, and returns the exit code.
    pub(super) async fn refuse_without_kind(&self, command: MoveOrResume<'_>) -> Option<u8> {
        let risk = *self.choices.without_kind.first()?;
        let why = match command {
            MoveOrResume::Move => {
                let found = self.find_risks().await;
                needs_kinds(risk, &found.map(|risks| risks.kinds(risk).clone()).unwrap_or_default())
            }
            MoveOrResume::Resume(resume) => {
                needs_kinds_of_move(risk, &self.find_kinds_of_move(resume).await.unwrap_or_default())
            }
        };
        Some(self.report_failure(Exit::Usage, &why.into(), UNTOUCHED))
    }

    /// The risks that a plan names in its refusals; none if no plan can be made.
    async fn find_risks(&self) -> Option<AcceptedRisks> {
        let opened = ends::to_read(&self.choices.ends, Some(&self.authors(MoveOrResume::Move))).await.ok()?;
        let added = ends::read_additions(&self.choices.add).await.ok()?;
        let mut setup = self.reading(&opened, &Loading::begin(&self.choices.with));
        setup.options = setup.options.with_additions(added);
        match run::plan(setup).await.err()?.failure {
            Failure::Refused(refusals) => Some(risks_to_accept(&refusals)),
            _ => None,
        }
    }

    /// The kinds in the record of the move that the command is about; none if that is not known.
    async fn find_kinds_of_move(&self, resume: &Resume) -> Option<BTreeSet<GroupKind>> {
        let opened = ends::to_read(&self.choices.ends, Some(&self.authors(MoveOrResume::Resume(resume))))
            .await
            .ok()?;
        let setup = self.reading(&opened, &Loading::without_plugins());
        let mut status = run::status(setup).await.ok()?;
        if let Some(id) = &resume.move_id {
            status.select_move(id).ok()?;
        }
        match &status.moves[..] {
            [MoveStatus { record, .. }] => Some(record.kinds.clone()),
            _ => None,
        }
    }

    /// A run that only reads, and prints nothing.
    fn reading(&self, opened: &SourceAndTarget, plugins: &Loading) -> Setup {
        Setup {
            sides: opened.sides(),
            options: self.choices.options(opened.namespace.as_deref()),
            plugins: plugins.participating(|_| {}),
            watcher: Arc::new(NoWatcher),
            halter: self.halter.clone(),
            parking: Default::default(),
            workload_clusters: None,
        }
    }
}
