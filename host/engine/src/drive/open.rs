//! Opens both sides: reads their kinds, checks that they are two, and reads the moves in their records.

use futures::FutureExt;
use pivot_core::objects::names::FILES;
use pivot_core::records::record::{Finished, RolledBackMove};
use pivot_core::records::route::Ends;
use pivot_core::request::scope::Namespaces;
use pivot_core::{Both, Side, Uid};
use pivot_places::{Identity, PlaceError};

use crate::base::kinds::Kinds;
use crate::base::outcome::failure::Failure;
use crate::base::requests::side::Handle;
use crate::base::setup::Setup;
use crate::base::state::lease::Leases;
use crate::base::state::moves::{FoundMove, Moves};
use crate::base::state::records::{Records, Stored};
use crate::check::one_sided;
use crate::check::same_cluster::{self, RunAccess};
use crate::check::undone_moves::EndedBetween;

/// Both sides, opened.
pub(crate) struct Opened {
    pub(crate) sides: Both<Handle>,
    pub(crate) ends: Ends,
    pub(crate) kinds: Kinds,
    /// The records of each side; `None` for a directory, which has no state to keep.
    pub(crate) records: Both<Option<Records>>,
    pub(crate) identities: Both<Option<Uid>>,
    /// The id for a move between places that keep no records.
    pub(crate) anonymous: String,
    leases: Option<Leases>,
    /// The only namespace of the source whose objects the report may mention.
    confined_to: Option<Namespaces>,
}

/// Opens both sides: reads the kinds they serve, and checks that they are two. The records are read separately, because a run
/// that writes must not read them before it has its locks.
///
/// No request is sent to the absent side.
pub(crate) async fn open_sides(setup: &Setup, absent: Option<Side>) -> Result<Opened, Failure> {
    open_for(setup, absent, RunAccess::Reads).await
}

/// Opens both sides for a run that writes: a missing record namespace may be created.
pub(crate) async fn open_for_writing(setup: &Setup, absent: Option<Side>) -> Result<Opened, Failure> {
    open_for(setup, absent, RunAccess::Writes).await
}

async fn open_for(setup: &Setup, absent: Option<Side>, run: RunAccess) -> Result<Opened, Failure> {
    let options = &setup.options;
    let handle = |side| {
        let place = setup.sides.get(side).clone();
        let handle = Handle::new(side, place, setup.halter.clone(), setup.watcher.clone());
        handle.absent_if(absent == Some(side))
    };
    let (source, target) = (handle(Side::Source), handle(Side::Target));
    let ends = Ends { source: source.end_kind, target: target.end_kind };
    let ask_kinds = async {
        let served = setup.plugins.served_kinds();
        match (ends.source.is_absent(), ends.target.is_absent()) {
            (false, false) => {
                let kinds = Kinds::from_sides(&source, &target, options.confined).await?;
                served.set(kinds.source.keys().chain(kinds.target.keys()).cloned().collect());
                Ok(kinds)
            }
            (true, _) => {
                served.give_up();
                Kinds::from_one_side(&target).await
            }
            (false, true) => {
                served.give_up();
                Kinds::from_one_side(&source).await
            }
        }
    };
    let identify = async |handle: &Handle, ask: bool| {
        if !ask {
            return Ok(Identity::Unknown);
        }
        handle.identify().await
    };
    let read = async {
        tokio::try_join!(
            ask_kinds,
            identify(&source, !ends.source.is_absent()),
            identify(&target, !ends.target.is_absent())
        )
    };
    // Refused plugins end the reading at once if they don't wait for the kinds of both sides. Telling the two sides apart may write, and is
    // never cut short.
    let (kinds, there, here) = tokio::select! {
        biased;
        refusal = setup.wait_for_refusal() => return Err(refusal),
        read = read => read?,
    };
    same_cluster::refuse_same_place((&source, &target), &kinds, options, run, (&there, &here)).await?;
    let records = |handle: &Handle| {
        let records = Records::new(handle, kinds.get(handle.side), options);
        records.filter(|_| !handle.end_kind.is_files())
    };
    // The Leases are in the source, which must be guarded. Files need no guard. But the target of a move from files does, and
    // so does the target of a move that is finished without its source.
    let leases = ends.lease_side().and_then(|side| {
        let guarded = if side == Side::Source { &source } else { &target };
        Leases::new(guarded, kinds.get(side), &options.record_namespace)
    });
    let anonymous = match (&there, &here) {
        (Identity::Directory { path, .. }, _) => path.clone(),
        // Each backup has its own directory.
        (Identity::Cluster(uid), Identity::Directory { path, .. }) => format!("{} {path}", uid.0),
        (_, Identity::Directory { path, .. }) => path.clone(),
        (Identity::Cluster(_) | Identity::Unknown, _) => String::new(),
    };
    let uid = |identity| match identity {
        // A server that gives itself the id of files has none.
        Identity::Cluster(uid) => Some(uid).filter(|uid| !uid.0.starts_with(FILES)),
        Identity::Directory { contents, .. } => contents,
        Identity::Unknown => None,
    };
    Ok(Opened {
        records: Both::new(records(&source), records(&target)),
        sides: Both::new(source, target),
        identities: Both::new(uid(there), uid(here)),
        ends,
        confined_to: (options.confined == Some(Side::Source)).then(|| options.scope.namespaces.clone()),
        kinds,
        anonymous,
        leases,
    })
}

impl Opened {
    /// Returns the Leases, which are in the source, or in the target of a move from files. `None` if neither side has any.
    pub(crate) fn leases(&self) -> Option<&Leases> {
        self.leases.as_ref()
    }

    /// Reads the moves under way between the two sides.
    pub(crate) async fn read_moves(&self) -> Result<Moves, Failure> {
        self.read_moves_with(async |records| records.list_under_way().await).await
    }

    /// Reads the summaries of the last moves, as far as the opened sides have them.
    pub(crate) async fn read_finished(&self) -> Result<Vec<Finished>, Failure> {
        let read = async |records: &Option<Records>| match records {
            Some(records) => records.list_finished().await,
            None => Ok(Vec::new()),
        };
        let (mut all, target) = tokio::try_join!(read(&self.records.source), read(&self.records.target))?;
        all.extend(target);
        all.sort_by(|a, b| b.ended_at.cmp(&a.ended_at));
        Ok(all)
    }

    /// Reads the summaries of the last moves that were rolled back.
    pub(crate) async fn read_rolled_back(&self) -> Result<Vec<RolledBackMove>, Failure> {
        let read = async |records: &Option<Records>| {
            let Some(records) = records else { return Ok(Vec::new()) };
            match records.list_rolled_back().await {
                // The state of moves is worth reporting without it.
                Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Ok(Vec::new()),
                read => read,
            }
        };
        let (mut all, target) = tokio::try_join!(read(&self.records.source), read(&self.records.target))?;
        all.extend(target);
        all.sort_by(|a, b| b.ended_at.cmp(&a.ended_at));
        Ok(all)
    }

    /// Reads the moves under way for a plan. Users without permission to read records can still make one.
    pub(crate) async fn read_visible_moves(&self) -> Result<Moves, Failure> {
        let lenient = async |records: &Records| match records.list_under_way().await {
            Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Ok(Vec::new()),
            other => other,
        };
        self.read_moves_with(lenient).await
    }

    async fn read_moves_with(
        &self,
        read: impl AsyncFn(&Records) -> Result<Vec<Stored>, Failure>,
    ) -> Result<Moves, Failure> {
        let read = async |records: &Option<Records>| match records {
            Some(records) => read(records).await,
            None => Ok(Vec::new()),
        };
        let source_answers = self.records.source.is_some() && !self.ends.source.is_absent();
        let ended = async |records: &Option<Records>| match records {
            Some(records) if source_answers => match records.list_finished().await {
                Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Ok(Vec::new()),
                ended => ended,
            },
            _ => Ok(Vec::new()),
        };
        let (source, target, ended) = tokio::try_join!(
            read(&self.records.source),
            read(&self.records.target),
            ended(&self.records.target)
        )?;
        let mut moves = Moves::new(Both::new(source, target), &self.identities, source_answers);
        if let Some(target) = &self.records.target {
            // A target that may not be the move's shows nothing of it, and neither does a source that was not asked.
            let can_be_judged = |found: &&mut FoundMove| {
                let is_target = found.is_to(&self.identities.target) || found.is_of_later_attempt();
                source_answers && (found.orphaned || is_target)
            };
            for found in moves.0.iter_mut().filter(can_be_judged) {
                found.one_sided =
                    one_sided::judge_move(found, &self.sides, &self.kinds, target).boxed().await?;
            }
        }
        let is_known = |summary: &Finished| {
            let mut records = moves.0.iter().filter_map(FoundMove::record);
            records.any(|record| record.move_id == summary.move_id)
        };
        let ended: Vec<Finished> = ended.into_iter().filter(|summary| !is_known(summary)).collect();
        let between = EndedBetween {
            sides: &self.sides,
            kinds: &self.kinds,
            identities: &self.identities,
            confined_to: self.confined_to.as_ref(),
            source: self.records.source.as_ref(),
        };
        moves.0.extend(between.find_undone(ended).boxed().await?);
        Ok(moves)
    }
}
