//! Checks the permissions that the users of both sides need before a run changes anything, and lists them for administrators.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::messages::remedy::Remedy;
use pivot_core::objects::names;
use pivot_core::plan::Step;
use pivot_core::plugins::hooks::Hook;
use pivot_core::plugins::reach::{EVERYWHERE, is_read};
use pivot_core::records::route::{Ends, Route};
use pivot_core::request::scope::Namespaces;
use pivot_core::{Both, Kind, Side};
use pivot_places::{Access, PlaceError};
use serde_json::Value;

use crate::base::job::Job;
use crate::base::kinds::Kinds;
use crate::base::outcome::failure::{Exit, Failure};
use crate::base::outcome::stop::Stop;
use crate::base::requests::listing;
use crate::base::requests::side::Handle;
use crate::base::setup::Setup;
use crate::check::{awaited_signs, blocking_owners, guard};
use crate::read::first_reading::DEFINITIONS_UNREADABLE;
use crate::read::namespaces::MetadataByNamespace;
use crate::read::planning;
use crate::read::snapshot::Snapshot;

/// The code of the refusal.
const CODE: &str = "rights-missing";
/// Largest number of verbs or resources that a message names.
const MAX_NAMED: usize = 30;
/// Patch and delete are for a rollback, and for unpausing.
const IN_TARGET: [&str; 6] = ["get", "list", "watch", "create", "patch", "delete"];

/// The permissions that a move needs on one side, in that side's names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Permissions {
    /// Permissions without which the move is refused.
    pub needed: BTreeSet<Access>,
    /// Permissions without which checks and plugins know less, but the move goes on.
    pub checks: BTreeSet<Access>,
    /// Manifests of the namespaces that the move would create. A role can be created only in an existing namespace.
    pub namespaces: Vec<Value>,
}

impl Permissions {
    /// Returns the permissions of a plan, after everything was read and checked.
    pub(crate) async fn for_plan(
        job: &Job,
        snapshot: &Snapshot,
        metadata: &MetadataByNamespace,
        side: Side,
    ) -> Result<Self, Failure> {
        let handle = job.handle(side);
        let own = |access: Access| handle.own_access(access);
        let needed: BTreeSet<Access> =
            list_needed(job, snapshot)?.get(side).iter().cloned().map(own).collect();
        let of_owners = match side {
            Side::Source => BTreeMap::new(),
            Side::Target => blocking_owners::list_needed(job, snapshot)?,
        };
        let used = handle.place.used_permissions().into_iter().filter(|access| !needed.contains(access));
        let (checks, more): (BTreeSet<Access>, BTreeSet<Access>) =
            used.partition(|access| is_only_checked(job, side, access));
        let of_plugins = list_read_by_plugins(job, snapshot, side).into_iter().map(own);
        let of_owners = of_owners.into_keys().map(own);
        let needed: BTreeSet<Access> = needed.into_iter().chain(more).chain(of_owners).collect();
        let checks = checks.into_iter().chain(of_plugins).filter(|access| !needed.contains(access)).collect();
        let of_records =
            match !handle.end_kind.is_files() && !metadata.contains_key(&job.options.record_namespace) {
                true => job.records(side)?.missing_namespace().await?,
                false => None,
            };
        let created = metadata.iter().filter(|_| side == Side::Target);
        let created = created.map(|(name, metadata)| metadata.manifest(handle.own_namespace(name)));
        Ok(Self { needed, checks, namespaces: of_records.into_iter().chain(created).collect() })
    }
}

/// Asks both API servers for the permissions of everything that the run will do. `missing` are the namespaces that the target
/// lacks.
pub(crate) async fn find_missing(
    job: &Job,
    snapshot: &Snapshot,
    missing: &BTreeSet<String>,
) -> Result<Vec<Refusal>, Failure> {
    let Both { source, mut target } = list_needed(job, snapshot)?;
    let of_owners = blocking_owners::list_needed(job, snapshot)?.into_keys().collect();
    if !missing.is_empty() {
        // A rollback removes the created namespaces.
        target.extend(["create", "delete"].map(access_to_namespaces));
    }
    let (there, mut here, unblockable) = tokio::try_join!(
        find_missing_on(job, Side::Source, source),
        find_missing_on(job, Side::Target, target),
        find_denied(&job.target, of_owners)
    )?;
    if here.is_none() && blocking_owners::is_enforced(job, snapshot, &unblockable, missing).await? {
        let refusal = refuse_denied(Side::Target, &job.options.record_namespace, &unblockable);
        let reason = "its server requires that for owner references with blockOwnerDeletion";
        here = Some(Refusal { message: format!("{}; {reason}", refusal.message), ..refusal });
    }
    Ok(there.into_iter().chain(here).collect())
}

fn access_to_namespaces(verb: &'static str) -> Access {
    Access {
        verb: verb.into(),
        group: String::new(),
        resource: "namespaces".into(),
        subresource: "".into(),
        namespace: None,
    }
}

/// Asks one API server. The commit is the first write of the target's record: its namespace must exist by then, or be created.
async fn find_missing_on(
    job: &Job,
    side: Side,
    mut asked: BTreeSet<Access>,
) -> Result<Option<Refusal>, Failure> {
    let create = access_to_namespaces("create");
    let is_needed = !asked.insert(create.clone());
    // A lease that this run holds was written to that namespace.
    let has_written = side == Side::Source && job.locks.is_some();
    let keeps_record = !job.handle(side).end_kind.is_files() && !has_written;
    let records = if keeps_record { Some(job.records(side)?) } else { None };
    let find = async {
        match &records {
            Some(records) => records.find_namespace().await.map(Some),
            None => Ok(None),
        }
    };
    let (mut denied, found) = tokio::try_join!(find_denied(job.handle(side), asked), find)?;
    let may_create = !denied.contains(&create);
    denied.retain(|access| is_needed || *access != create);
    if !denied.is_empty() {
        return Ok(Some(refuse_denied(side, &job.options.record_namespace, &denied)));
    }
    match (records, found) {
        (Some(records), Some(found)) => {
            records.refuse_unwritable_namespace(&job.move_id, found, may_create).await
        }
        _ => Ok(None),
    }
}

/// Returns the permissions that the run needs in existing namespaces, in the source's names.
fn list_needed(job: &Job, snapshot: &Snapshot) -> Result<Both<BTreeSet<Access>>, Failure> {
    let mut needed: Both<BTreeSet<Access>> = Both::default();
    let Both { source, target } = &mut needed;
    let signs = awaited_signs::select_signs(job, snapshot, |_| false)?;
    for step in &snapshot.plan.steps {
        let namespace = step.key.namespace.clone();
        let here = job.kind(Side::Target, &step.key.group_kind)?;
        let access = |verb: &'static str, kind: &Kind| access_to(verb, kind, namespace.clone());
        let treatment = step.treatment();
        // Kept objects are paused and unpaused too, except those that are also copied.
        let verbs = ["get", "list", "watch", "patch"];
        let verbs = verbs.into_iter().take(if treatment.can_be_paused() { 4 } else { 2 });
        // The source may not serve the kind of an object from a manifest. If it does, a rollback looks there for objects that
        // it has paused.
        match job.kind(Side::Source, &step.key.group_kind) {
            Ok(there) => {
                source.extend(verbs.map(|verb| access(verb, there)));
                if treatment.is_deleted_from_source(job.route) {
                    source.insert(access("delete", there));
                }
            }
            Err(failure) if treatment.is_in_source() => return Err(failure),
            Err(_) => {}
        }
        target.extend(IN_TARGET.map(|verb| access(verb, here)));
        let gk = &step.key.group_kind;
        // A resumed run removes an old sign from the status of a copy.
        if signs.copies.contains_key(gk) || job.plugins.iter().any(|plugin| plugin.changes(Hook::Restore, gk))
        {
            target.insert(Access { subresource: "status".into(), ..access("patch", here) });
        }
    }
    let Both { source: of_source, target: of_target } =
        list_needed_by_records(&job.options.record_namespace, job.options.finish_alone);
    source.extend(of_source);
    target.extend(of_target);
    if job.options.guard {
        source.extend(guard::list_needed());
        target.extend(guard::list_needed());
    }
    for side in [Side::Source, Side::Target] {
        // Controllers act on no core kind, so no run waits for one.
        let may_wait = |step: &Step| {
            let waits = side == Side::Target || step.treatment().can_be_paused();
            Ok(waits && !step.key.group_kind.group.is_empty())
        };
        for (kind, keys) in snapshot.keys_by_kind(job, side, may_wait)? {
            if listing::select_namespaces(&keys).contains(&None) {
                needed.get_mut(side).extend(["list", "watch"].map(|verb| access_to(verb, &kind, None)));
            }
        }
    }
    if job.route.is_backup() {
        // A backup reads its source once, and has done so.
        needed.source.clear();
    }
    Ok(needed)
}

/// Returns the permissions for records and leases.
fn list_needed_by_records(namespace: &str, seals: bool) -> Both<BTreeSet<Access>> {
    let leases = "coordination.k8s.io";
    // A target that finishes alone needs leases, too.
    let alone = seals.then_some((Side::Target, leases, "leases"));
    let ours = [
        (Side::Source, leases, "leases"),
        (Side::Source, "", "configmaps"),
        (Side::Target, "", "configmaps"),
    ];
    let mut needed: Both<BTreeSet<Access>> = Both::default();
    for (side, group, resource) in ours.into_iter().chain(alone) {
        needed.get_mut(side).extend(["get", "list", "create", "patch", "delete"].map(|verb| Access {
            verb: verb.into(),
            group: group.into(),
            resource: resource.into(),
            subresource: "".into(),
            namespace: Some(namespace.to_owned()),
        }));
    }
    needed
}

/// Returns the permissions for objects that plugins may read, in the source's names.
fn list_read_by_plugins(job: &Job, snapshot: &Snapshot, side: Side) -> BTreeSet<Access> {
    let mut reads = BTreeSet::new();
    let moving: Vec<Option<String>> = snapshot.plugin_view().namespaces.into_iter().map(Some).collect();
    for read in job.plugins.iter().flat_map(|plugin| plugin.reads()).filter(|read| read.side == side) {
        for kind in job.kinds.get(side).values().filter(|kind| read.kind.covers(&kind.group_kind)) {
            let namespaces = match read.namespace.as_deref() {
                _ if !kind.namespaced => vec![None],
                None => moving.clone(),
                Some(EVERYWHERE) => vec![None],
                Some(named) => vec![Some(named.to_owned())],
            };
            for namespace in namespaces {
                reads.extend(["get", "list"].map(|verb| access_to(verb, kind, namespace.clone())));
            }
        }
    }
    reads
}

fn access_to(verb: &'static str, kind: &Kind, namespace: Option<String>) -> Access {
    Access {
        verb: verb.into(),
        group: kind.group_kind.group.clone(),
        resource: kind.plural.clone(),
        subresource: "".into(),
        namespace,
    }
}

/// Returns true if a run without permission to read this goes on without it.
fn is_only_checked(job: &Job, side: Side, access: &Access) -> bool {
    // The plan's own objects are listed apart. Checks look up other objects, and make all other lists of the target.
    let looks_up = access.verb == "get" || (access.verb == "list" && side == Side::Target);
    if looks_up && access.subresource.is_empty() {
        return true;
    }
    match (access.group.as_str(), access.resource.as_str()) {
        // These show where the source's providers are.
        (names::GROUP_CLUSTERCTL, "providers") => return true,
        // The source's labels select the kinds that move.
        ("apiextensions.k8s.io", "customresourcedefinitions") => return false,
        _ => {}
    }
    let wishes = planning::collect_wishes(&job.plugins);
    let kind = job
        .kinds
        .get(side)
        .values()
        .find(|kind| kind.plural == access.resource && kind.group_kind.group == access.group);
    // Other namespaces have other users of moved objects; other kinds may depend on deleted objects.
    let elsewhere = match (&job.options.scope.namespaces, &access.namespace) {
        (Namespaces::All, _) => false,
        (Namespaces::One(_), None) => kind.is_some_and(|kind| kind.namespaced),
        (Namespaces::One(one), Some(other)) => *other != job.handle(side).own_namespace(one),
    };
    elsewhere || kind.is_some_and(|kind| !is_read(kind, &wishes))
}

/// Returns these permissions that the user doesn't have, as the API server reports.
async fn find_denied(handle: &Handle, asked: BTreeSet<Access>) -> Result<Vec<Access>, Failure> {
    match handle.capabilities().judges {
        true => handle.find_denied(&asked.into_iter().collect::<Vec<_>>()).await,
        false => Ok(Vec::new()),
    }
}

/// Returns the refusal that names missing permissions.
fn refuse_denied(side: Side, record_namespace: &str, denied: &[Access]) -> Refusal {
    let is_about_records = denied.iter().any(|access| access.namespace.as_deref() == Some(record_namespace));
    let elsewhere = is_about_records.then_some(Remedy::NameRecordNamespace);
    let remedies = [Remedy::GrantRights { side }].into_iter().chain(elsewhere);
    Refusal {
        code: CODE,
        side,
        object: None,
        others: Vec::new(),
        message: format!("no permission to {}", describe_permissions(denied)),
        remedies: remedies.chain([Remedy::NameOtherUser { side }]).collect(),
    }
}

/// Describes permissions in one line, which groups resources with the same verbs in the same namespace.
fn describe_permissions(denied: &[Access]) -> String {
    let mut verbs: BTreeMap<(Option<&str>, String), BTreeSet<&str>> = BTreeMap::new();
    for access in denied {
        let of = (access.namespace.as_deref(), access.full_resource());
        verbs.entry(of).or_default().insert(&access.verb);
    }
    let mut resources: BTreeMap<(Option<&str>, BTreeSet<&str>), Vec<String>> = BTreeMap::new();
    for ((namespace, resource), verbs) in verbs {
        resources.entry((namespace, verbs)).or_default().push(resource);
    }
    let parts = resources.into_iter().map(|((namespace, verbs), resources)| {
        let within = match namespace {
            Some(namespace) => format!("in namespace {namespace}"),
            None => "in the whole cluster".to_owned(),
        };
        let verbs: Vec<&str> = verbs.into_iter().collect();
        format!("{} {} {within}", some_of(&verbs, MAX_NAMED), some_of(&resources, MAX_NAMED))
    });
    parts.collect::<Vec<_>>().join("; ")
}

/// Replaces a first denied request, before a plan exists, with a refusal that names all missing permissions. Without a plan,
/// these are the permissions for every object that can move.
///
/// The server's own message stays, because other causes than permissions deny requests, such as webhooks.
pub(crate) async fn name_all_missing(setup: &Setup, stop: Stop) -> Stop {
    let denied = match &stop.failure {
        Failure::Place { side, error: PlaceError::Forbidden(_), .. } => Some(*side),
        Failure::Refused(refusals) => match refusals.as_slice() {
            // Other refusals come from a plan, and name all permissions.
            [Refusal { code: CODE, object: Some(_), side, .. }]
            | [Refusal { code: DEFINITIONS_UNREADABLE, side, .. }] => Some(*side),
            _ => None,
        },
        _ => None,
    };
    // An agent itself reports the rule that denied a request.
    let denied = denied.filter(|side| setup.sides.get(*side).vouches_for_kinds());
    let Some(side) = denied else { return stop };
    if stop.exit != Exit::Refused || stop.phase.is_some() {
        return stop;
    }
    match find_missing_for_any_plan(setup).await {
        Ok(mut refusals) => {
            // Permissions that are missing only on the other side didn't cause the denial.
            let Some(refusal) = refusals.iter_mut().find(|refusal| refusal.side == side) else { return stop };
            if matches!(stop.failure, Failure::Place { .. }) {
                refusal.message = format!("{}; what was denied first: {}", refusal.message, stop.failure);
            }
            Stop { failure: Failure::Refused(refusals), ..stop }
        }
        Err(failure) => {
            tracing::debug!(%failure, "the missing permissions are not known");
            stop
        }
    }
}

async fn find_missing_for_any_plan(setup: &Setup) -> Result<Vec<Refusal>, Failure> {
    let (options, sides) = (&setup.options, &setup.sides);
    let handle = |side, place| Handle::new(side, place, setup.halter.clone(), setup.watcher.clone());
    let source = handle(Side::Source, sides.source.clone());
    let target = handle(Side::Target, sides.target.clone()).with_namespace_map(&options.scope.namespace_map);
    let kinds = Kinds::from_sides(&source, &target, options.confined).await?;
    let wishes = planning::collect_wishes(&setup.wait_for_plugins().await?);
    let ends = Ends { source: source.end_kind, target: target.end_kind };
    let deletes = Route::of_new_move(ends, options.handover).deletes_from_source();
    let mut needed = list_needed_by_records(&options.record_namespace, options.finish_alone);
    needed.source.insert(Access {
        verb: "list".into(),
        group: "apiextensions.k8s.io".into(),
        resource: "customresourcedefinitions".into(),
        subresource: "".into(),
        namespace: None,
    });
    let scope = match &options.scope.namespaces {
        Namespaces::All => None,
        Namespaces::One(one) => Some(one.clone()),
    };
    for (kind, there) in &kinds.source {
        let can_move = is_read(there, &wishes)
            || (there.labels.unread
                && kind.group.ends_with(names::GROUP_CLUSTER)
                && kind.group != names::GROUP_CLUSTERCTL);
        // Users of one namespace don't need cluster-scoped objects.
        let is_in_scope = there.namespaced || scope.is_none();
        let Some(here) = kinds.target.get(kind).filter(|_| can_move && is_in_scope) else { continue };
        let namespace = scope.clone().filter(|_| there.namespaced);
        let access = |verb: &'static str, kind: &Kind| access_to(verb, kind, namespace.clone());
        let delete = deletes.then_some("delete");
        let verbs = ["get", "list", "watch", "patch"].into_iter().chain(delete);
        needed.source.extend(verbs.map(|verb| access(verb, there)));
        needed.target.extend(IN_TARGET.map(|verb| access(verb, here)));
    }
    let Both { source: from, target: to } = needed;
    let (there, here) = tokio::try_join!(find_denied(&source, from), find_denied(&target, to))?;
    let both = [(Side::Source, there), (Side::Target, here)];
    let some = both.into_iter().filter(|(_, denied)| !denied.is_empty());
    Ok(some.map(|(side, denied)| refuse_denied(side, &options.record_namespace, &denied)).collect())
}
