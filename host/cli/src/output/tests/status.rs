//! Golden texts: the state of moves.

use pivot_core::Uid;
use pivot_core::records::record::{FinishAlone, Finished, Handover, Pin, Record, RolledBackMove};
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_engine::{LeaseStatus, Leftover, MoveStatus, OneSidedMove, Status, WaitingCopies};

use super::*;

fn record(phase: Phase) -> Record {
    Record {
        format: Default::default(),
        written_by: "0.1.0".into(),
        started_by: "jane@laptop".into(),
        move_id: "1234".into(),
        phase,
        scope: Scope::new(Namespaces::One("ns".into())),
        source: None,
        target: None,
        started_at: "2026-08-21T10:00:00Z".into(),
        created_namespaces: Vec::new(),
        plugins: vec![Pin {
            name: "metal3".into(),
            version: "0.3.1".into(),
            digest: "d".into(),
            vouched_by: vec![],
            granted: vec![],
        }],
        kinds: Default::default(),
        copied_namespaces: Default::default(),
        confined: false,
        into_directory: false,
        handover: None,
        plan_checksum: None,
        finish_alone: None,
        release_digest: None,
        copy_key: None,
        earlier_copy_keys: Vec::new(),
        release_uids: None,
        source_went_back: false,
        committed_at: None,
        release_chunks: 0,
    }
}

pub(super) fn one(phase: Phase, decides: Side) -> MoveStatus {
    MoveStatus {
        decides,
        record: record(phase),
        elsewhere: false,
        orphaned: false,
        asked: None,
        one_sided: None,
        has_ended: false,
        recovered: false,
        missing: None,
    }
}

/// A move under way, a lock, and a finished move.
pub(super) fn full_status() -> Status {
    Status {
        moves: vec![one(Phase::Copied, Side::Source)],
        leases: vec![LeaseStatus {
            name: "pivot-host.ns.ns".into(),
            holder: "pivot-host/7".into(),
            move_id: Some("1234".into()),
            renewed_seconds_ago: Some(2),
        }],
        finished: vec![Finished {
            format: Default::default(),
            move_id: "1233".into(),
            started_by: "jane@laptop".into(),
            started_at: "2026-08-20T10:00:00Z".into(),
            ended_at: "2026-08-20T10:00:09Z".into(),
            scope: Some(Scope::new(Namespaces::One("team-a".into()))),
            source: None,
            target: None,
            clusters: Vec::new(),
            all_clusters: None,
            files: Some(Uid("files:0".into())),
            source_label: "old".into(),
            target_label: "kind-boot".into(),
            moved: 12,
            kept: 1,
            plugins: Vec::new(),
            accepted: vec!["dependents-lost Secret".into(), "target-unconfirmed".into()],
        }],
        ..Status::default()
    }
}

pub(super) fn leftover(may_be_deleted: bool) -> Leftover {
    let key = |kind: &str, name: &str| Key::new(kind.parse().unwrap(), Some("ns"), name);
    if may_be_deleted {
        return Leftover { may_be_deleted, on_both: 2, ..Leftover::default() };
    }
    Leftover {
        may_be_deleted,
        only_here: ["a", "b", "c", "d"].map(|name| key("Machine.cluster.x-k8s.io", name)).to_vec(),
        with_finalizers: 4,
        on_both: 2,
        provider_secrets: vec![key("Secret", "credentials")],
        beside_moved: vec![key("ConfigMap", "settings")],
        unread: ["Identity.infra.io".parse().unwrap()].into(),
    }
}

#[test]
fn status_shows_whether_source_is_deletable() {
    let status = |may_be_deleted| Status { left: Some(leftover(may_be_deleted)), ..Status::default() };
    check(
        crate::output::status_text(&status(true), SIDES, &[]),
        &expect![[r#"
            No move is under way from kind-boot to prod.

            The source, kind-boot, may be deleted: the target has copies of the 2 objects of Cluster API that are left in it.
        "#]],
    );
    check(
        crate::output::status_text(&status(false), SIDES, &[]),
        &expect![[r#"
            No move is under way from kind-boot to prod.

            The source, kind-boot, should not be deleted yet:
              4 objects have no copy in the target: 4 Machines: ns/a, ns/b, ns/c, ns/d
              4 of these have finalizers: their machines or networks would be left without a controller
              Secrets in providers' namespaces, none of which are in the target: ns/credentials
              not in the target, and moved objects may refer to it: ConfigMap ns/settings
              not checked, because you don't have permission to list them: Identity.infra.io
        "#]],
    );
}

#[test]
fn status_shows_next_commands() {
    let status = full_status();
    let next = [vec!["pivot-host resume".to_owned(), "pivot-host rollback".to_owned()]];
    check(
        crate::output::status_text(&status, SIDES, &next),
        &expect![[r#"
            Move: 1234, from kind-boot to prod

              phase    Copied (resume or roll back)
              state    the source is authoritative: complete, paused; the target holds a partial copy, paused
              what     namespace ns
              started  2026-08-21T10:00:00Z by jane@laptop
              plugins  metal3 0.3.1
              lease    pivot-host.ns.ns held by pivot-host/7, a run that is at work (renewed 2 s ago by its clock): wait until it ends
              next     pivot-host resume
              or       pivot-host rollback

            The last moves:

              ENDED                 MOVED  KEPT  BY           SCOPE             FROM  TO         MOVE
              2026-08-20T10:00:09Z  12     1     jane@laptop  namespace team-a  old   kind-boot  1233

              Risks accepted in move 1233: dependents-lost Secret, target-unconfirmed
        "#]],
    );
    check(
        crate::output::status_text(&Status::default(), SIDES, &[]),
        &expect![[r#"
        No move is under way from kind-boot to prod.
    "#]],
    );
}

/// Two hundred imports are remembered.
#[test]
fn status_shows_last_moves_and_count() {
    let mut status = full_status();
    let one = status.finished[0].clone();
    status.finished = vec![one; 12];
    let text = crate::output::status_text(&status, SIDES, &[Vec::new()]).to_string();
    assert_eq!(text.matches("2026-08-20T10:00:09Z").count(), 10, "{text}");
    assert!(text.contains("and 2 before them"), "{text}");
}

#[test]
fn a_status_lists_the_last_rollbacks() {
    let scope = Scope::new(Namespaces::One("team-a".into()));
    let one = RolledBackMove {
        format: Default::default(),
        move_id: "1232".into(),
        started_by: "jane@laptop".into(),
        started_at: "2026-08-20T09:00:00Z".into(),
        ended_at: "2026-08-20T09:00:09Z".into(),
        phase: Phase::Copied,
        scope,
        source_label: "kind-boot".into(),
        target_label: "prod".into(),
    };
    let status = Status { rolled_back: vec![one], ..Status::default() };
    check(
        crate::output::status_text(&status, SIDES, &[]),
        &expect![[r#"
            No move is under way from kind-boot to prod.

            The last moves that were rolled back:

              ENDED                 PHASE   BY           SCOPE             FROM       TO    MOVE
              2026-08-20T09:00:09Z  Copied  jane@laptop  namespace team-a  kind-boot  prod  1232
        "#]],
    );
    let document = StatusDocument::new(&status, SIDES, &[]);
    let document = serde_json::to_value(document).unwrap();
    schemas::check(&document);
    assert_eq!(document["rolledBack"][0]["phase"], "Copied");
}

/// A source that waits, paused, for the import of its files.
pub(super) fn handed_over() -> MoveStatus {
    let mut waiting = one(Phase::Copied, Side::Source);
    waiting.record.into_directory = true;
    waiting.record.handover = Some(Handover {
        files: Some(Uid("files:0".into())),
        directory: "directory out".to_owned(),
        written_at: "2026-08-21T10:01:00Z".to_owned(),
        ..Handover::default()
    });
    waiting
}

#[test]
fn status_shows_a_handover() {
    let of = |missing, silent| Status {
        moves: vec![MoveStatus { missing, ..handed_over() }],
        silent,
        ..Status::default()
    };
    let next = [vec!["pivot-host handover finish".to_owned(), "pivot-host rollback".to_owned()]];
    check(
        crate::output::status_text(&of(None, None), SIDES, &next),
        &expect![[r#"
            Move: 1234, from kind-boot to prod

              phase    Copied (handed over in directory out on 2026-08-21T10:01:00Z: the source stays paused until the handover is finished)
              state    the source is complete, and stays paused: it was handed over in files
              what     namespace ns
              started  2026-08-21T10:00:00Z by jane@laptop
              plugins  metal3 0.3.1
              lease    no run is working on this move
              next     pivot-host handover finish
              or       pivot-host rollback
        "#]],
    );
    let alone = of(Some(Side::Target), None);
    let next = [vec!["pivot-host handover cancel --accept maybe-imported".to_owned()]];
    let text = crate::output::status_text(&alone, SIDES, &next).message();
    assert!(text.contains("`handover finish --to-kubeconfig`; only if none did:"), "{text}");
    let silent = of(None, Some((Side::Target, "no route".to_owned())));
    let text = crate::output::status_text(&silent, SIDES, &[Vec::new()]).message();
    assert!(
        text.contains("does not answer (no route); once it does, it shows whether it imported this"),
        "{text}"
    );
}

#[test]
fn status_explains_a_missing_side() {
    let silent = |side| Some((side, "no route to 10.0.0.1".to_owned()));
    let of = |phase, side, silent| Status { moves: vec![one(phase, side)], silent, ..Status::default() };
    let lost_target = of(Phase::Copied, Side::Source, silent(Side::Target));
    let text = crate::output::status_text(
        &lost_target,
        SIDES,
        &[vec!["pivot-host rollback --without-target".to_owned()]],
    )
    .message();
    assert!(text.contains(
        "the target does not answer (no route to 10.0.0.1); resume when it does; only if it is lost"
    ));
    assert!(text.contains("next     pivot-host rollback --without-target"), "{text}");
    let decided = of(Phase::Committed, Side::Source, silent(Side::Target));
    assert!(
        crate::output::status_text(&decided, SIDES, &[Vec::new()]).message().contains("is the last copy")
    );
    let lost_source = Status { silent: silent(Side::Source), ..Status::default() };
    assert!(
        crate::output::status_text(&lost_source, SIDES, &[])
            .message()
            .contains("a move that is under way is not committed")
    );
    let mut elsewhere = of(Phase::Live, Side::Source, None);
    elsewhere.moves.iter_mut().for_each(|one| one.elsewhere = true);
    assert!(
        crate::output::status_text(&elsewhere, SIDES, &[Vec::new()])
            .message()
            .contains("not the target of the move")
    );
}

#[test]
fn status_of_one_cluster_offers_no_command() {
    let of = |phase, side, missing| MoveStatus { missing: Some(missing), ..one(phase, side) };
    let status = Status {
        moves: vec![
            of(Phase::Live, Side::Source, Side::Target),
            of(Phase::Released, Side::Target, Side::Source),
        ],
        missing: Some(Side::Target),
        ..Status::default()
    };
    check(
        crate::output::status_text(&status, ("prod", "prod"), &[Vec::new(), Vec::new()]),
        &expect![[r#"
            Move: 1234, out of prod (no target given)

              phase    Live or later (resume only; the record in the target decides and was not read)
              state    the target has everything; only it shows how much of the source is deleted by now
              what     namespace ns
              started  2026-08-21T10:00:00Z by jane@laptop
              plugins  metal3 0.3.1
              lease    no run is working on this move
              note     name its target too (--to-kubeconfig, --to-kubeconfig-context) to see the next commands

            Move: 1234, into prod (no source given)

              phase    Released (resume only)
              state    the target runs; part of the source is deleted, the rest of it is paused by this move
              what     namespace ns
              started  2026-08-21T10:00:00Z by jane@laptop
              plugins  metal3 0.3.1
              note     name this cluster with --to-kubeconfig and its source with --kubeconfig to see the next commands
        "#]],
    );
    let document = StatusDocument::new(&status, ("prod", "prod"), &[]);
    let document = serde_json::to_value(document).unwrap();
    assert_eq!((&document["source"], document.get("target")), (&"prod".into(), None));
    let nothing = Status { missing: Some(Side::Source), ..Status::default() };
    check(
        crate::output::status_text(&nothing, ("prod", "prod"), &[]),
        &expect![[r#"
            No move is under way out of prod, and none into it is committed: a move that is not has its record in its source.
        "#]],
    );
    let clusters = vec![capi("Cluster", "edge"), capi("Cluster", "lab")];
    let waiting_copies = vec![WaitingCopies { move_id: "1234".into(), clusters }];
    check(
        crate::output::status_text(&Status { waiting_copies, ..nothing.clone() }, ("prod", "prod"), &[]),
        &expect![[r#"
            prod has paused copies of move 1234, of which it has no record: 2 Clusters: ns/edge, ns/lab. If the move is under way, its source has the record: name that cluster with --kubeconfig, and this one with --to-kubeconfig.
        "#]],
    );
    let unread = Status { unread_copies: Some("not for jane".into()), ..nothing };
    check(
        crate::output::status_text(&unread, ("prod", "prod"), &[]),
        &expect![[r#"
            No move is under way out of prod, and none into it is committed: a move that is not has its record in its source.
            It is not known whether prod has paused copies of such a move: its Clusters could not be listed (not for jane).
        "#]],
    );
    let document = serde_json::to_value(StatusDocument::new(&unread, ("prod", "prod"), &[])).unwrap();
    assert_eq!(document["unreadCopies"], "not for jane");
}

/// After the commit, a rollback is refused. Before that, the copies may be the last.
#[test]
fn note_about_unnamed_files_depends_on_phase() {
    let shown = |phase| {
        let mut restore = MoveStatus { missing: Some(Side::Source), ..one(phase, Side::Target) };
        restore.record.source = Some(Uid("directory-0".into()));
        let status = Status { moves: vec![restore], missing: Some(Side::Source), ..Status::default() };
        crate::output::status_text(&status, ("prod", "prod"), &[Vec::new()]).message()
    };
    for phase in [Phase::Committed, Phase::Live, Phase::Released, Phase::Settled] {
        let text = shown(phase);
        assert!(text.contains("; without them, `resume --without-source`"), "{text}");
        assert!(!text.contains("rollback"), "{text}");
    }
    for phase in [Phase::Copied, Phase::Ready] {
        let text = shown(phase);
        assert!(text.contains("the copies may be the last: keep them, paused"), "{text}");
        assert!(text.contains("Only with another copy of the backup"), "{text}");
    }
    for phase in Phase::ALL {
        let text = shown(phase);
        assert!(!text.contains("the files are as they were"), "nothing read them: {text}");
    }
    let text = shown(Phase::Paused);
    assert!(text.contains("; without them, `rollback --without-source`"), "{text}");
}

/// The engine refuses to resume it.
#[test]
fn orphaned_moves_can_only_be_rolled_back() {
    let orphaned = MoveStatus { orphaned: true, ..one(Phase::Live, Side::Target) };
    let status = Status { moves: vec![orphaned], ..Status::default() };
    let shown = crate::output::status_text(&status, SIDES, &[Vec::new()]).message();
    assert!(shown.contains("Live (roll back only; by the record in the target)"), "{shown}");
    assert!(!shown.contains("resume"), "{shown}");
}

#[test]
fn plan_shows_moves_under_way() {
    check(crate::output::under_way(&[], &[]), &expect![""]);
    let next = || vec!["pivot-host resume".to_owned(), "pivot-host rollback".to_owned()];
    let elsewhere = MoveStatus { elsewhere: true, ..one(Phase::Copied, Side::Source) };
    let out = MoveStatus { missing: Some(Side::Target), ..one(Phase::Committed, Side::Source) };
    let into = MoveStatus { missing: Some(Side::Source), ..one(Phase::Live, Side::Target) };
    check(
        crate::output::under_way(
            &[one(Phase::Copied, Side::Source), elsewhere, out, into],
            &[next(), Vec::new(), Vec::new(), Vec::new()],
        ),
        &expect![[r#"

            Moves under way:
              move 1234, namespace ns, Copied (resume or roll back)
                started  2026-08-21T10:00:00Z by jane@laptop
                next     pivot-host resume
                or       pivot-host rollback
              move 1234, namespace ns, Copied (resume or roll back)
                started  2026-08-21T10:00:00Z by jane@laptop
                note     this is not the target of the move: name the right one
              move 1234 out of this cluster, namespace ns, Committed or later (resume only; the record in the target decides and was not read)
                started  2026-08-21T10:00:00Z by jane@laptop
                note     name its target too (--to-kubeconfig, --to-kubeconfig-context) to see the next commands
              move 1234 into this cluster, namespace ns, Live (resume only)
                started  2026-08-21T10:00:00Z by jane@laptop
                note     name this cluster with --to-kubeconfig and its source with --kubeconfig to see the next commands
        "#]],
    );
}

#[test]
fn sealed_move_can_finish_without_source() {
    let mut sealed = one(Phase::Live, Side::Target);
    for (finish_alone, may, has) in [
        (None, false, false),
        (Some(FinishAlone::Requested), false, false),
        (Some(FinishAlone::Allowed), true, false),
        (Some(FinishAlone::Done), false, true),
    ] {
        sealed.record.finish_alone = finish_alone;
        let status = Status { moves: vec![sealed.clone()], ..Status::default() };
        let text = crate::output::status_text(&status, ("a", "b"), &[vec![]]).message().to_owned();
        assert_eq!(text.contains("an agent may finish it"), may, "{text}");
        assert_eq!(text.contains("an agent finished it"), has, "{text}");
    }
}

#[test]
fn restored_sides_status_names_copies_to_keep() {
    let of = |phase, side, one_sided, next: &[String]| {
        let moves = vec![MoveStatus { one_sided: Some(one_sided), ..one(phase, side) }];
        crate::output::status_text(&Status { moves, ..Status::default() }, SIDES, &[next.to_vec()])
    };
    check(
        of(Phase::Committed, Side::Source, OneSidedMove::LastCopyInSource, &[]),
        &expect![[r#"
            Move: 1234, from kind-boot to prod

              phase    Committed (by the record in the source; the other side has none)
              state    the source may be the last copy: keep it, paused as it is
              what     namespace ns
              started  2026-08-21T10:00:00Z by jane@laptop
              plugins  metal3 0.3.1
              lease    no run is working on this move
              note     the source says that move 1234 is committed, and the target has no record of it, and no complete copy that runs: the target may have been restored from a backup, and the source may be the last copy; keep it, paused as it is. Only if nothing of the move runs in the target, restore that from a backup of after the commit
        "#]],
    );
    let next = ["pivot-host resume --without-source".to_owned()];
    check(
        of(Phase::Live, Side::Target, OneSidedMove::LastCopyInTarget, &next),
        &expect![[r#"
            Move: 1234, from kind-boot to prod

              phase    Live (by the record in the target; the other side has none)
              state    the target's copies may be the last: keep them as they are
              what     namespace ns
              started  2026-08-21T10:00:00Z by jane@laptop
              plugins  metal3 0.3.1
              lease    no run is working on this move
              note     the target says that move 1234 has deleted nothing yet, and its source has neither a record nor any of the objects: the source seems to have been released, and the target restored from a backup of before that, so that its copies are the last; keep them. Only if no other management cluster runs these Clusters, this takes the copies as they are:
              next     pivot-host resume --without-source
        "#]],
    );
    let proof = "the target says that move 1234 is Released".to_owned();
    check(
        of(Phase::Paused, Side::Source, OneSidedMove::TakenOver(proof), &[]),
        &expect![[r#"
            Move: 1234, from kind-boot to prod

              phase    Paused (by the record in the source)
              state    the target has taken over, the source is out of date
              what     namespace ns
              started  2026-08-21T10:00:00Z by jane@laptop
              plugins  metal3 0.3.1
              lease    no run is working on this move
              note     the target says that move 1234 is Released: the target has taken over, and what the source has is out of date; keep its Clusters paused
        "#]],
    );
    let moves = vec![MoveStatus {
        one_sided: Some(OneSidedMove::SourceOutOfDate("the target says that move 1234 is Released".into())),
        ..one(Phase::Copied, Side::Source)
    }];
    let next = ["pivot-host resume --accept world-changed".to_owned()];
    let status = Status { moves, ..Status::default() };
    check(
        crate::output::status_text(&status, SIDES, &[next.to_vec()]),
        &expect![[r#"
            Move: 1234, from kind-boot to prod

              phase    Copied (by the record in the source)
              state    the target has taken over, the source is out of date
              what     namespace ns
              started  2026-08-21T10:00:00Z by jane@laptop
              plugins  metal3 0.3.1
              lease    no run is working on this move
              note     the target says that move 1234 is Released: the target has taken over, and what the source has is out of date; keep its Clusters paused. To delete them from the source, this compares each object with what was copied, and each Cluster with its copy, and refuses if one differs:
              next     pivot-host resume --accept world-changed
        "#]],
    );
    let document = serde_json::to_value(StatusDocument::new(&status, SIDES, &[next.to_vec()])).unwrap();
    schemas::check(&document);
    let shown = &document["moves"][0];
    assert_eq!(shown["state"], "the target has taken over, the source is out of date");
    assert_eq!(shown["verdict"]["code"], "source-out-of-date");
    assert!(shown["verdict"]["message"].as_str().unwrap().contains("move 1234 is Released"), "{shown}");
}
