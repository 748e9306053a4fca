//! Both sides opened: which kinds they serve, that they are two, and what their records say of a move under way.

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use pivot_core::record::{Phase, Pin, Record};
use pivot_core::{GroupKind, Side, Uid};
use pivot_places::{Identity, PlaceError};

use crate::checks::same_cluster;
use crate::discovery::kinds::Kinds;
use crate::job::Job;
use crate::outcome::failure::Failure;
use crate::phases::sequence::Carrier;
use crate::plugins::services::Answers;
use crate::requests::side::Handle;
use crate::setup::Setup;
use crate::state::journal::Journal;
use crate::state::records::{Records, Stored};

/// Both sides, opened.
pub(crate) struct Ground {
    pub(crate) source: Handle,
    target: Handle,
    kinds: Kinds,
    /// Where the two records are; none for a directory, which has no state to keep.
    records: (Option<Records>, Option<Records>),
    at_source: Option<Stored>,
    at_target: Option<Stored>,
    identities: (Option<Uid>, Option<Uid>),
    source_gone: bool,
}

impl Ground {
    /// The record that decides: the source's until it says Committed, then the target's. A record in the target that
    /// belongs to another source decides nothing here.
    pub(crate) fn deciding(&self) -> Option<(Side, &Stored)> {
        let target = self.at_target.as_ref().filter(|stored| {
            let theirs = |source: &Stored| source.record.move_id == stored.record.move_id;
            let here = || self.identities.0.is_some() && stored.record.source == self.identities.0;
            self.at_source.as_ref().map_or_else(|| self.source_gone || here(), theirs)
        });
        match (&self.at_source, target) {
            (Some(source), Some(target)) if source.record.phase.committed() => Some((Side::Target, target)),
            (Some(source), _) => Some((Side::Source, source)),
            (None, Some(target)) => Some((Side::Target, target)),
            (None, None) => None,
        }
    }

    pub(crate) fn lease_kind(&self) -> Option<&Arc<pivot_core::Kind>> {
        self.kinds.source.get(&GroupKind::new("coordination.k8s.io", "Lease"))
    }
}

/// Opens both sides: which kinds they serve, and that they are two. The records are read apart, with [`Ground::read`]:
/// who writes must not do it before it has the lease.
pub(crate) async fn open(setup: &Setup) -> Result<Ground, Failure> {
    let halter = &setup.halter;
    let source = Handle::new(Side::Source, setup.sides.source.clone(), halter.clone());
    let target = Handle::new(Side::Target, setup.sides.target.clone(), halter.clone());
    let (source_gone, target_gone) = (setup.options.source_gone, setup.options.target_gone);
    let ask_kinds = async {
        match (source_gone, target_gone) {
            (false, false) => Kinds::ask(&source, &target).await,
            (true, _) => Kinds::of_one(&target).await,
            (false, true) => Kinds::of_one(&source).await,
        }
    };
    let identify = async |handle: &Handle, ask: bool| {
        if !ask {
            return Ok(Identity::Unknown);
        }
        let identity = handle.retry(|| handle.place.identify()).await;
        identity.map_err(|error| handle.failed("identifying the cluster", None, error))
    };
    let (kinds, there, here) =
        tokio::try_join!(ask_kinds, identify(&source, !source_gone), identify(&target, !target_gone))?;
    let records = |handle: &Handle, side: Side| {
        let config_map = kinds.of(side).get(&GroupKind::new("", "ConfigMap"));
        config_map
            .filter(|_| handle.is_live())
            .map(|kind| Records::new(handle, kind, &setup.options.record_namespace))
    };
    // Where the source is only read there is nothing to keep a record of.
    let records =
        (records(&source, Side::Source), records(&target, Side::Target).filter(|_| source.is_live()));
    same_cluster::two_places(&source, &target, &kinds, &setup.options, &there, &here).await?;
    let uid = |identity| match identity {
        Identity::Cluster(uid) => Some(uid),
        Identity::Unknown | Identity::Directory(_) => None,
    };
    let identities = (uid(there), uid(here));
    Ok(Ground { source, target, kinds, records, at_source: None, at_target: None, identities, source_gone })
}

/// Puts a move together from what was found, or a new one.
pub(crate) fn carrier(setup: Setup, ground: Ground, found: Option<Record>) -> Result<Carrier, Failure> {
    let Setup { sides: _, mut options, plugins, watcher, halter } = setup;
    let orphaned = ground.orphaned();
    let Ground { source, target, kinds, records, at_source, at_target, identities, source_gone: _ } = ground;
    let pins: Vec<Pin> = plugins.iter().map(|plugin| Pin::from(plugin.describe())).collect();
    let record = match found {
        Some(record) => {
            if record.phase.committed() && options.target_gone {
                return Err(Failure::Declined(format!(
                    "move {} is past the point of no return ({}), and the target decides from there on; if that is lost for \
                     good, the source is the last copy: un-pause its Clusters by hand, and remove the ConfigMap \
                     pivot-host-source",
                    record.move_id, record.phase
                )));
            }
            // First of all: what a wrong target knows or does not know says nothing about the move.
            if elsewhere(&record, &identities.1) {
                let way = if record.phase.committed() { "" } else { ", or roll it back first" };
                return Err(Failure::Declined(format!(
                    "move {} goes to another target than the one given: name that one{way}",
                    record.move_id
                )));
            }
            let told = at_target.as_ref().is_some_and(|stored| stored.record.move_id == record.move_id);
            if record.phase.committed() && !told {
                return Err(forgotten(&record, &identities.1));
            }
            if record.into_directory == target.is_live() && !options.target_gone {
                let (is, flag) = match record.into_directory {
                    true => ("copies into a directory", "--to-directory"),
                    false => ("goes to a cluster", "--to-kubeconfig"),
                };
                return Err(Failure::Declined(format!(
                    "move {} {is}: name that with {flag}, or roll it back first",
                    record.move_id
                )));
            }
            // What the first run was told counts for those that take it up.
            options.scope = record.scope.clone();
            record
        }
        None if at_target.is_some() => {
            let other = at_target.map(|stored| stored.record.move_id).unwrap_or_default();
            return Err(Failure::Declined(format!(
                "move {other}, from another source into this target, is under way: let it end first"
            )));
        }
        None => Record {
            move_id: options.move_id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string()),
            phase: Phase::Checked,
            scope: options.scope.clone(),
            source: identities.0,
            target: identities.1,
            into_directory: !target.is_live(),
            started: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            namespaces: Vec::new(),
            plugins: pins,
            kinds: Default::default(),
            touched: Default::default(),
            release_chunks: 0,
        },
    };
    let move_id = record.move_id.clone();
    let kinds = Arc::new(kinds);
    let services = Arc::new(Answers::new(&source, &target, &kinds, &record.scope));
    let job = Arc::new(Job { source, target, kinds, services, options, plugins, halter, watcher, move_id });
    let journal = Journal::new(record, records, (at_source, at_target));
    Ok(Carrier { job, journal, orphaned, times: Vec::new(), began: Instant::now() })
}

/// Whether a move goes to another target than this one.
fn elsewhere(record: &Record, target: &Option<Uid>) -> bool {
    target.is_some() && record.target.is_some() && record.target != *target
}

/// The source says that its move is committed, and the target says nothing of it.
fn forgotten(record: &Record, target: &Option<Uid>) -> Failure {
    let evidence = format!(
        "the source says that move {} is committed, and the target has no record of it",
        record.move_id
    );
    // Only of the move's own target that is proof. Who may not read its identity may have named another.
    if record.target.is_some() && record.target == *target {
        return Failure::Stale(evidence);
    }
    Failure::Record(format!(
        "{evidence}: it is another target than the move's, or the move was finished without this source (--source-gone); \
         whether it is the move's can't be told, because its namespace kube-system can't be read"
    ))
}

impl Ground {
    /// Whether the move that was found goes to another target than the one given.
    pub(crate) fn elsewhere(&self) -> bool {
        self.deciding().is_some_and(|(_, stored)| elsewhere(&stored.record, &self.identities.1))
    }

    /// Whether the target alone knows of the move, and nothing of the source can have been deleted yet. A move that goes on
    /// keeps the source's record to its end, so this one was taken back, by a rollback that could not reach the target.
    pub(crate) fn orphaned(&self) -> bool {
        let alone = self.records.0.is_some() && !self.source_gone && self.at_source.is_none();
        alone
            && self
                .deciding()
                .is_some_and(|(side, stored)| side == Side::Target && stored.record.phase <= Phase::Live)
    }

    /// Reads both records.
    pub(crate) async fn read(self) -> Result<Self, Failure> {
        self.read_by(async |records| records.read().await).await
    }

    /// The same for a plan: who may not read records may still make one.
    pub(crate) async fn read_what_may_be(self) -> Result<Self, Failure> {
        let lenient = async |records: &Records| match records.read().await {
            Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Ok(None),
            other => other,
        };
        self.read_by(lenient).await
    }

    async fn read_by(
        self,
        read: impl AsyncFn(&Records) -> Result<Option<Stored>, Failure>,
    ) -> Result<Self, Failure> {
        let read = async |records: &Option<Records>| match records {
            Some(records) => read(records).await,
            None => Ok(None),
        };
        let (at_source, at_target) = tokio::try_join!(read(&self.records.0), read(&self.records.1))?;
        Ok(Self { at_source, at_target, ..self })
    }
}
