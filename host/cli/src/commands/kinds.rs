//! A risk that takes kinds, accepted without one: the kinds that need it are found by a plan, and named.

use std::sync::Arc;

use pivot_core::refusal::risks_to_accept;
use pivot_core::risk::AcceptedRisks;
use pivot_engine::{Exit, Failure, NoWatcher, Setup, run};

use super::{Command, MoveOrResume, UNTOUCHED};
use crate::args::needs_kinds;
use crate::ends;
use crate::plugins::Loading;

impl Command<'_> {
    /// Fails if a risk that takes kinds was accepted without one, and returns the exit code.
    pub(super) async fn refuse_without_kind(&self) -> Option<u8> {
        let risk = *self.choices.without_kind.first()?;
        let found = self.find_risks().await;
        let why = needs_kinds(risk, &found.map(|risks| risks.kinds(risk).clone()).unwrap_or_default());
        Some(self.failed(Exit::Usage, &why.into(), UNTOUCHED))
    }

    /// The risks that a plan names in its refusals; none if no plan can be made.
    async fn find_risks(&self) -> Option<AcceptedRisks> {
        let opened = ends::to_read(&self.choices.ends, Some(&self.authors(MoveOrResume::Move))).await.ok()?;
        let added = ends::additions(&self.choices.add).await.ok()?;
        let plugins = Loading::begin(&self.choices.with);
        let setup = Setup {
            sides: opened.sides(),
            options: self.choices.options(opened.namespace.as_deref()).adding(added),
            plugins: plugins.called(|_| {}),
            watcher: Arc::new(NoWatcher),
            halter: self.halter.clone(),
            parking: Default::default(),
        };
        match run::plan(setup).await.err()?.failure {
            Failure::Refused(refusals) => Some(risks_to_accept(&refusals)),
            _ => None,
        }
    }
}
