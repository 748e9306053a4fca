//! The target goes back.

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams};
use pivot_lab::observer::Side;
use pivot_lab::{Crds, Revision, Server};
use pivot_scenarios::host::Host;
use pivot_scenarios::shape;

use super::*;

const LAST_IN_SOURCE: &str = "the source may be the last copy: keep it, paused as it is";
const LAST_IN_TARGET: &str = "the target's copies may be the last: keep them as they are";

const SCENES: [Scene; 12] = [
    Scene {
        namespace: "row-1",
        before: None,
        lost: Some(Step::StopBeforeRelease),
        state: LAST_IN_SOURCE,
        refusal: Some("the source may be the last copy: keep it"),
        then: Some(Step::CopyAgain),
    },
    Scene {
        namespace: "row-1-back",
        before: None,
        lost: Some(Step::StopBeforeRelease),
        state: LAST_IN_SOURCE,
        refusal: Some("the source may be the last copy: keep it"),
        then: Some(Step::KeepSource),
    },
    Scene {
        namespace: "row-2",
        before: Some(Step::Die(COPIED)),
        lost: Some(Step::StopBeforeRelease),
        state: LAST_IN_SOURCE,
        refusal: Some("the source may be the last copy: keep it"),
        then: Some(Step::CopyAgain),
    },
    Scene {
        namespace: "row-2-partly",
        before: Some(Step::Die(PART_COPIED)),
        lost: Some(Step::StopBeforeRelease),
        state: LAST_IN_SOURCE,
        refusal: Some("the source may be the last copy: keep it"),
        then: Some(Step::KeepSource),
    },
    Scene {
        namespace: "row-4-paused",
        before: Some(Step::Die(COMMITTED)),
        lost: Some(Step::End),
        state: LAST_IN_TARGET,
        refusal: Some("its copies are the last"),
        then: Some(Step::EndWithoutSource),
    },
    Scene {
        namespace: "row-4-running",
        before: Some(Step::StopBeforeRelease),
        lost: Some(Step::End),
        state: LAST_IN_TARGET,
        refusal: Some("its copies are the last"),
        then: Some(Step::EndWithoutSource),
    },
    Scene {
        namespace: "row-4-midway",
        before: Some(Step::Die(COMMITTED)),
        lost: Some(Step::Die(PART_DELETED)),
        state: NOTHING_DELETED,
        refusal: None,
        then: Some(Step::End),
    },
    Scene {
        namespace: "row-4a",
        before: Some(Step::Die(HALF_COMMITTED)),
        lost: Some(Step::RollBack),
        state: "the source is authoritative and was unpaused; the target may hold copies, paused",
        refusal: None,
        then: Some(Step::RollBack),
    },
    Scene {
        namespace: "row-5",
        before: Some(Step::Die(HALF_COMMITTED)),
        lost: None,
        state: HALF_COPIED,
        refusal: None,
        then: Some(Step::End),
    },
    Scene {
        namespace: "row-7",
        before: Some(Step::Die(PART_COPIED)),
        lost: Some(Step::Die(PART_DELETED)),
        state: LAST_IN_SOURCE,
        refusal: Some("the source may be the last copy: keep it"),
        then: Some(Step::AcceptInVain),
    },
    Scene {
        namespace: "row-7-listed",
        before: Some(Step::Die(COMMITTED)),
        lost: None,
        state: NOTHING_DELETED,
        refusal: None,
        then: None,
    },
    Scene {
        namespace: "row-8",
        before: None,
        lost: Some(Step::StopBeforeRelease),
        state: LAST_IN_SOURCE,
        refusal: Some("the source may be the last copy: keep it"),
        then: None,
    },
];

// proves: I14, T160, T161, T163, T164, T165, T167, T168
#[tokio::test(flavor = "multi_thread")]
async fn restored_target_costs_no_last_copy() {
    for revision in revisions(Revision::Behind) {
        // Row 8: a cluster in the target's place that has never heard of it.
        let crds = Crds::parse(&shape::crds().unwrap()).unwrap();
        let (moves, replaced) =
            tokio::join!(play(&SCENES, Side::Target, revision), Server::start_with("replaced", &crds));
        ensure_missing_objects_are_named(&moves).await;
        ensure_replaced_target_is_left_alone(&moves, &replaced.unwrap()).await;
        moves.advice.ensure_recorded("target", &SCENES);
    }
}

/// As long as nothing was deleted from the source, what is on neither side is lost.
async fn ensure_missing_objects_are_named(moves: &Moves<'_>) {
    let stage = &moves.stage;
    for server in [&stage.pair.source, &stage.pair.target] {
        let secrets: Api<Secret> = Api::namespaced(server.client(), "row-7-listed");
        secrets.delete("c-proxy", &DeleteParams::default()).await.unwrap();
    }
    let id = &find_moves(&stage.host).await["row-7-listed"];
    let ended = stage.host.run(&["resume", id, "--break-lease"]).await.unwrap().ends_with(0).unwrap();
    let lost =
        "copied objects are on neither side, although nothing was deleted yet: Secret row-7-listed/c-proxy";
    assert!(ended.stderr.contains(lost), "{}", ended.stderr);
    moves.advice.add("row-7-listed", &ended);
}

async fn ensure_replaced_target_is_left_alone(moves: &Moves<'_>, replaced: &Server) {
    let source = &moves.stage.pair.source;
    let host = &Host::between(source.kubeconfig(), replaced.kubeconfig());
    let servers = [source, replaced];
    let mut marks = Vec::new();
    for server in servers {
        marks.push(server.audit_mark().await.unwrap());
    }
    let status = host.run_as_text(&["status"]).await.unwrap().ends_with(0).unwrap().stdout;
    say(format_args!("{status}"));
    let id = &find_moves(host).await["row-8"];
    moves.advice.add_status("row-8", id, &status);
    for words in [
        [&moving("row-8")[..], &["--break-lease"]].concat(),
        vec!["resume", id, "--break-lease"],
        vec!["rollback", id, "--break-lease"],
    ] {
        let ended = host.run(&words).await.unwrap();
        ensure_refusal("row-8", &ended, "the source may be the last copy: keep it");
        moves.advice.add("row-8", &ended);
    }
    for (server, mark) in servers.into_iter().zip(marks) {
        ensure_no_writes(server, mark).await;
    }
}
