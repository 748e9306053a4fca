//! Each way in which a hook can misbehave, in a move.

use std::collections::BTreeMap;
use std::future::ready;
use std::time::Instant;

use futures::{StreamExt, stream};
use pivot_lab::{Dump, say};
use pivot_scenarios::host::{Ended, Host};
use pivot_scenarios::sampling::sample;

use crate::stage::{Stage, as_before, cluster, decent, host, says};

/// Cases that run at the same time: they mostly wait for time-outs, and compile components in between.
const AT_ONCE: usize = 4;

const UNTOUCHED: &str = "state: nothing is changed on either side";
const PUT_BACK: &str = "unpaused again";

/// A plugin's way to misbehave, and the expected result.
struct Case {
    /// `hook/mode`: for the host `h`, or for the object in the prefix (`cluster:`, `secret:`, `check:`).
    way: &'static str,
    failure: Failure,
    exit: i32,
    says: &'static [&'static str],
}

/// Classes of misbehaviour. The program treats all members of a class in the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Failure {
    /// The call traps, or exceeds a limit.
    Broken,
    /// The contract or the grants forbid the answer.
    WrongAnswer,
    /// A server rejects the object that the answer makes.
    Rejected,
    /// A finding stops the move, or makes it wait.
    Refusal,
    /// The plugin gets nothing, and the move continues.
    Harmless,
}

/// The state in which a stopped run leaves both sides.
#[derive(Clone, Copy, Debug)]
enum Left {
    Untouched,
    PutBack,
    PartWay,
    PastCommit,
    Moved,
}

const fn breaks(way: &'static str, exit: i32, says: &'static [&'static str]) -> Case {
    Case { way, failure: Failure::Broken, exit, says }
}

const fn answers_wrongly(way: &'static str, exit: i32, says: &'static [&'static str]) -> Case {
    Case { way, failure: Failure::WrongAnswer, exit, says }
}

const fn is_rejected(way: &'static str, exit: i32, says: &'static [&'static str]) -> Case {
    Case { way, failure: Failure::Rejected, exit, says }
}

const fn refuses(way: &'static str, exit: i32, says: &'static [&'static str]) -> Case {
    Case { way, failure: Failure::Refusal, exit, says }
}

const fn is_harmless(way: &'static str, says: &'static [&'static str]) -> Case {
    Case { way, failure: Failure::Harmless, exit: 0, says }
}

/// Nothing is paused yet.
const BEFORE: &[Case] = &[
    breaks("relate/trap", 3, &["hostile failed in relate for Host", "/h:", "panicked or aborted"]),
    breaks("relate/loop", 3, &["hostile failed in relate for Host", "longer than 2s"]),
    breaks("relate/bomb", 3, &["hostile failed in relate for Host", "its limit is 16777216"]),
    breaks("relate/deep", 3, &["hostile failed in relate for Host", "trapped"]),
    breaks("relate/echo", 3, &["hostile failed in relate for Host", "output-too-large"]),
    breaks("relate/too-many", 3, &["hostile failed in relate for Host", "1001 parts"]),
    answers_wrongly("relate/no-name", 3, &["hostile failed in relate for Host", "can't be an object's name"]),
    answers_wrongly(
        "relate/need-absurd",
        3,
        &["Secret kube-system/nowhere is outside of what moves", "to move it too, grant reach = ["],
    ),
    answers_wrongly(
        "relate/need-elsewhere",
        3,
        &["Secret elsewhere/theirs is outside of what moves", "to move it too, grant reach = ["],
    ),
    breaks("hold/trap", 3, &["hostile failed in hold for Host"]),
    breaks("hold/bomb", 3, &["hostile failed in hold for Host", "out-of-memory"]),
    breaks("hold/output", 3, &["hostile failed in hold for Host", "output-too-large"]),
    breaks("hold/flood", 3, &["hostile failed in hold for Host"]),
    answers_wrongly("hold/array", 3, &["hostile failed in hold for Host", "not a JSON object"]),
    answers_wrongly("hold/spec", 3, &["hostile failed in hold for Host", "/spec/note"]),
    answers_wrongly("hold/owners", 3, &["hostile failed in hold for Host", "/metadata/ownerReferences"]),
    answers_wrongly("hold/finalizers", 3, &["hostile failed in hold for Host", "/metadata/finalizers"]),
    answers_wrongly("hold/mark", 3, &["hostile failed in hold for Host", "pivot-host.io~1move"]),
    answers_wrongly("hold/mark-map", 3, &["hostile failed in hold for Host", "pivot-host.io~1undo"]),
    answers_wrongly(
        "hold/memory",
        3,
        &["hostile failed in hold for Host", "metal3-hosts.pivot-host.io~1state"],
    ),
    answers_wrongly("hold/unpause", 3, &["hostile failed in hold for Host", "cluster.x-k8s.io~1paused"]),
    answers_wrongly("hold/wrong-type", 3, &["hostile failed in hold for Host", "test.io~1a"]),
    breaks("adapt/trap", 3, &["hostile failed in adapt for Host"]),
    breaks("adapt/deep", 3, &["hostile failed in adapt for Host", "trap"]),
    breaks("adapt/shout", 3, &["hostile failed in adapt for Host", "too-many-host-calls"]),
    answers_wrongly("adapt/null", 3, &["hostile failed in adapt for Host", "not a JSON object"]),
    answers_wrongly("adapt/broken", 3, &["hostile failed in adapt for Host", "not JSON (line 1, column 13)"]),
    answers_wrongly("adapt/identity", 3, &["hostile failed in adapt for Host", "/metadata/name"]),
    answers_wrongly("adapt/kind", 3, &["hostile failed in adapt for Host", "/kind"]),
    answers_wrongly("adapt/uid", 3, &["hostile failed in adapt for Host", "/metadata/uid"]),
    answers_wrongly("adapt/version", 3, &["hostile failed in adapt for Host", "/metadata/resourceVersion"]),
    answers_wrongly("adapt/owners", 3, &["hostile failed in adapt for Host", "/metadata/ownerReferences"]),
    answers_wrongly("adapt/finalizers", 3, &["hostile failed in adapt for Host", "/metadata/finalizers"]),
    answers_wrongly(
        "adapt/deletion",
        3,
        &["hostile failed in adapt for Host", "/metadata/deletionTimestamp"],
    ),
    answers_wrongly("adapt/status", 3, &["hostile failed in adapt for Host", "/status/state"]),
    answers_wrongly("adapt/mark", 3, &["hostile failed in adapt for Host", "pivot-host.io~1move"]),
    answers_wrongly("adapt/unpause", 3, &["hostile failed in adapt for Host", "cluster.x-k8s.io~1paused"]),
    is_rejected("adapt/wrong-spec", 3, &["Host", "/h", "spec.note", "plugin hostile"]),
    answers_wrongly("cluster:adapt/resume", 3, &["hostile failed in adapt for Cluster", "/spec/paused"]),
    breaks("check:before-pause/trap", 3, &["plugin hostile failed in check"]),
    breaks("check:before-pause/loop", 3, &["plugin hostile failed in check", "longer than 2s"]),
    refuses("check:before-pause/stop", 3, &["hostile: no more of this (no-more)"]),
    refuses("check:before-pause/wait", 8, &["hostile: it never comes"]),
    refuses("check:before-pause/huge", 8, &["hostile: ", "and 280 more"]),
];

/// The source is paused already.
const PAUSED: &[Case] = &[
    is_rejected("hold/wrong-label", 3, &["pausing", "Host", "/h", "plugin hostile"]),
    breaks("check:after-pause/trap", 3, &["plugin hostile failed in check"]),
    refuses("check:after-pause/stop", 3, &["hostile: no more of this (no-more)"]),
    refuses("check:after-pause/wait", 8, &["hostile: it never comes"]),
];

/// The target has a partial copy.
const PART_WAY: &[Case] = &[
    breaks("adapt/late-trap", 4, &["hostile failed in adapt for Host"]),
    breaks("restore/trap", 4, &["hostile failed in restore for Host"]),
    breaks("restore/loop", 4, &["hostile failed in restore for Host", "longer than 2s"]),
    answers_wrongly("restore/statuses", 4, &["hostile failed in restore for Host", "/statuses/state"]),
    answers_wrongly("restore/spec", 4, &["hostile failed in restore for Host", "/spec/note"]),
    answers_wrongly(
        "restore/owners",
        4,
        &["hostile failed in restore for Host", "/metadata/ownerReferences"],
    ),
    is_rejected("restore/wrong-status", 4, &["restoring the status", "Host", "/h", "plugin hostile"]),
    breaks("check:before-commit/trap", 4, &["plugin hostile failed in check"]),
    refuses("check:before-commit/wait", 4, &["hostile: it never comes"]),
];

/// There is no way back, but a fixed plugin can finish the move.
const PAST_COMMIT: &[Case] = &[
    breaks("settle/trap", 5, &["hostile failed in settle for Host"]),
    breaks("settle/loop", 5, &["hostile failed in settle for Host", "longer than 2s"]),
    breaks("settle/again", 5, &["hostile failed in settle for Host", "returning the same patch"]),
    breaks("settle/count", 5, &["hostile failed in settle for Host", "too many patches"]),
    answers_wrongly("settle/owners", 5, &["hostile failed in settle for Host", "/metadata/ownerReferences"]),
    answers_wrongly("settle/spec", 5, &["hostile failed in settle for Host", "/spec/note"]),
    answers_wrongly(
        "settle/memory",
        5,
        &["hostile failed in settle for Host", "metal3-hosts.pivot-host.io~1state"],
    ),
    is_rejected("settle/wrong-label", 5, &["settling", "Host", "/h", "plugin hostile"]),
    refuses("settle/wait", 5, &["Host", "/h", "hostile: it never comes"]),
    refuses("settle/stop", 5, &["Host", "/h", "hostile: no more of this"]),
    breaks("check:after-resume/trap", 5, &["plugin hostile failed in check"]),
    refuses("check:after-resume/wait", 5, &["hostile: it never comes"]),
];

/// The question is denied or absurd, and the move continues.
const HARMLESS: &[Case] = &[
    is_harmless("check:before-pause/read", &["reading Secret of the target in namespace * was not declared"]),
    is_harmless("check:before-pause/probe", &["probing 169.254.169.254:80 was not declared"]),
    is_harmless("check:before-pause/escape", &["hostile: [2Jgone next line"]),
    is_harmless("relate/link-absurd", &[]),
    is_harmless("relate/link-itself", &[]),
    is_harmless("secret:relate/blab", &[]),
];

/// All cases, with what they leave behind.
fn all_cases() -> impl Iterator<Item = (&'static Case, Left)> {
    let tables = [
        (BEFORE, Left::Untouched),
        (PAUSED, Left::PutBack),
        (PART_WAY, Left::PartWay),
        (PAST_COMMIT, Left::PastCommit),
        (HARMLESS, Left::Moved),
    ];
    tables.into_iter().flat_map(|(table, left)| table.iter().map(move |case| (case, left)))
}

/// One case of each hook, class of failure and exit code; all of them in the nightly run.
fn sampled_cases() -> Vec<(&'static Case, Left)> {
    let mut cells = BTreeMap::<_, Vec<_>>::new();
    for (case, left) in all_cases() {
        cells.entry((case.hook(), case.failure, case.exit)).or_default().push((case, left));
    }
    let sampled = |((hook, failure, exit), cases)| {
        sample(&format!("of {hook}, {failure:?}, exit {exit}"), cases, 1).unwrap()
    };
    cells.into_iter().flat_map(sampled).collect()
}

impl Case {
    /// The hook that misbehaves, with the point of a check.
    fn hook(&self) -> &'static str {
        let (hook, _) = self.way.rsplit_once('/').unwrap();
        hook.trim_start_matches("cluster:").trim_start_matches("secret:")
    }
}

/// A running case.
struct Trial<'a> {
    stage: &'a Stage,
    case: &'a Case,
    namespace: String,
    host: Host,
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
        let words = ["move", "-n", &self.namespace, "--check-timeout", "2s"];
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
        self.stage.has_no_copy(&self.namespace).await
    }

    /// A run that stops midway, and its rollback.
    async fn taken_back(&self) -> Result<(), String> {
        let before = self.stage.picture(&self.namespace).await;
        let ended = self.run().await?;
        says(&ended, &["next:", "pivot-host resume", "pivot-host rollback"])?;
        let id = move_to_continue(&ended)?;
        let back = self.stage.plain().run(&["rollback", &id]).await;
        let back = back.map_err(|error| error.to_string())?;
        decent(&back)?;
        back.done().map_err(|error| error.to_string())?;
        as_before(&before, &self.stage.picture(&self.namespace).await, false)?;
        pivot_scenarios::state::until_gone(&self.stage.pair.target, &self.namespace)
            .await
            .map_err(|error| error.to_string())
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
        let id = move_to_continue(&ended)?;
        let resume = ["resume", &id];
        let refused = host.run(&resume).await.map_err(|error| error.to_string())?;
        decent(&refused)?;
        says(&refused, &["--accept", "plugins-changed"])?;
        refused.ends_with(6).map_err(|error| error.to_string())?;
        let resumed = host.run(&[&resume[..], &["--accept", "plugins-changed"]].concat()).await;
        let resumed = resumed.map_err(|error| error.to_string())?;
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
}

/// The move that the commands under `next` name.
fn move_to_continue(ended: &Ended) -> Result<String, String> {
    let document = ended.document().map_err(|error| error.to_string())?;
    let lines = document["next"].as_array().into_iter().flatten().filter_map(|line| line.as_str());
    let is_id = |word: &&str| word.len() == 36 && word.matches('-').count() == 4;
    let mut ids = lines.filter_map(|line| line.split(' ').find(is_id));
    ids.next().map(str::to_owned).ok_or_else(|| format!("no command names the move: {document}"))
}

/// Tries one case, and returns the report if anything is not as expected.
async fn try_case(stage: &Stage, case: &Case, left: Left) -> Option<String> {
    let trial = Trial::new(stage, case).await;
    let result = match left {
        Left::Untouched => trial.without_a_trace(UNTOUCHED).await,
        Left::PutBack => trial.without_a_trace(PUT_BACK).await,
        Left::PartWay => trial.taken_back().await,
        Left::PastCommit => trial.finished().await,
        Left::Moved => trial.run().await.map(drop),
    };
    result.err().map(|why| format!("## {}: {why}", case.way))
}

// proves: T8
#[tokio::test(flavor = "multi_thread")]
async fn hostile_hooks_stop_a_move_and_nothing_else() {
    let stage = Stage::start().await;
    let trials = stream::iter(sampled_cases()).map(|(case, left)| try_case(&stage, case, left));
    let wrong: Vec<String> = trials.buffer_unordered(AT_ONCE).filter_map(ready).collect().await;
    assert!(wrong.is_empty(), "{} cases:\n\n{}", wrong.len(), wrong.join("\n\n"));
    stage.has_no_records().await.unwrap();
}
