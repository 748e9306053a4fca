//! Converts plugins' answers into the program's own values.
//!
//! The engine checks the bounds of patches; this checks the form of an answer: a patch is an object, a name is a name, a sentence
//! is one line.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::hooks::{Finding, Relation, Settlement, Severity};
use pivot_core::{GroupKind, Key};
use serde_json::Value;

use crate::contract::exports::pivot::provider::{relate, settle};
use crate::contract::pivot::provider::types;
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
}

impl Reader<'_> {
    pub(crate) fn relations(&self, said: Vec<relate::Relation>) -> Result<Vec<Relation>, String> {
        few(said.len())?;
        said.into_iter().map(|relation| self.relation(relation)).collect()
    }

    fn relation(&self, said: relate::Relation) -> Result<Relation, String> {
        let named = |said| {
            if self.codes.is_some() {
                return Err("it sees the data of Secrets, so it must not name other objects".to_owned());
            }
            key(said)
        };
        Ok(match said {
            relate::Relation::Link(said) => Relation::Link(named(said)?),
            relate::Relation::Need(said) => Relation::Need(named(said)?),
            relate::Relation::Leave(reason) => Relation::Leave(self.words(&reason)),
            relate::Relation::Keep(reason) => Relation::Keep(self.words(&reason)),
        })
    }

    pub(crate) fn findings(&self, said: Vec<types::Finding>) -> Result<Vec<Finding>, String> {
        few(said.iter().map(|finding| finding.objects.len().max(1)).sum())?;
        if let Some(codes) = self.codes {
            return self.counted(said, codes);
        }
        let found: Vec<_> = said.into_iter().map(findings_of).collect::<Result<_, String>>()?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The findings of a plugin that sees the data of Secrets: each code once, sorted, with the number of objects it was given.
    /// The plugin chooses neither the order of its findings nor which objects they name, since it could encode data in both.
    fn counted(&self, said: Vec<types::Finding>, codes: &Codes) -> Result<Vec<Finding>, String> {
        let mut counted: BTreeMap<String, (Severity, BTreeSet<Key>)> = BTreeMap::new();
        for types::Finding { severity, code, objects, .. } in said {
            let severity = Severity::from_word(&severity);
            let (most, about) =
                counted.entry(text::code(&code, Some(codes))).or_insert_with(|| (severity, BTreeSet::new()));
            *most = severity.max(*most);
            for object in objects {
                about.extend(Some(key(object)?).filter(|key| self.given.contains(key)));
            }
        }
        let finding = |(code, (severity, about)): (String, (Severity, BTreeSet<Key>))| {
            let message = match about.len() {
                0 => text::WITHHELD.to_owned(),
                1 => format!("1 object {}", text::WITHHELD),
                many => format!("{many} objects {}", text::WITHHELD),
            };
            Finding { severity, code, message, object: None, remedy: String::new() }
        };
        Ok(counted.into_iter().map(finding).collect())
    }

    /// One finding, about the first of its objects.
    fn finding(&self, said: types::Finding) -> Result<Finding, String> {
        let first = self.findings(vec![said])?.into_iter().next();
        first.ok_or_else(|| "it found nothing".to_owned())
    }

    pub(crate) fn patch(&self, said: Option<String>) -> Result<Option<Value>, String> {
        said.map_or(Ok(None), |text| patch(&text))
    }

    pub(crate) fn settlement(&self, said: settle::Settlement) -> Result<Settlement, String> {
        Ok(match said {
            settle::Settlement::Done => Settlement::Done,
            settle::Settlement::Patch(text) => patch(&text)?
                .map(Settlement::Patch)
                .ok_or("it settles with a patch that changes nothing, which would never end")?,
            settle::Settlement::Wait(finding) => Settlement::Wait(self.finding(finding)?),
            settle::Settlement::Stop(finding) => Settlement::Stop(self.finding(finding)?),
        })
    }

    fn words(&self, words: &str) -> String {
        if self.codes.is_some() { text::WITHHELD.to_owned() } else { text::line(words, SENTENCE) }
    }
}

/// One finding per object; the output groups those that say the same.
fn findings_of(said: types::Finding) -> Result<Vec<Finding>, String> {
    let types::Finding { severity, code, message, objects, remedy } = said;
    let finding = Finding {
        severity: Severity::from_word(&severity),
        code: text::code(&code, None),
        message: text::line(&message, SENTENCE),
        object: None,
        remedy: text::line(&remedy, SENTENCE),
    };
    if objects.is_empty() {
        return Ok(vec![finding]);
    }
    objects.into_iter().map(|object| Ok(Finding { object: Some(key(object)?), ..finding.clone() })).collect()
}

fn few(count: usize) -> Result<(), String> {
    if count > MANY { Err(format!("its answer has {count} parts; {MANY} is the most")) } else { Ok(()) }
}

/// A merge patch; none if it changes nothing. Errors contain no part of it.
fn patch(text: &str) -> Result<Option<Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) if map.is_empty() => Ok(None),
        Ok(Value::Object(map)) => Ok(Some(Value::Object(map))),
        Ok(_) => Err("its patch is not a JSON object".into()),
        Err(error) => {
            Err(format!("its patch is not JSON (line {}, column {})", error.line(), error.column()))
        }
    }
}

fn key(said: types::ObjectKey) -> Result<Key, String> {
    let types::ObjectKey { group, kind, namespace, name } = said;
    let key = Key { group_kind: GroupKind { group, kind }, namespace, name };
    if text::is_key(&key) {
        Ok(key)
    } else {
        Err("it names an object by what can't be an object's name".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const OPEN: Reader<'_> = Reader { codes: None, given: &[] };

    fn object(name: &str) -> types::ObjectKey {
        types::ObjectKey {
            group: String::new(),
            kind: "Secret".into(),
            namespace: Some("n".into()),
            name: name.into(),
        }
    }

    fn said(name: &str) -> types::Finding {
        types::Finding {
            severity: "wait".into(),
            code: "not-ready".into(),
            message: "the pass\nword is hunter2".into(),
            objects: vec![object(name)],
            remedy: "type hunter2".into(),
        }
    }

    #[test]
    fn a_patch_is_an_object_or_nothing() {
        assert_eq!(OPEN.patch(None), Ok(None));
        assert_eq!(OPEN.patch(Some("{}".into())), Ok(None));
        assert_eq!(OPEN.patch(Some(r#"{"a":null}"#.into())), Ok(Some(json!({"a": null}))));
        for bad in ["null", "[]", "\"hush\"", "{\"a\":", "{}{}", ""] {
            let error = OPEN.patch(Some(bad.into())).unwrap_err();
            assert!(error.starts_with("its patch is not") && !error.contains("hush"), "{error}");
        }
        assert!(OPEN.settlement(settle::Settlement::Patch("{}".into())).is_err());
    }

    // proves: T6
    #[test]
    fn a_plugin_that_sees_secret_data_is_limited_to_codes() {
        let secret = |name: &str| Key::new(GroupKind::new("", "Secret"), Some("n"), name);
        let given = [secret("a")];
        let codes = [("code".to_owned(), "not-ready".to_owned())];
        let closed = Reader { codes: Some(&codes), given: &given };
        let undeclared = types::Finding { code: "hunter2".into(), ..said("a") };
        let findings = closed.findings(vec![said("a"), said("hunter2"), undeclared]).unwrap();
        assert!(!format!("{findings:?}").contains("hunter2"));
        assert_eq!(
            findings.iter().map(|f| f.code.as_str()).collect::<Vec<_>>(),
            ["invalid-code", "not-ready"]
        );
        assert!(findings.iter().all(|finding| finding.object.is_none()), "{findings:?}");
        let leave = closed.relations(vec![relate::Relation::Leave("hunter2".into())]).unwrap();
        assert_eq!(leave, [Relation::Leave(text::WITHHELD.into())]);
        assert!(closed.relations(vec![relate::Relation::Need(object("hunter2"))]).is_err());
    }

    /// Ten bytes of a Secret once leaked in one plan: through the order of codes, and through which object each named.
    // proves: I12, T6
    #[test]
    fn neither_the_order_nor_the_objects_of_findings_reveal_a_secret() {
        let names: Vec<String> = (0..16).map(|n| format!("s{n}")).collect();
        let given: Vec<Key> =
            names.iter().map(|n| Key::new(GroupKind::new("", "Secret"), Some("n"), n)).collect();
        let codes: Vec<_> = (0..16).map(|n| ("code".to_owned(), format!("c{n}"))).collect();
        let closed = Reader { codes: Some(&codes), given: &given };
        let spell = |bytes: &[u8]| {
            let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(usize::from);
            let mut findings: Vec<_> = halves
                .enumerate()
                .map(|(at, half)| types::Finding { code: format!("c{at}"), ..said(&names[half]) })
                .collect();
            findings.rotate_left(usize::from(bytes[0]) % 16);
            closed.findings(findings).unwrap()
        };
        assert_eq!(spell(b"hunter22"), spell(b"password"));
        // The plugin still chooses which of its codes it returns, how severe, and for how many objects.
        let two = types::Finding {
            objects: vec![object("s1"), object("s2"), object("s2"), object("x")],
            ..said("s1")
        };
        let found = closed.findings(vec![types::Finding { code: "c1".into(), ..two }]).unwrap();
        assert!(found[0].message.starts_with("2 objects ("), "{found:?}");
        let worst = |words: [&str; 2]| {
            let one = |severity: &str| types::Finding {
                severity: severity.into(),
                code: "c1".into(),
                ..said("s1")
            };
            closed.findings(words.map(one).into()).unwrap()
        };
        assert_eq!(worst(["note", "stop"]), worst(["stop", "note"]));
        assert_eq!(worst(["note", "stop"])[0].severity, Severity::Stop);
    }

    #[test]
    fn a_finding_about_several_objects_is_one_for_each() {
        let all = types::Finding { objects: vec![object("a"), object("b")], ..said("a") };
        let found = OPEN.findings(vec![all]).unwrap();
        let names: Vec<_> =
            found.iter().filter_map(|f| f.object.as_ref()).map(|key| key.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(found[0].message, found[1].message);
        let none = types::Finding { objects: vec![], ..said("a") };
        assert_eq!(OPEN.findings(vec![none]).unwrap()[0].object, None);
        let many = types::Finding { objects: vec![object("a"); MANY + 1], ..said("a") };
        assert!(OPEN.findings(vec![many]).is_err());
    }

    #[test]
    fn findings_with_invalid_names_and_too_many_findings_are_rejected() {
        assert_eq!(OPEN.findings(vec![said("a")]).unwrap()[0].message, "the pass word is hunter2");
        assert!(OPEN.findings(vec![said("a b")]).is_err());
        assert!(OPEN.findings(vec![said("a"); MANY + 1]).is_err());
    }
}
