//! The Clusters of a move on either side: finds those that run, and compares the two sides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::copies::mark::CopyMark;
use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::messages::refusal::some_of;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::pause;
use pivot_core::records::cluster_identity::{ClusterIdentity, MovedCluster, authority_secret_key};
use pivot_core::records::record::{Finished, MOST_MOVED_CLUSTERS, Phase, Record};
use pivot_core::records::release::UidSet;
use pivot_core::{Both, GroupKind, Key, Kind, Meta, Object, Uid};
use pivot_places::PlaceError;

use crate::base::outcome::failure::Failure;
use crate::base::outcome::one_sided::OneSidedMove;
use crate::base::requests::side::Handle;
use crate::base::requests::side_by_side::{self, LISTS, OBJECTS};

/// The kinds of one side.
pub(crate) type KindsOfSide = BTreeMap<GroupKind, Arc<Kind>>;

/// Two sides of a move, the target by the source's names.
#[derive(Clone, Copy)]
pub(crate) struct ClusterSides<'a> {
    pub(crate) sides: &'a Both<Handle>,
    pub(crate) kinds: &'a Both<KindsOfSide>,
}

/// Proof that a copy runs, or may have run.
pub(crate) enum Running {
    /// A copy is not paused.
    Now(String),
    /// A copy is paused, but not by the move any more.
    PausedAgain(String),
}

impl From<Running> for OneSidedMove {
    fn from(running: Running) -> Self {
        match running {
            Running::Now(proof) => Self::TakenOver(proof),
            Running::PausedAgain(what) => Self::PausedAgain(what),
        }
    }
}

/// A target's statement about the end of a move.
#[derive(Clone, Copy)]
pub(crate) enum ReportedEnd<'a> {
    /// Nothing.
    Nothing,
    /// By its record, each Cluster was taken over.
    Settled,
    /// The move has a summary.
    Ended(&'a Finished),
}

/// Returns true if a Cluster is paused.
pub(crate) fn is_paused(side: &Handle, cluster: &Object) -> Result<bool, Failure> {
    pause::is_paused(cluster).map_err(|error| Failure::Object(side.side, error))
}

/// The Clusters that a side has where a move works. Also of a record without that kind: anyone with write access to one side can
/// leave it out.
async fn list_clusters(side: &Handle, kinds: &KindsOfSide, record: &Record) -> Result<Vec<Object>, Failure> {
    let Some((_, kind)) = kinds.iter().find(|(gk, _)| is_cluster(gk)) else { return Ok(Vec::new()) };
    let lists = record.copied_namespaces.iter().map(|namespace| side.list(kind, Some(namespace)).boxed());
    let listed = match side_by_side::try_all(LISTS, lists.collect()).await {
        Err(Failure::Place { error: PlaceError::Forbidden(_), .. })
            if !record.kinds.iter().any(is_cluster) =>
        {
            Vec::new()
        }
        listed => listed?,
    };
    Ok(listed.into_iter().flat_map(|listing| listing.objects).collect())
}

/// Returns true if an object of the target is a copy of any attempt of a move, or of an import of its files.
fn is_copy(record: &Record, cluster: &Object) -> bool {
    let mut imports = record.handover.iter().flat_map(|handover| &handover.imported_by);
    let mark = CopyMark::from_record(record);
    mark.is_of_any_attempt(&cluster.key(), &cluster.meta) || imports.any(|id| cluster.meta.has_mark(id))
}

impl ClusterSides<'_> {
    /// The source's Clusters that a move takes.
    pub(crate) async fn list_originals(self, record: &Record) -> Result<Vec<Object>, Failure> {
        let mut all = list_clusters(&self.sides.source, &self.kinds.source, record).await?;
        all.retain(|cluster| {
            let key = cluster.key();
            record.scope.includes_namespace(key.namespace.as_deref()) && record.scope.includes_cluster(&key)
        });
        Ok(all)
    }

    /// The Clusters that a move takes, by their names in the source: on one side, on the other, or on both.
    pub(crate) async fn find_all(self, record: &Record) -> Result<BTreeSet<Key>, Failure> {
        let copies = list_clusters(&self.sides.target, &self.kinds.target, record);
        let (originals, copies) = tokio::try_join!(self.list_originals(record), copies)?;
        let copies = copies.into_iter().filter(|copy| is_copy(record, copy));
        Ok(originals.into_iter().chain(copies).map(|cluster| cluster.key()).collect())
    }

    /// Finds a Cluster of the copy that runs, or may have run. A copy that this move paused has the annotation that undoes it until it is
    /// unpaused: one that is paused without it was paused again, or lost it.
    pub(crate) async fn find_running(self, record: &Record) -> Result<Option<Running>, Failure> {
        let (target, id) = (&self.sides.target, &record.move_id);
        let (mut paused, mut strangers) = (Vec::new(), Vec::new());
        for cluster in list_clusters(target, &self.kinds.target, record).await? {
            match (is_copy(record, &cluster), is_paused(target, &cluster)?) {
                (true, false) => {
                    return Ok(Some(Running::Now(describe_running(&target.own_name(&cluster.key()), id))));
                }
                (true, true) => paused.push(cluster),
                (false, false) if !cluster.meta.is_being_deleted() => strangers.push(cluster),
                (false, _) => {}
            }
        }
        if let Some(there) = self.find_unmarked(record, &strangers).await?.first() {
            return Ok(Some(Running::Now(format!(
                "{}, of the same workload cluster and without the mark of move {id}, runs in the target",
                target.own_name(there)
            ))));
        }
        paused.retain(|copy| {
            copy.meta.has_mark(&record.move_id) && !pause::is_ours(&copy.meta, &record.move_id)
        });
        let source = self.sides.source.end_kind;
        // A target takes over from no files, whether they are lost or not.
        if paused.is_empty() || source.is_files() || source.is_lost_files(record) {
            return Ok(None);
        }
        let asleep = self.find_asleep(record).await?;
        let again = paused.into_iter().map(|copy| copy.key()).find(|key| !asleep.contains(key));
        Ok(again.map(|key| {
            let copy = target.own_name(&key);
            Running::PausedAgain(format!(
                "{copy}, a copy of move {id}, was unpaused in the target and paused again, or lost the annotation that unpauses it"
            ))
        }))
    }

    /// Finds running Clusters of the target without a mark of the move, if they are certainly of the source's workload clusters. Each is a
    /// copy that lost its mark, or one that another program made.
    async fn find_unmarked(self, record: &Record, running: &[Object]) -> Result<Vec<Key>, Failure> {
        let mut found = Vec::new();
        if running.is_empty() {
            return Ok(found);
        }
        let Both { source, target } = self.sides;
        for original in self.list_originals(record).await? {
            let Some(there) = running.iter().find(|one| one.key() == original.key()) else { continue };
            let (ours, theirs) = tokio::try_join!(
                read_identity(source, &self.kinds.source, &original),
                read_identity(target, &self.kinds.target, there)
            )?;
            if ours.is_same(&theirs) {
                found.push(there.key());
            }
        }
        Ok(found)
    }

    /// Returns the Clusters that a move copied: those with its mark, and those that run without.
    async fn find_copied(self, record: &Record) -> Result<BTreeSet<Key>, Failure> {
        let target = &self.sides.target;
        let all = list_clusters(target, &self.kinds.target, record).await?;
        let (marked, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|copy| is_copy(record, copy));
        let unmarked = self.keep_unmarked(record, others).await?;
        Ok(marked.iter().map(Object::key).chain(unmarked).collect())
    }

    /// Finds the Clusters of the target that run without a mark of the move, and are certainly of the source's workload clusters.
    pub(crate) async fn find_running_unmarked(self, record: &Record) -> Result<Vec<Key>, Failure> {
        let mut others = list_clusters(&self.sides.target, &self.kinds.target, record).await?;
        others.retain(|copy| !is_copy(record, copy));
        self.keep_unmarked(record, others).await
    }

    /// Keeps those Clusters without a mark of the move that run, and are certainly of the source's workload clusters.
    async fn keep_unmarked(self, record: &Record, others: Vec<Object>) -> Result<Vec<Key>, Failure> {
        let mut running = Vec::new();
        for other in others {
            if !other.meta.is_being_deleted() && !is_paused(&self.sides.target, &other)? {
                running.push(other);
            }
        }
        self.find_unmarked(record, &running).await
    }

    /// The source's Clusters that were paused before the move, whose copies are paused without an annotation of it. A move that takes
    /// only running Clusters has none: one that is paused without our annotation now was paused since.
    async fn find_asleep(self, record: &Record) -> Result<BTreeSet<Key>, Failure> {
        let mut asleep = BTreeSet::new();
        if !record.scope.accept.contains(Risk::AlreadyPaused) {
            return Ok(asleep);
        }
        for cluster in self.list_originals(record).await? {
            if self.is_asleep(record, &cluster)? {
                asleep.insert(cluster.key());
            }
        }
        Ok(asleep)
    }

    /// Returns true if a Cluster of the source was paused before a move that takes such Clusters, as far as it shows that.
    fn is_asleep(self, record: &Record, cluster: &Object) -> Result<bool, Failure> {
        let (meta, id) = (&cluster.meta, &record.move_id);
        let by_user = !pause::is_ours(meta, id) && !pause::is_out_of_date(meta, id);
        let is_taken = record.scope.accept.contains(Risk::AlreadyPaused);
        Ok(is_taken && by_user && is_paused(&self.sides.source, cluster)?)
    }

    /// The source's Clusters that nothing pauses and that the move copied: those with a UID in `moved`, or with a copy in the target.
    pub(crate) async fn find_awake(
        self,
        record: &Record,
        moved: &BTreeSet<Uid>,
    ) -> Result<Vec<Key>, Failure> {
        let copied = self.find_copied(record).await?;
        let mut awake = Vec::new();
        for cluster in self.list_originals(record).await? {
            let is_moved = moved.contains(&cluster.meta.uid) || copied.contains(&cluster.key());
            if is_moved && !is_paused(&self.sides.source, &cluster)? {
                awake.push(cluster.key());
            }
        }
        Ok(awake)
    }

    /// Returns a verdict if Clusters of a committed source run there and in the target. `proof` shows that the target went on.
    pub(crate) async fn find_woken(
        self,
        record: &Record,
        proof: &str,
    ) -> Result<Option<OneSidedMove>, Failure> {
        // The command that is offered pauses these, and no others.
        let awake = self.find_managed_twice(record).await?;
        Ok(match awake.is_empty() {
            true => None,
            false => Some(OneSidedMove::SourceWentBack { proof: proof.to_owned(), awake, is_recorded: true }),
        })
    }

    /// The source's Clusters that the target has no complete copy of that runs: under the name, with the mark of the move, unpaused, of the
    /// same workload cluster, and written to by controllers, by the given word on a copy and its original.
    pub(crate) async fn find_without_running_copy(
        self,
        record: &Record,
        is_written: impl Fn(&Meta, &Meta) -> bool,
    ) -> Result<Vec<Key>, Failure> {
        let Both { source, target } = self.sides;
        let copies = list_clusters(target, &self.kinds.target, record).await?;
        let mark = CopyMark::from_record(record);
        let mut without = Vec::new();
        for cluster in self.list_originals(record).await? {
            let key = cluster.key();
            let copy = copies.iter().find(|copy| copy.key() == key && mark.is_on(&key, &copy.meta));
            let runs = match copy
                .filter(|copy| !copy.meta.is_being_deleted() && is_written(&copy.meta, &cluster.meta))
            {
                Some(copy) if !is_paused(target, copy)? => {
                    let (there, here) = tokio::try_join!(
                        read_identity(source, &self.kinds.source, &cluster),
                        read_identity(target, &self.kinds.target, copy)
                    )?;
                    there.is_same(&here)
                }
                _ => false,
            };
            if !runs {
                without.push(key);
            }
        }
        Ok(without)
    }

    /// The source's Clusters that nothing pauses, and whose copies run: certainly of the same workload cluster.
    pub(crate) async fn find_managed_twice(self, record: &Record) -> Result<Vec<Key>, Failure> {
        let Both { source, target } = self.sides;
        let copies = list_clusters(target, &self.kinds.target, record).await?;
        let mut twice = Vec::new();
        for cluster in self.list_originals(record).await? {
            let key = cluster.key();
            let copy = copies.iter().find(|copy| copy.key() == key && !copy.meta.is_being_deleted());
            let Some(copy) = copy else { continue };
            if is_paused(source, &cluster)? || is_paused(target, copy)? {
                continue;
            }
            let (there, here) = tokio::try_join!(
                read_identity(source, &self.kinds.source, &cluster),
                read_identity(target, &self.kinds.target, copy)
            )?;
            if there.is_same(&here) {
                twice.push(key);
            }
        }
        Ok(twice)
    }

    /// The source's Clusters that run although a move that has ended took them: those whose UIDs it took and that it copied, and those whose
    /// copies run. None if the source has none that it took, whether it runs or not.
    pub(crate) async fn find_undone(
        self,
        record: &Record,
        moved: &BTreeSet<Uid>,
    ) -> Result<Option<Vec<Key>>, Failure> {
        let copies = list_clusters(&self.sides.target, &self.kinds.target, record).await?;
        let copies = copies.into_iter().filter(|copy| is_copy(record, copy) && !copy.meta.is_being_deleted());
        let copied: BTreeSet<Key> = copies.map(|copy| copy.key()).collect();
        if copied.is_empty() {
            return Ok(None);
        }
        let mut awake: BTreeSet<Key> = self.find_managed_twice(record).await?.into_iter().collect();
        let mut is_back = !awake.is_empty();
        for cluster in self.list_originals(record).await? {
            let key = cluster.key();
            if cluster.meta.is_being_deleted() || !moved.contains(&cluster.meta.uid) || !copied.contains(&key)
            {
                continue;
            }
            is_back = true;
            if !is_paused(&self.sides.source, &cluster)? {
                awake.insert(key);
            }
        }
        Ok(is_back.then(|| awake.into_iter().collect()))
    }

    /// Shows that the target has a complete, running copy: each Cluster that the source still has, or that the move's summary names,
    /// is there under its name, of the same workload cluster, and its controllers write to it; unless its user paused it in the source,
    /// it is not paused.
    pub(crate) async fn prove_takeover(
        self,
        record: &Record,
        said: ReportedEnd<'_>,
    ) -> Result<Option<String>, Failure> {
        let summary = match said {
            ReportedEnd::Ended(summary) => Some(summary),
            ReportedEnd::Settled | ReportedEnd::Nothing => None,
        };
        let Both { source, target } = self.sides;
        let copies = list_clusters(target, &self.kinds.target, record).await?;
        let copies: BTreeMap<Key, &Object> = copies.iter().map(|copy| (copy.key(), copy)).collect();
        let mut wanted: Vec<(Key, ClusterIdentity)> = Vec::new();
        let mut metas: BTreeMap<Key, Meta> = BTreeMap::new();
        let mut asleep = BTreeSet::new();
        let originals = self.list_originals(record).await?;
        let all: UidSet = originals.iter().map(|cluster| &cluster.meta.uid).collect();
        // Then the summary doesn't name all of them.
        if summary.and_then(|summary| summary.all_clusters.as_ref()).is_some_and(|moved| *moved != all) {
            return Ok(None);
        }
        for cluster in originals {
            if self.is_asleep(record, &cluster)? {
                asleep.insert(cluster.key());
            }
            let mut identity = read_identity(source, &self.kinds.source, &cluster).await?;
            // The Secret of the authority may be deleted from the source before its Cluster.
            if let (Phase::Released, None, Some(copy)) =
                (record.phase, &identity.authority, copies.get(&cluster.key()))
            {
                identity.authority = read_identity(target, &self.kinds.target, copy).await?.authority;
            }
            wanted.push((cluster.key(), identity));
            metas.insert(cluster.key(), cluster.meta);
        }
        let by_own_name: BTreeMap<Key, &Key> = copies.keys().map(|key| (target.own_name(key), key)).collect();
        for moved in summary.iter().flat_map(|summary| &summary.clusters) {
            let named =
                |key: &Key| key.namespace.as_ref() == Some(&moved.namespace) && key.name == moved.name;
            match by_own_name.iter().find(|(own, _)| named(own)) {
                Some((_, key)) => wanted.push(((*key).clone(), moved.identity.clone())),
                None => return Ok(None),
            }
        }
        let mut running = BTreeSet::new();
        for (key, identity) in &wanted {
            let Some(copy) = copies.get(key).filter(|copy| !copy.meta.is_being_deleted()) else {
                return Ok(None);
            };
            // A later move may have marked it again.
            let marked = summary.is_some() || is_copy(record, copy);
            let rests = asleep.contains(key) && !matches!(said, ReportedEnd::Nothing);
            let runs = !is_paused(target, copy)? && is_written(&copy.meta, metas.get(key)) || rests;
            if !(marked && runs && identity.is_same(&read_identity(target, &self.kinds.target, copy).await?))
            {
                return Ok(None);
            }
            running.insert(target.own_name(key));
        }
        Ok(describe_takeover(&running, &record.move_id, said))
    }
}

/// Returns true if controllers have written to a copy since it was unpaused, by the target's clock: that was the last write of this
/// program.
pub(crate) fn is_written(copy: &Meta, original: Option<&Meta>) -> bool {
    let since = copy.last_own_write().or(copy.creation_timestamp.as_deref()).unwrap_or_default();
    copy.is_written_by_others(since, original)
}

/// Names the copies that run, and tells how the target reported the move's end. None if no copy runs.
fn describe_takeover(running: &BTreeSet<Key>, id: &str, said: ReportedEnd<'_>) -> Option<String> {
    let names = some_of(&running.iter().collect::<Vec<_>>(), 5);
    let verb = if running.len() == 1 { "runs" } else { "run" };
    match (running.len(), said) {
        (0, _) => None,
        (_, ReportedEnd::Ended(summary)) => Some(format!(
            "the target says that move {id} ended at {}, and {names} {verb} there",
            summary.ended_at
        )),
        (_, ReportedEnd::Settled) => {
            Some(format!("the target says that move {id} is Settled, and {names} {verb} there"))
        }
        (1, ReportedEnd::Nothing) => Some(describe_running(&names, id)),
        (_, ReportedEnd::Nothing) => Some(format!("{names}, copies of move {id}, run in the target")),
    }
}

/// Says that a copy runs.
fn describe_running(copy: &dyn std::fmt::Display, move_id: &str) -> String {
    format!("{copy}, a copy of move {move_id}, runs in the target")
}

async fn read_authority(
    side: &Handle,
    kinds: &KindsOfSide,
    cluster: &Key,
) -> Result<Option<Object>, Failure> {
    match kinds.get(&GroupKind::new("", "Secret")) {
        Some(kind) => side.get(kind, &authority_secret_key(cluster)).await,
        None => Ok(None),
    }
}

/// Reads the identity of a Cluster.
pub(crate) async fn read_identity(
    side: &Handle,
    kinds: &KindsOfSide,
    cluster: &Object,
) -> Result<ClusterIdentity, Failure> {
    let authority = read_authority(side, kinds, &cluster.key()).await?;
    ClusterIdentity::from_objects(cluster, authority.as_ref())
        .map_err(|error| Failure::Object(side.side, error))
}

/// Describes the copies of Clusters that moved, for the summary of their move. `moved` are those by their names and UIDs in the source.
pub(crate) async fn describe_moved(
    target: &Handle,
    kinds: &KindsOfSide,
    moved: &BTreeMap<Key, Uid>,
) -> Result<Vec<MovedCluster>, Failure> {
    let looks = moved.iter().take(MOST_MOVED_CLUSTERS).map(|(key, uid)| {
        async move {
            let Some(kind) = kinds.get(&key.group_kind) else { return Ok(None) };
            let (copy, authority) =
                tokio::try_join!(target.get(kind, key), read_authority(target, kinds, key))?;
            let Some(copy) = copy else { return Ok(None) };
            let identity = ClusterIdentity::from_objects(&copy, authority.as_ref())
                .map_err(|error| Failure::Object(target.side, error))?;
            let Key { namespace, name, .. } = target.own_name(key);
            let namespace = namespace.unwrap_or_default();
            Ok(Some(MovedCluster { namespace, name, uid: uid.clone(), identity }))
        }
        .boxed()
    });
    Ok(side_by_side::try_all(OBJECTS, looks.collect()).await?.into_iter().flatten().collect())
}
