//! Converts plugins' answers into the program's own values.
//!
//! The engine checks the bounds of patches; this checks the form of an answer: a patch is an object, a name is a name, a sentence
//! is one line.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::messages::shell::Kubectl;
use pivot_core::objects::merge;
use pivot_core::objects::merge::restoration::{NotStatus, copy_field};
use pivot_core::plugins::hooks::{Finding, Relation, Settlement, Severity};
use pivot_core::{GroupKind, Key, Object};
use serde_json::Value;

use crate::context::RunContext;
use crate::contract::exports::pivot::provider::{check, relate, restore, settle};
use crate::contract::pivot::provider::types;
use crate::describe::side_from;
use crate::text::{self, Codes};

/// The longest sentence for people, in characters.
const SENTENCE: usize = 1_000;
/// The most findings and relations in one answer.
const MANY: usize = 1_000;

/// Reads the answers of one call.
pub(crate) struct Reader<'a> {
    /// The codes a plugin that sees the data of Secrets may use; its words are withheld. None: its words are printed.
    pub(crate) codes: Option<&'a Codes>,
    /// The keys of the objects it was given; the only ones it may name if its words are withheld.
    pub(crate) given: &'a [Key],
    /// Completes kubectl commands.
    pub(crate) run: &'a RunContext,
}

impl Reader<'_> {
    pub(crate) fn read_relations(&self, said: Vec<relate::Relation>) -> Result<Vec<Relation>, String> {
        check_count(said.len())?;
        said.into_iter().map(|relation| self.read_relation(relation)).collect()
    }

    fn read_relation(&self, said: relate::Relation) -> Result<Relation, String> {
        let named = |said| {
            if self.codes.is_some() {
                return Err("it sees the data of Secrets, so it must not name other objects".to_owned());
            }
            parse_key(said)
        };
        Ok(match said {
            relate::Relation::Link(said) => Relation::Link(named(said)?),
            relate::Relation::Need(said) => Relation::Need(named(said)?),
            relate::Relation::Share(said) => Relation::Share(named(said)?),
            relate::Relation::Leave(reason) => Relation::Leave(self.printable_words(&reason)),
            relate::Relation::Keep(reason) => Relation::Keep(self.printable_words(&reason)),
        })
    }

    pub(crate) fn read_findings(&self, said: Vec<check::Finding>) -> Result<Vec<Finding>, String> {
        let problems = said.into_iter().map(|finding| match finding.severity {
            check::Severity::Note => (Severity::Note, finding.problem),
            check::Severity::Warn => (Severity::Warn, finding.problem),
            check::Severity::Wait => (Severity::Wait, finding.problem),
            check::Severity::Stop => (Severity::Stop, finding.problem),
        });
        self.read_problems(problems.collect())
    }

    fn read_problems(&self, said: Vec<(Severity, types::Problem)>) -> Result<Vec<Finding>, String> {
        check_count(said.iter().map(|(_, problem)| problem.objects.len().max(1)).sum())?;
        if let Some(codes) = self.codes {
            return self.count_findings(said, codes);
        }
        let each = said.into_iter().map(|(severity, problem)| self.findings_per_object(severity, problem));
        let found: Vec<_> = each.collect::<Result<_, String>>()?;
        Ok(found.into_iter().flatten().collect())
    }

    /// One finding per object; the output groups those that say the same.
    fn findings_per_object(&self, severity: Severity, said: types::Problem) -> Result<Vec<Finding>, String> {
        let types::Problem { code, message, objects, remedy, command, extra: _ } = said;
        let mut remedy = text::to_line(&remedy, SENTENCE);
        if let Some(command) = command {
            self.add_command(&mut remedy, command)?;
        }
        let finding = Finding {
            severity,
            code: text::permitted_code(&code, None),
            message: text::to_line(&message, SENTENCE),
            object: None,
            remedy,
        };
        if objects.is_empty() {
            return Ok(vec![finding]);
        }
        let keys = objects.into_iter().map(parse_key);
        keys.map(|key| Ok(Finding { object: Some(key?), ..finding.clone() })).collect()
    }

    /// Appends a command for the side that it is meant for, as users can paste it. A side that is no cluster has none.
    fn add_command(&self, remedy: &mut String, command: types::Kubectl) -> Result<(), String> {
        let types::Kubectl { side, arguments } = command;
        if arguments.is_empty() || arguments.iter().map(String::len).sum::<usize>() > SENTENCE {
            return Err("its kubectl command is empty, or too long".into());
        }
        if let Some(word) = refused_word(&arguments) {
            let word = text::to_line(word, 100);
            return Err(format!(
                "its kubectl command has {word}, which no plugin may propose: docs/plugin-authors.md lists what one may"
            ));
        }
        let side = side_from(side);
        let Some(flags) = self.run.kubectl.get(side).clone() else { return Ok(()) };
        let command = Kubectl { side, flags, words: arguments };
        let colon = if remedy.is_empty() { "" } else { ": " };
        remedy.push_str(&format!("{colon}`{command}`"));
        Ok(())
    }

    /// The findings of a plugin that sees the data of Secrets: each code once, sorted, with the number of objects it was given.
    /// The plugin chooses neither the order of its findings nor which objects they name, since it could encode data in both.
    fn count_findings(
        &self,
        said: Vec<(Severity, types::Problem)>,
        codes: &Codes,
    ) -> Result<Vec<Finding>, String> {
        let mut counted: BTreeMap<String, (Severity, BTreeSet<Key>)> = BTreeMap::new();
        for (severity, types::Problem { code, objects, .. }) in said {
            let (most, about) = counted
                .entry(text::permitted_code(&code, Some(codes)))
                .or_insert_with(|| (severity, BTreeSet::new()));
            *most = severity.max(*most);
            for object in objects {
                about.extend(Some(parse_key(object)?).filter(|key| self.given.contains(key)));
            }
        }
        let findings = counted.into_iter().map(|(code, (severity, about))| {
            let message = match about.len() {
                0 => text::WITHHELD.to_owned(),
                1 => format!("1 object {}", text::WITHHELD),
                many => format!("{many} objects {}", text::WITHHELD),
            };
            Finding { severity, code, message, object: None, remedy: String::new() }
        });
        Ok(findings.collect())
    }

    /// One finding, about the first of its objects.
    fn read_single_finding(&self, severity: Severity, said: types::Problem) -> Result<Finding, String> {
        let first = self.read_problems(vec![(severity, said)])?.into_iter().next();
        first.ok_or_else(|| "it found nothing".to_owned())
    }

    pub(crate) fn read_patch(&self, said: Option<String>) -> Result<Option<Value>, String> {
        said.map_or(Ok(None), |text| parse_patch(&text))
    }

    /// The patch of a copy's status: fields of the source's status, and the plugin's patch on top.
    pub(crate) fn read_restoration(
        &self,
        said: restore::Restoration,
        source: &Object,
        created: &Object,
    ) -> Result<Option<Value>, String> {
        let restore::Restoration { copy, patch: said, extra: _ } = said;
        let patch = self.read_patch(said)?;
        if copy.is_empty() {
            return Ok(patch);
        }
        check_count(copy.len())?;
        let unreadable = |_| "an object that it restores is not readable".to_owned();
        let before = source.value().map_err(unreadable)?;
        let now = created.value().map_err(unreadable)?;
        let mut wanted = now.clone();
        for pointer in &copy {
            copy_field(&before, &mut wanted, pointer).map_err(|NotStatus| {
                format!("it copies `{}`, which is no field of the status", text::to_line(pointer, 300))
            })?;
        }
        if let Some(patch) = &patch {
            merge::apply_patch(&mut wanted, patch);
        }
        Ok(merge::derive_patch(&now, &wanted))
    }

    pub(crate) fn read_settlement(&self, said: settle::Settlement) -> Result<Settlement, String> {
        Ok(match said {
            settle::Settlement::Done => Settlement::Done,
            settle::Settlement::Patch(text) => parse_patch(&text)?
                .map(Settlement::Patch)
                .ok_or("it settles with a patch that changes nothing, which would never end")?,
            settle::Settlement::Wait(said) => {
                Settlement::Wait(self.read_single_finding(Severity::Wait, said)?)
            }
            settle::Settlement::Stop(said) => {
                Settlement::Stop(self.read_single_finding(Severity::Stop, said)?)
            }
        })
    }

    fn printable_words(&self, words: &str) -> String {
        if self.codes.is_some() { text::WITHHELD.to_owned() } else { text::to_line(words, SENTENCE) }
    }
}

fn check_count(count: usize) -> Result<(), String> {
    if count > MANY { Err(format!("its answer has {count} parts; {MANY} is the most")) } else { Ok(()) }
}

/// A merge patch; none if it changes nothing. Errors contain no part of it.
fn parse_patch(text: &str) -> Result<Option<Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) if map.is_empty() => Ok(None),
        Ok(Value::Object(map)) => Ok(Some(Value::Object(map))),
        Ok(_) => Err("its patch is not a JSON object".into()),
        Err(error) => {
            Err(format!("its patch is not JSON (line {}, column {})", error.line(), error.column()))
        }
    }
}

fn parse_key(said: types::ObjectKey) -> Result<Key, String> {
    let types::ObjectKey { kind: types::Kind { group, name: kind }, namespace, name } = said;
    let key = Key { group_kind: GroupKind { group, kind }, namespace, name };
    if text::is_key(&key) {
        Ok(key)
    } else {
        Err("it names an object by what can't be an object's name".into())
    }
}

/// Verbs of kubectl that a plugin may propose. None deletes or creates anything.
const VERBS: [&str; 8] = ["annotate", "describe", "events", "get", "label", "logs", "scale", "wait"];
/// Flags that a plugin may propose. Others could lead to another server, or send the user's credentials there.
const FLAGS: [&str; 13] = [
    "-A",
    "-l",
    "-n",
    "-o",
    "--all-namespaces",
    "--container",
    "--for",
    "--namespace",
    "--output",
    "--overwrite",
    "--replicas",
    "--selector",
    "--timeout",
];

/// Flags without a value.
const SWITCHES: [&str; 3] = ["-A", "--all-namespaces", "--overwrite"];
/// Resources that a plugin may scale: others with a scale have machines.
const SCALABLE_TYPES: [&str; 6] =
    ["deploy", "deployment", "deployments", "sts", "statefulset", "statefulsets"];
/// Resources that a plugin may label: labels of others give permissions, or choose objects to move.
const TYPES_TO_LABEL: [&str; 3] = ["crd", "crds", "customresourcedefinitions"];
/// Prefixes of annotations that moves read or write.
const MOVE_PREFIXES: [&str; 2] = ["pivot-host.io/", "clusterctl.cluster.x-k8s.io/"];
/// Annotations that have controllers delete machines.
const MACHINES_END: [&str; 2] = ["cluster.x-k8s.io/delete-machine", "cluster.x-k8s.io/remediate-machine"];
/// Ends of the annotations that pause: to remove one ends the pause.
const PAUSES: [&str; 2] = ["paused", "detached"];

/// Returns the first word of a kubectl command that no plugin may propose.
fn refused_word(arguments: &[String]) -> Option<&String> {
    let (verb, rest) = arguments.split_first()?;
    if !VERBS.contains(&verb.as_str()) {
        return Some(verb);
    }
    let mut words = rest.iter();
    let mut positional = Vec::new();
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            positional.push(word);
            continue;
        }
        let (flag, has_value) = word.split_once('=').map_or((&**word, false), |(flag, _)| (flag, true));
        if !FLAGS.contains(&flag) {
            return Some(word);
        }
        if !has_value && !SWITCHES.contains(&flag) {
            words.next();
        }
    }
    let changes = ["annotate", "label"].contains(&verb.as_str());
    // kubectl takes the words before the first change as resources.
    let change = positional.iter().position(|word| changes && (word.contains('=') || word.ends_with('-')));
    let first_change = change.unwrap_or(positional.len());
    let (resources, pairs) = positional.split_at_checked(first_change).unwrap_or_default();
    let types = resources.iter().enumerate().filter(|(at, word)| *at == 0 || word.contains('/'));
    let refused = types.map(|(_, word)| *word).find(|word| is_refused_resource(verb, word));
    refused.or_else(|| pairs.iter().copied().find(|word| is_refused_pair(verb, word)))
}

/// Returns true if a change of an annotation or a label is refused.
fn is_refused_pair(verb: &str, word: &str) -> bool {
    let key = word.split('=').next().unwrap_or_default();
    verb == "annotate" && MOVE_PREFIXES.iter().any(|prefix| key.starts_with(prefix))
        || MACHINES_END.contains(&key)
        || PAUSES.iter().any(|end| key.strip_suffix('-').unwrap_or_default().ends_with(end))
        || word.ends_with("/paused=")
        || word.ends_with("/detached=")
}

/// Returns true if a verb is refused for one of the resources in `TYPE[.GROUP][,TYPE…][/NAME]`.
fn is_refused_resource(verb: &str, word: &str) -> bool {
    let types = word.split('/').next().unwrap_or_default().to_lowercase();
    types.split(',').any(|of| {
        let (of, group) = of.split_once('.').unwrap_or((of, ""));
        match verb {
            "scale" => !SCALABLE_TYPES.contains(&of) || !["", "apps", "v1.apps"].contains(&group),
            "label" => !TYPES_TO_LABEL.contains(&of),
            _ => of.starts_with("secret"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pivot_core::{Both, Kind, KindLabels};
    use serde_json::json;
    use std::sync::Arc;

    fn run() -> RunContext {
        let flags = |context: &str| Some(["--context", context].map(str::to_owned).to_vec());
        RunContext { kubectl: Both::new(flags("a b"), None), ..RunContext::default() }
    }

    macro_rules! open {
        () => {
            Reader { codes: None, given: &[], run: &run() }
        };
    }

    fn object(name: &str) -> types::ObjectKey {
        types::ObjectKey {
            kind: types::Kind { group: String::new(), name: "Secret".into() },
            namespace: Some("n".into()),
            name: name.into(),
        }
    }

    fn problem(name: &str) -> types::Problem {
        types::Problem {
            code: "not-ready".into(),
            message: "the pass\nword is hunter2".into(),
            objects: vec![object(name)],
            remedy: "type hunter2".into(),
            command: None,
            extra: vec![],
        }
    }

    fn found(problem: types::Problem) -> check::Finding {
        check::Finding { severity: check::Severity::Wait, problem }
    }

    fn said(name: &str) -> check::Finding {
        found(problem(name))
    }

    fn in_words(code: &str, name: &str) -> check::Finding {
        found(types::Problem { code: code.into(), ..problem(name) })
    }

    #[test]
    fn a_patch_is_an_object_or_nothing() {
        assert_eq!(open!().read_patch(None), Ok(None));
        assert_eq!(open!().read_patch(Some("{}".into())), Ok(None));
        assert_eq!(open!().read_patch(Some(r#"{"a":null}"#.into())), Ok(Some(json!({"a": null}))));
        for bad in ["null", "[]", "\"hush\"", "{\"a\":", "{}{}", ""] {
            let error = open!().read_patch(Some(bad.into())).unwrap_err();
            assert!(error.starts_with("its patch is not") && !error.contains("hush"), "{error}");
        }
        assert!(open!().read_settlement(settle::Settlement::Patch("{}".into())).is_err());
    }

    // proves: T6
    #[test]
    fn plugin_with_secret_data_returns_codes_only() {
        let secret = |name: &str| Key::new(GroupKind::new("", "Secret"), Some("n"), name);
        let given = [secret("a")];
        let codes = ["not-ready".to_owned()];
        let closed = Reader { codes: Some(&codes), given: &given, run: &run() };
        let undeclared = in_words("hunter2", "a");
        let findings = closed.read_findings(vec![said("a"), said("hunter2"), undeclared]).unwrap();
        assert!(!format!("{findings:?}").contains("hunter2"));
        assert_eq!(
            findings.iter().map(|f| f.code.as_str()).collect::<Vec<_>>(),
            ["invalid-code", "not-ready"]
        );
        assert!(findings.iter().all(|finding| finding.object.is_none()), "{findings:?}");
        let leave = closed.read_relations(vec![relate::Relation::Leave("hunter2".into())]).unwrap();
        assert_eq!(leave, [Relation::Leave(text::WITHHELD.into())]);
        assert!(closed.read_relations(vec![relate::Relation::Need(object("hunter2"))]).is_err());
    }

    /// Ten bytes of a Secret once leaked in one plan: through the order of codes, and through which object each named.
    // proves: I12, T6
    #[test]
    fn findings_order_and_objects_reveal_nothing() {
        let names: Vec<String> = (0..16).map(|n| format!("s{n}")).collect();
        let given: Vec<Key> =
            names.iter().map(|n| Key::new(GroupKind::new("", "Secret"), Some("n"), n)).collect();
        let codes: Vec<_> = (0..16).map(|n| format!("c{n}")).collect();
        let closed = Reader { codes: Some(&codes), given: &given, run: &run() };
        let spell = |bytes: &[u8]| {
            let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(usize::from);
            let mut findings: Vec<_> =
                halves.enumerate().map(|(at, half)| in_words(&format!("c{at}"), &names[half])).collect();
            findings.rotate_left(usize::from(bytes[0]) % 16);
            closed.read_findings(findings).unwrap()
        };
        assert_eq!(spell(b"hunter22"), spell(b"password"));
        // The plugin still chooses which of its codes it returns, how severe, and for how many objects.
        let objects = vec![object("s1"), object("s2"), object("s2"), object("x")];
        let two = found(types::Problem { code: "c1".into(), objects, ..problem("s1") });
        let counted = closed.read_findings(vec![two]).unwrap();
        assert!(counted[0].message.starts_with("2 objects ("), "{counted:?}");
        let worst = |words: [check::Severity; 2]| {
            let one = |severity| check::Finding { severity, ..in_words("c1", "s1") };
            closed.read_findings(words.map(one).into()).unwrap()
        };
        let (note, stop) = (check::Severity::Note, check::Severity::Stop);
        assert_eq!(worst([note, stop]), worst([stop, note]));
        assert_eq!(worst([note, stop])[0].severity, Severity::Stop);
    }

    #[test]
    fn finding_about_several_objects_is_split() {
        let about = |objects| found(types::Problem { objects, ..problem("a") });
        let both = open!().read_findings(vec![about(vec![object("a"), object("b")])]).unwrap();
        let names: Vec<_> =
            both.iter().filter_map(|f| f.object.as_ref()).map(|key| key.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(both[0].message, both[1].message);
        assert_eq!(open!().read_findings(vec![about(vec![])]).unwrap()[0].object, None);
        assert!(open!().read_findings(vec![about(vec![object("a"); MANY + 1])]).is_err());
    }

    #[test]
    fn invalid_or_too_many_findings_are_rejected() {
        assert_eq!(open!().read_findings(vec![said("a")]).unwrap()[0].message, "the pass word is hunter2");
        assert!(open!().read_findings(vec![said("a b")]).is_err());
        assert!(open!().read_findings(vec![said("a"); MANY + 1]).is_err());
    }

    #[test]
    fn settlements_have_the_severity_of_their_case() {
        for (said, severity) in [
            (settle::Settlement::Wait(problem("a")), Severity::Wait),
            (settle::Settlement::Stop(problem("a")), Severity::Stop),
        ] {
            let settlement = open!().read_settlement(said).unwrap();
            let (Settlement::Wait(found) | Settlement::Stop(found)) = settlement else {
                panic!("{settlement:?}")
            };
            assert_eq!(found.severity, severity);
        }
    }

    #[test]
    fn commands_name_their_sides_kubeconfig() {
        let remedy = |side, arguments: &[&str]| {
            let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
            let command = Some(types::Kubectl { side, arguments });
            let said = found(types::Problem { remedy: "look at it".into(), command, ..problem("a") });
            open!().read_findings(vec![said]).map(|all| all[0].remedy.clone())
        };
        let get = ["get", "-n", "ns", "hosts; rm -rf /"];
        assert_eq!(
            remedy(types::Side::Source, &get).unwrap(),
            "look at it: `kubectl --context 'a b' get -n ns 'hosts; rm -rf /'`"
        );
        assert_eq!(remedy(types::Side::Target, &get).unwrap(), "look at it", "files have no kubeconfig");
        for bad in [&[][..], &["get", "--context=other", "hosts"], &["get", "hosts", "--kubeconfig", "x"]] {
            assert!(remedy(types::Side::Source, bad).is_err(), "{bad:?}");
        }
    }

    fn host(generation: u64, status: Value) -> Object {
        let kind = Kind {
            group_kind: GroupKind::new("test.io", "Host"),
            version: "v1".into(),
            plural: "hosts".into(),
            namespaced: true,
            status_subresource: true,
            served: vec!["v1".into()],
            labels: KindLabels::default(),
        };
        let meta = json!({"name": "h", "namespace": "n", "generation": generation});
        Object::from_value(Arc::new(kind), &json!({"metadata": meta, "status": status})).unwrap()
    }

    #[test]
    fn restorations_become_one_patch_of_the_status() {
        let source = host(7, json!({"state": "ready", "observedGeneration": 7}));
        let created = host(1, json!({"left": true}));
        let restored = |copy: &[&str], patch: Option<&str>| {
            let copy = copy.iter().map(|pointer| (*pointer).to_owned()).collect();
            let said = restore::Restoration { copy, patch: patch.map(str::to_owned), extra: vec![] };
            open!().read_restoration(said, &source, &created)
        };
        assert_eq!(
            restored(&["/status"], Some(r#"{"status": {"by": "us"}}"#)),
            Ok(Some(
                json!({"status": {"left": null, "state": "ready", "observedGeneration": 1, "by": "us"}})
            ))
        );
        assert_eq!(restored(&["/status/state"], None), Ok(Some(json!({"status": {"state": "ready"}}))));
        assert_eq!(restored(&["/status/missing"], None), Ok(None));
        assert_eq!(restored(&[], Some("{}")), Ok(None));
        assert!(restored(&["/spec"], None).unwrap_err().contains("no field of the status"));
    }

    // proves: T177
    #[test]
    fn kubectl_commands_stay_with_their_server() {
        let refused = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            refused_word(&words).cloned()
        };
        for good in [
            &["get", "-n", "a", "pods", "-o", "yaml"][..],
            &["annotate", "-n", "a", "host", "h", "inspect-"],
            &["scale", "-n", "a", "deployment", "d", "--replicas=1"],
            &["scale", "deployment.apps/d", "--replicas", "0"],
            &["label", "crd", "hosts.metal3.io", "cluster.x-k8s.io/v1beta1="],
            &["annotate", "host", "h", "metal3.io/paused=stop"],
        ] {
            assert_eq!(refused(good), None, "{good:?}");
        }
        for (bad, word) in [
            (&["delete", "cluster", "c"][..], "delete"),
            (&["get", "pods", "-shttps://evil"], "-shttps://evil"),
            (&["get", "pods", "-Ashttps://evil"], "-Ashttps://evil"),
            (&["get", "pods", "--server=https://evil"], "--server=https://evil"),
            (&["get", "--kubeconfig", "k"], "--kubeconfig"),
            (&["--context=c", "get"], "--context=c"),
            (&["get", "-A", "secrets", "-o", "yaml"], "secrets"),
            (&["get", "pods,Secret", "-o", "yaml"], "pods,Secret"),
            (&["get", "pods/p", "secrets/s"], "secrets/s"),
            (&["scale", "-n", "deployment", "machinedeployment", "m", "--replicas=0"], "machinedeployment"),
            (&["scale", "deployments.x.io/d", "--replicas=0"], "deployments.x.io/d"),
            (&["scale", "deployment/d", "machinedeployment/m"], "machinedeployment/m"),
            (&["label", "clusterrole", "r", "aggregate-to-admin=true"], "clusterrole"),
            (&["annotate", "host", "h", "metal3.io/paused-"], "metal3.io/paused-"),
            (&["annotate", "cluster", "c", "pivot-host.io/undo-"], "pivot-host.io/undo-"),
            (&["annotate", "pods/p", "secrets/s", "a=b", "-o", "yaml"], "secrets/s"),
            (&["label", "crd/c", "clusterrole/r", "aggregate-to-admin=true"], "clusterrole/r"),
            (
                &["annotate", "crd", "c", "clusterctl.cluster.x-k8s.io/block-move-"],
                "clusterctl.cluster.x-k8s.io/block-move-",
            ),
            (
                &["annotate", "machine", "m", "cluster.x-k8s.io/delete-machine="],
                "cluster.x-k8s.io/delete-machine=",
            ),
            (&["annotate", "host", "h", "metal3.io/paused=", "--overwrite"], "metal3.io/paused="),
        ] {
            assert_eq!(refused(bad).as_deref(), Some(word), "{bad:?}");
        }
    }
}
