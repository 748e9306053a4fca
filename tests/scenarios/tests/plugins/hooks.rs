//! Each way in which a hook can misbehave, in a move.

use std::time::Instant;

use pivot_lab::{Dump, say};
use pivot_scenarios::host::Ended;

use crate::stage::{Stage, as_before, cluster, decent, host, says};

const UNTOUCHED: &str = "state: nothing is changed on either side";
const PUT_BACK: &str = "un-paused again";

/// A plugin's way to misbehave, and the expected result.
struct Case {
    /// `hook/mode`: for the host `h`, or for the object in the prefix (`cluster:`, `secret:`, `check:`).
    way: &'static str,
    exit: i32,
    says: &'static [&'static str],
}

const fn case(way: &'static str, exit: i32, says: &'static [&'static str]) -> Case {
    Case { way, exit, says }
}

/// Nothing is paused yet.
const BEFORE: &[Case] = &[
    case("relate/trap", 3, &["hostile failed in relate for Host", "/h:", "panicked or aborted"]),
    case("relate/loop", 3, &["hostile failed in relate for Host", "longer than 2s"]),
    case("relate/bomb", 3, &["hostile failed in relate for Host", "and may have 16777216"]),
    case("relate/deep", 3, &["hostile failed in relate for Host", "trapped"]),
    case("relate/echo", 3, &["hostile failed in relate for Host", "output-too-large"]),
    case("relate/too-many", 3, &["hostile failed in relate for Host", "1001 parts"]),
    case("relate/no-name", 3, &["hostile failed in relate for Host", "can't be an object's name"]),
    case(
        "relate/need-absurd",
        3,
        &["Secret kube-system/nowhere is outside of what moves", "grant that: reach = ["],
    ),
    case(
        "relate/need-elsewhere",
        3,
        &["Secret elsewhere/theirs is outside of what moves", "grant that: reach = ["],
    ),
    case("hold/trap", 3, &["hostile failed in hold for Host"]),
    case("hold/bomb", 3, &["hostile failed in hold for Host", "out-of-memory"]),
    case("hold/output", 3, &["hostile failed in hold for Host", "output-too-large"]),
    case("hold/flood", 3, &["hostile failed in hold for Host"]),
    case("hold/array", 3, &["hostile failed in hold for Host", "not a JSON object"]),
    case("hold/spec", 3, &["hostile failed in hold for Host", "/spec/note"]),
    case("hold/owners", 3, &["hostile failed in hold for Host", "/metadata/ownerReferences"]),
    case("hold/finalizers", 3, &["hostile failed in hold for Host", "/metadata/finalizers"]),
    case("hold/mark", 3, &["hostile failed in hold for Host", "pivot-host.io~1move"]),
    case("hold/mark-map", 3, &["hostile failed in hold for Host", "pivot-host.io~1undo"]),
    case("hold/memory", 3, &["hostile failed in hold for Host", "metal3-hosts.pivot-host.io~1state"]),
    case("hold/unpause", 3, &["hostile failed in hold for Host", "cluster.x-k8s.io~1paused"]),
    case("hold/wrong-type", 3, &["hostile failed in hold for Host", "test.io~1a"]),
    case("adapt/trap", 3, &["hostile failed in adapt for Host"]),
    case("adapt/deep", 3, &["hostile failed in adapt for Host", "trap"]),
    case("adapt/shout", 3, &["hostile failed in adapt for Host", "too-many-host-calls"]),
    case("adapt/null", 3, &["hostile failed in adapt for Host", "not a JSON object"]),
    case("adapt/broken", 3, &["hostile failed in adapt for Host", "not JSON (line 1, column 13)"]),
    case("adapt/identity", 3, &["hostile failed in adapt for Host", "/metadata/name"]),
    case("adapt/kind", 3, &["hostile failed in adapt for Host", "/kind"]),
    case("adapt/uid", 3, &["hostile failed in adapt for Host", "/metadata/uid"]),
    case("adapt/version", 3, &["hostile failed in adapt for Host", "/metadata/resourceVersion"]),
    case("adapt/owners", 3, &["hostile failed in adapt for Host", "/metadata/ownerReferences"]),
    case("adapt/finalizers", 3, &["hostile failed in adapt for Host", "/metadata/finalizers"]),
    case("adapt/deletion", 3, &["hostile failed in adapt for Host", "/metadata/deletionTimestamp"]),
    case("adapt/status", 3, &["hostile failed in adapt for Host", "/status/state"]),
    case("adapt/mark", 3, &["hostile failed in adapt for Host", "pivot-host.io~1move"]),
    case("adapt/unpause", 3, &["hostile failed in adapt for Host", "cluster.x-k8s.io~1paused"]),
    case("adapt/wrong-spec", 3, &["Host", "/h", "spec.note", "plugin hostile"]),
    case("cluster:adapt/resume", 3, &["hostile failed in adapt for Cluster", "/spec/paused"]),
    case("check:before-pause/trap", 3, &["plugin hostile failed in check"]),
    case("check:before-pause/loop", 3, &["plugin hostile failed in check", "longer than 2s"]),
    case("check:before-pause/stop", 3, &["hostile: no more of this (no-more)"]),
    case("check:before-pause/wait", 8, &["hostile: it never comes"]),
    case("check:before-pause/huge", 8, &["hostile: ", "and 280 more"]),
];

/// The source is paused already.
const PAUSED: &[Case] = &[
    case("hold/wrong-label", 3, &["pausing", "Host", "/h", "plugin hostile"]),
    case("check:after-pause/trap", 3, &["plugin hostile failed in check"]),
    case("check:after-pause/stop", 3, &["hostile: no more of this (no-more)"]),
    case("check:after-pause/wait", 8, &["hostile: it never comes"]),
];

/// The target has a partial copy.
const PART_WAY: &[Case] = &[
    case("adapt/late-trap", 4, &["hostile failed in adapt for Host"]),
    case("restore/trap", 4, &["hostile failed in restore for Host"]),
    case("restore/loop", 4, &["hostile failed in restore for Host", "longer than 2s"]),
    case("restore/statuses", 4, &["hostile failed in restore for Host", "/statuses/state"]),
    case("restore/spec", 4, &["hostile failed in restore for Host", "/spec/note"]),
    case("restore/owners", 4, &["hostile failed in restore for Host", "/metadata/ownerReferences"]),
    case("restore/wrong-status", 4, &["restoring the status", "Host", "/h", "plugin hostile"]),
    case("check:before-commit/trap", 4, &["plugin hostile failed in check"]),
    case("check:before-commit/wait", 4, &["hostile: it never comes"]),
];

/// There is no way back, but a fixed plugin can finish the move.
const PAST_COMMIT: &[Case] = &[
    case("settle/trap", 5, &["hostile failed in settle for Host"]),
    case("settle/loop", 5, &["hostile failed in settle for Host", "longer than 2s"]),
    case("settle/again", 5, &["hostile failed in settle for Host", "returning the same patch"]),
    case("settle/count", 5, &["hostile failed in settle for Host", "too many patches"]),
    case("settle/owners", 5, &["hostile failed in settle for Host", "/metadata/ownerReferences"]),
    case("settle/spec", 5, &["hostile failed in settle for Host", "/spec/note"]),
    case("settle/memory", 5, &["hostile failed in settle for Host", "metal3-hosts.pivot-host.io~1state"]),
    case("settle/wrong-label", 5, &["settling", "Host", "/h", "plugin hostile"]),
    case("settle/wait", 5, &["Host", "/h", "hostile: it never comes"]),
    case("settle/stop", 5, &["Host", "/h", "hostile: no more of this"]),
    case("check:after-resume/trap", 5, &["plugin hostile failed in check"]),
    case("check:after-resume/wait", 5, &["hostile: it never comes"]),
];

/// The question is denied or absurd, and the move continues.
const HARMLESS: &[Case] = &[
    case(
        "check:before-pause/read",
        0,
        &["reading Secret of the target in namespace * was not declared and granted"],
    ),
    case("check:before-pause/probe", 0, &["probing 169.254.169.254:80 was not declared and granted"]),
    case("check:before-pause/escape", 0, &["hostile: [2Jgone next line"]),
    case("relate/link-absurd", 0, &[]),
    case("relate/link-itself", 0, &[]),
    case("secret:relate/blab", 0, &[]),
];

/// A running case.
struct Trial<'a> {
    stage: &'a Stage,
    case: &'a Case,
    namespace: String,
    host: pivot_scenarios::host::Host,
}

impl<'a> Trial<'a> {
    async fn new(stage: &'a Stage, case: &'a Case) -> Self {
        let namespace = case.way.replace([':', '/'], "-");
        let check = case.way.strip_prefix("check:").unwrap_or("never/");
        let plugins = stage.hostile(&namespace, check).await;
        let mode = if case.way.contains(':') { "" } else { case.way };
        let of = |what| case.way.strip_prefix(what).unwrap_or_default();
        let mut objects = cluster(&namespace, of("cluster:"), of("secret:"));
        objects.extend([host(&namespace, "h", mode), host(&namespace, "other", "")]);
        stage.fill(objects).await;
        Self { stage, case, host: stage.between(&plugins), namespace }
    }

    async fn run(&self) -> Result<Ended, String> {
        let begun = Instant::now();
        let words = ["move", "-n", &self.namespace, "--gate-timeout", "2s"];
        // Lists each released object.
        let more: &[&str] = if self.case.way.starts_with("settle/") { &["-v"] } else { &[] };
        let words = [&words[..], more].concat();
        let ended = self.host.run(&words).await.map_err(|error| error.to_string())?;
        say(format_args!(
            "{:28} exit {:?} in {:.1}s",
            self.case.way,
            ended.code,
            begun.elapsed().as_secs_f64()
        ));
        self.judge(&ended).map_err(|why| format!("{why}; exit {:?}:\n{}", ended.code, ended.stderr))?;
        Ok(ended)
    }

    fn judge(&self, ended: &Ended) -> Result<(), String> {
        decent(ended)?;
        says(ended, self.case.says)?;
        if ended.code == Some(self.case.exit) { Ok(()) } else { Err(format!("not exit {}", self.case.exit)) }
    }

    /// A run that leaves nothing behind.
    async fn without_a_trace(&self, state: &str) -> Result<(), String> {
        let before = self.stage.picture(&self.namespace).await;
        let ended = self.run().await?;
        says(&ended, &[state])?;
        let after = self.stage.picture(&self.namespace).await;
        as_before(&before, &after, state == UNTOUCHED)?;
        self.stage.no_traces(&self.namespace).await
    }

    /// A run that stops midway, and its rollback.
    async fn taken_back(&self) -> Result<(), String> {
        let before = self.stage.picture(&self.namespace).await;
        let ended = self.run().await?;
        says(&ended, &["next:", "pivot-host resume", "pivot-host rollback"])?;
        let back = self.stage.plain().run(&["rollback"]).await.map_err(|error| error.to_string())?;
        decent(&back)?;
        back.done().map_err(|error| error.to_string())?;
        as_before(&before, &self.stage.picture(&self.namespace).await, false)?;
        pivot_scenarios::state::until_gone(&self.stage.pair.target, &self.namespace)
            .await
            .map_err(|error| error.to_string())?;
        self.stage.no_traces(&self.namespace).await
    }

    /// A run that stops past the commit, and a fixed plugin that finishes it.
    async fn finished(&self) -> Result<(), String> {
        let before = self.stage.picture(&self.namespace).await;
        let ended = self.run().await?;
        says(&ended, &["next:", "pivot-host resume"])?;
        if self.case.way.starts_with("settle/") {
            // The other one is released anyway, unless the plugin returns stop.
            let other = format!("Host {}/other", self.namespace);
            let told = if self.case.way == "settle/stop" {
                format!("{other}: still held")
            } else {
                format!("unpaused {other}")
            };
            says(&ended, &[&told])?;
        }
        if self.case.way.starts_with("settle/") && !self.is_held(&self.stage.picture(&self.namespace).await) {
            return Err("it is not held any more".into());
        }
        let fixed = self.stage.fixed(&format!("{}-fixed", self.namespace)).await;
        let host = self.stage.between(&fixed);
        let refused = host.run(&["resume"]).await.map_err(|error| error.to_string())?;
        decent(&refused)?;
        says(&refused, &["--accept-plugin-change"])?;
        refused.ends_with(6).map_err(|error| error.to_string())?;
        let resumed =
            host.run(&["resume", "--accept-plugin-change"]).await.map_err(|error| error.to_string())?;
        decent(&resumed)?;
        resumed.done().map_err(|error| error.to_string())?;
        let after = self.stage.picture(&self.namespace).await;
        if self.is_held(&after) {
            return Err("it is still held".into());
        }
        let [source, target] = after;
        if !source.is_empty() {
            return Err(format!("left in the source: {:?}", source.keys().collect::<Vec<_>>()));
        }
        let [before, _] = before;
        if target.len() == before.len() { Ok(()) } else { Err("not everything is in the target".into()) }
    }

    /// Whether the host in the target still has its hold and its other changes.
    fn is_held(&self, [_, target]: &[Dump; 2]) -> bool {
        let host = target.iter().find(|(key, _)| key.kind == "Host.test.io" && key.name == "h");
        host.is_some_and(|(_, host)| {
            let annotations = &host["metadata"]["annotations"];
            annotations.get("test.io/held").is_some() && annotations.get("cluster.x-k8s.io/paused").is_some()
        })
    }

    async fn harmless(&self) -> Result<(), String> {
        self.run().await.map(drop)
    }
}

#[track_caller]
fn all_well(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} cases:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

fn told(case: &Case, result: Result<(), String>) -> Option<String> {
    result.err().map(|why| format!("## {}: {why}", case.way))
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_hooks_stop_a_move_and_nothing_else() {
    let stage = Stage::start().await;
    let mut wrong = Vec::new();
    for case in BEFORE {
        wrong.extend(told(case, Trial::new(&stage, case).await.without_a_trace(UNTOUCHED).await));
    }
    for case in PAUSED {
        wrong.extend(told(case, Trial::new(&stage, case).await.without_a_trace(PUT_BACK).await));
    }
    for case in PART_WAY {
        wrong.extend(told(case, Trial::new(&stage, case).await.taken_back().await));
    }
    for case in PAST_COMMIT {
        wrong.extend(told(case, Trial::new(&stage, case).await.finished().await));
    }
    for case in HARMLESS {
        wrong.extend(told(case, Trial::new(&stage, case).await.harmless().await));
    }
    all_well(&wrong);
}
