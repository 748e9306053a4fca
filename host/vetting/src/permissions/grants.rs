//! `plugins.toml`: the operator's grants for each plugin, and its limits.
//!
//! Anything not listed is denied. A misspelt name is an error that lists the valid ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pivot_core::messages::safe_text;
use pivot_core::plugins::hooks::Hook;
use pivot_core::plugins::reach::{EVERYWHERE, Reach};
use pivot_core::{GroupKind, Side};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::permissions::declaration::{Change, Declaration, Read};
use crate::permissions::limits::{Limits, LimitsText};
use crate::permissions::strict::{self, Table, Word};
use crate::permissions::valid_names::{is_kind, is_label};
use crate::permissions::{GRANTS_FILE, InvalidFile, Pattern, check_count};

/// The consequence of a failing hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// The move does not continue.
    #[default]
    Stop,
    /// The failure becomes a warning. Only for checks: the other hooks decide what happens to objects.
    Warn,
}

/// The grants of one plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grants {
    /// True if the plugin is called at all.
    pub enabled: bool,
    /// The hooks in which it is called.
    pub hooks: Vec<Hook>,
    /// The kinds whose objects it is shown.
    pub kinds: Vec<GroupKind>,
    /// Granted reach of the plugin's relations beyond the namespaces that move.
    pub reach: Vec<Reach>,
    /// Granted changes.
    pub changes: Vec<Change>,
    /// Granted reads.
    pub reads: Vec<Read>,
    /// Granted endpoints for probes.
    pub probes: Vec<Pattern>,
    /// True if the plugin sees the data of Secrets.
    pub secret_data: bool,
    /// Consequence of a failing check.
    pub check_fails: OnFailure,
    /// The limits of a call.
    pub limits: Limits,
    /// The plugin's configuration: a JSON object as text, with sorted keys.
    pub config: String,
}

/// The most lines of one aspect, and characters of a line: a record has limits.
const LINES: usize = 100;
const LINE: usize = 300;

impl Grants {
    /// Describes the grants for people, one line for each. The configuration belongs to the plugin and may be confidential, so
    /// it is left out.
    pub fn describe_lines(&self) -> Vec<String> {
        let Self { hooks, kinds, reach, changes, reads, probes, secret_data, .. } = self;
        let aspect = |name: &str, items: Vec<String>| -> Vec<String> {
            items
                .into_iter()
                .take(LINES)
                .map(|item| safe_text::to_line(&format!("{name} {item}"), LINE))
                .collect()
        };
        let changes = changes.iter().map(|Change { hook, kind, side }| format!("{kind} in {hook} ({side})"));
        let reads = reads.iter().map(|Read { kind, side, namespace }| {
            format!("{kind} ({side}, namespace {})", namespace.as_deref().unwrap_or("of the move"))
        });
        let reach = reach.iter().map(|Reach { kind, namespace, delete }| {
            format!("{kind} (namespace {namespace}, {})", if *delete { "deleted" } else { "kept" })
        });
        let secrets = if *secret_data { vec!["of Secrets".to_owned()] } else { Vec::new() };
        [
            aspect("hook", hooks.iter().map(ToString::to_string).collect()),
            aspect("sees", kinds.iter().map(ToString::to_string).collect()),
            aspect("reaches", reach.collect()),
            aspect("changes", changes.collect()),
            aspect("reads", reads.collect()),
            aspect("probes", probes.iter().map(ToString::to_string).collect()),
            aspect("data", secrets),
        ]
        .concat()
    }
}

/// The operator's file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperatorFile {
    /// Plugins that are called first; the others follow by name.
    pub order: Vec<String>,
    /// By name.
    pub plugins: BTreeMap<String, Grants>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FileText {
    #[serde(default)]
    order: Vec<String>,
    #[serde(default)]
    limits: Table<LimitsText>,
    #[serde(default)]
    plugins: BTreeMap<String, Table<GrantsText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct GrantsText {
    #[serde(default = "enabled_by_default")]
    enabled: bool,
    #[serde(default)]
    hooks: Vec<Word<Hook>>,
    #[serde(default)]
    kinds: Vec<String>,
    #[serde(default)]
    reach: Vec<Table<ReachText>>,
    #[serde(default)]
    changes: Vec<Table<ChangeText>>,
    #[serde(default)]
    reads: Vec<Table<ReadText>>,
    #[serde(default)]
    probes: Vec<String>,
    #[serde(default)]
    secret_data: bool,
    #[serde(default)]
    on_failure: Table<OnFailureText>,
    #[serde(default)]
    limits: Table<LimitsText>,
    #[serde(default)]
    config: toml::Table,
}

fn enabled_by_default() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReachText {
    kind: String,
    #[serde(deserialize_with = "deserialize_side")]
    side: Side,
    namespace: String,
    #[serde(default)]
    delete: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeText {
    hook: Word<Hook>,
    kind: String,
    #[serde(deserialize_with = "deserialize_side")]
    side: Side,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadText {
    kind: String,
    #[serde(deserialize_with = "deserialize_side")]
    side: Side,
    namespace: Option<String>,
}

fn deserialize_side<'de, D: Deserializer<'de>>(word: D) -> Result<Side, D::Error> {
    parse_side(&String::deserialize(word)?).map_err(D::Error::custom)
}

fn parse_side(word: &str) -> Result<Side, String> {
    match word {
        "source" => Ok(Side::Source),
        "target" => Ok(Side::Target),
        other => {
            Err(format!("there is no side `{}`, only `source` and `target`", safe_text::to_line(other, 64)))
        }
    }
}

/// Longest text of a refusal, in characters: words of the file have any length.
const MAX_REFUSAL: usize = 2_000;

/// Only checks allow a choice.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct OnFailureText {
    #[serde(default)]
    check: Word<OnFailure>,
}

impl OperatorFile {
    /// Parses the file.
    pub fn parse(text: &str) -> Result<Self, InvalidFile> {
        let file = strict::parse_strictly(text).map_err(|why| InvalidFile { file: GRANTS_FILE, why })?;
        let FileText { order, limits: Table(limits), plugins } = file;
        let refused =
            |why: String| InvalidFile { file: GRANTS_FILE, why: safe_text::escape_line(&why, MAX_REFUSAL) };
        check_count(plugins.len()).map_err(refused)?;
        if let Some(unknown) = order.iter().find(|name| !plugins.contains_key(*name)) {
            let names: Vec<_> = plugins.keys().map(String::as_str).collect();
            let why = format!("order names `{unknown}`; there is {}", names.join(", "));
            return Err(refused(why));
        }
        let base = limits.with_defaults(Limits::default());
        let plugins = plugins.into_iter().map(|(name, Table(text))| match parse_grants(text, base) {
            Ok(grants) => Ok((name, grants)),
            Err(why) => Err(refused(format!("[plugins.{name}]: {why}"))),
        });
        Ok(Self { order, plugins: plugins.collect::<Result<_, _>>()? })
    }

    /// Returns true if the file disables a plugin.
    pub fn is_disabled(&self, name: &str) -> bool {
        self.plugins.get(name).is_some_and(|grants| !grants.enabled)
    }

    /// A plugin's position in the order of calls.
    pub fn call_position(&self, name: &str) -> usize {
        self.order.iter().position(|there| there == name).unwrap_or(usize::MAX)
    }
}

fn parse_grants(text: GrantsText, base: Limits) -> Result<Grants, String> {
    let GrantsText {
        enabled,
        hooks,
        kinds,
        reach,
        changes,
        reads,
        probes,
        secret_data,
        on_failure: Table(OnFailureText { check: Word(check_fails) }),
        limits: Table(limits),
        config,
    } = text;
    Ok(Grants {
        enabled,
        hooks: hooks.into_iter().map(|Word(hook)| hook).collect(),
        kinds: kinds
            .iter()
            .enumerate()
            .map(|(index, kind)| parse_group_kind(kind).map_err(|why| format!("kinds[{index}]: {why}")))
            .collect::<Result<_, String>>()?,
        reach: reach
            .into_iter()
            .enumerate()
            .map(|(index, Table(reach))| {
                self::parse_reach(reach).map_err(|why| format!("reach[{index}].{why}"))
            })
            .collect::<Result<_, String>>()?,
        changes: changes
            .into_iter()
            .enumerate()
            .map(|(index, Table(ChangeText { hook: Word(hook), kind, side }))| {
                let kind = parse_group_kind(&kind).map_err(|why| format!("changes[{index}].kind: {why}"))?;
                Ok(Change { hook, kind, side })
            })
            .collect::<Result<_, String>>()?,
        reads: reads
            .into_iter()
            .enumerate()
            .map(|(index, Table(ReadText { kind, side, namespace }))| {
                let kind = parse_group_kind(&kind).map_err(|why| format!("reads[{index}].kind: {why}"))?;
                let place = namespace.as_deref().map_or(Ok(()), check_namespace);
                place.map_err(|why| format!("reads[{index}].{why}"))?;
                Ok(Read { kind, side, namespace })
            })
            .collect::<Result<_, String>>()?,
        probes: probes
            .iter()
            .enumerate()
            .map(|(index, probe)| probe.parse().map_err(|why| format!("probes[{index}]: {why}")))
            .collect::<Result<_, String>>()?,
        secret_data,
        check_fails,
        limits: limits.with_defaults(base),
        config: serde_json::to_string(&config)
            .map_err(|_| "its config is not expressible as JSON".to_owned())?,
    })
}

fn parse_reach(text: ReachText) -> Result<Reach, String> {
    let ReachText { kind, side, namespace, delete } = text;
    let kind = parse_group_kind(&kind).map_err(|why| format!("kind: {why}"))?;
    if side != Side::Source {
        return Err("side: plugins relate objects of the source, so it is `source`".into());
    }
    check_namespace(&namespace)?;
    Ok(Reach { kind, namespace, delete })
}

fn check_namespace(namespace: &str) -> Result<(), String> {
    if namespace == EVERYWHERE || is_label(namespace) {
        return Ok(());
    }
    Err(format!("namespace: `{namespace}` is no namespace, and not `*` for all"))
}

fn parse_group_kind(text: &str) -> Result<GroupKind, String> {
    let (kind, group) = text.split_once('.').unwrap_or((text, ""));
    let kind = GroupKind::new(group, kind);
    // A trailing dot would be dropped.
    if is_kind(&kind) && !text.ends_with('.') {
        return Ok(kind);
    }
    Err(format!(
        "`{text}` isn't a kind; write it with its group, as `Machine.cluster.x-k8s.io`, `Secret` or `*.metal3.io`"
    ))
}

/// Returns the section of `plugins.toml` with a plugin's requests, for the operator to review. It grants nothing until it is
/// enabled.
pub fn grants_section(declaration: &Declaration, hooks: &[Hook], enabled: bool) -> String {
    let Declaration { name, version, kinds, reach, changes, reads, probes, secret_data, .. } = declaration;
    let mut text = format!(
        "# {}\n# Requests of version {version}. Review each line.\n[plugins.{name}]\n",
        declaration.vendor_summary()
    );
    if !enabled {
        text.push_str("enabled = false # no move calls it until this is true\n");
    }
    let hooks: Vec<_> = hooks.iter().map(|hook| format!("\"{hook}\"")).collect();
    let _ = writeln!(text, "hooks = [{}]", hooks.join(", "));
    let mut list = |name: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(text, "{name} = [\n    {},\n]", lines.join(",\n    "));
        }
    };
    list("kinds", kinds.iter().map(|kind| format!("\"{kind}\"")).collect());
    let reach_lines = reach.iter().map(|r| {
        let delete = if r.delete { ", delete = true" } else { "" };
        format!("{{ side = \"source\", kind = \"{}\", namespace = \"{}\"{delete} }}", r.kind, r.namespace)
    });
    list("reach", reach_lines.collect());
    let change =
        |c: &Change| format!("{{ hook = \"{}\", kind = \"{}\", side = \"{}\" }}", c.hook, c.kind, c.side);
    list("changes", changes.iter().map(change).collect());
    let reads = reads.iter().map(|r| {
        let namespace = r.namespace.as_ref().map(|n| format!(", namespace = \"{n}\"")).unwrap_or_default();
        format!("{{ side = \"{}\", kind = \"{}\"{namespace} }}", r.side, r.kind)
    });
    list("reads", reads.collect());
    list("probes", probes.iter().map(|p| format!("\"{p}\"")).collect());
    if *secret_data {
        text.push_str("# It sees the data of Secrets; its words are withheld then.\nsecret-data = true\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants;

    const FILE: &str = r#"
        order = ["hosts"]
        [limits]
        time = "1s"
        [plugins.hosts]
        hooks = ["hold", "check"]
        kinds = ["HardwareData.metal3.io"]
        reach = [{ side = "source", kind = "Secret", namespace = "shared" }]
        changes = [{ hook = "hold", kind = "BareMetalHost.metal3.io", side = "source" }]
        reads = [{ side = "target", kind = "*.metal3.io", namespace = "*" }]
        probes = ["*:6385"]
        on-failure = { check = "warn" }
        limits = { memory = "16MiB" }
        [plugins.hosts.config]
        b = 1
        a = [true, 1.5, "x"]
    "#;

    #[test]
    fn any_text_is_an_operators_file_or_refused() {
        let (mut good, mut refused) = (0, 0);
        mutants::each(&[FILE.as_bytes()], 1_500, |bytes| {
            match OperatorFile::parse(&String::from_utf8_lossy(bytes)) {
                Ok(file) => {
                    good += 1;
                    let lines = file.plugins.values().flat_map(Grants::describe_lines);
                    lines.for_each(|line| {
                        assert!(line.len() < 2_000 && !line.contains(['\n', '\0']), "{line}")
                    });
                }
                Err(error) => {
                    refused += 1;
                    assert!(error.to_string().len() < 4_000, "{error}");
                }
            }
        });
        assert!(good > 30 && refused > 500, "{good} good, {refused} refused");
    }

    #[test]
    fn the_operators_file_is_read() {
        let file = OperatorFile::parse(FILE).unwrap();
        let hosts = &file.plugins["hosts"];
        assert_eq!(hosts.hooks, [Hook::Hold, Hook::Check]);
        assert_eq!(hosts.reads[0].kind, GroupKind::new("metal3.io", "*"));
        assert_eq!(hosts.kinds, [GroupKind::new("metal3.io", "HardwareData")]);
        let secrets = GroupKind::new("", "Secret");
        assert_eq!(hosts.reach, [Reach { kind: secrets, namespace: "shared".into(), delete: false }]);
        assert_eq!(hosts.check_fails, OnFailure::Warn);
        assert_eq!((hosts.limits.time.as_secs(), hosts.limits.memory), (1, 16 << 20));
        assert_eq!(hosts.config, r#"{"a":[true,1.5,"x"],"b":1}"#);
        assert!(hosts.enabled && !hosts.secret_data);
    }

    // proves: T19
    #[test]
    fn unknown_key_error_lists_known_keys() {
        for (from, to, said) in [
            ("hooks =", "hook =", "expected one of `enabled`, `hooks`, `kinds`, `reach`, `changes`"),
            ("\"hold\", \"check\"", "\"hald\"", "expected one of `relate`, `check`, `hold`"),
            ("side = \"source\"", "side = \"sauce\"", "there is no side `sauce`, only `source` and `target`"),
            ("side = \"source\"", "side = \"target\"", "reach[0].side: plugins relate objects of the source"),
            ("\"shared\"", "\"a b\"", "reach[0].namespace: `a b` is no namespace"),
            (", namespace = \"shared\"", "", "missing field `namespace`"),
            ("{ check = \"warn\" }", "{ hold = \"warn\" }", "unknown field `hold`, expected `check`"),
            ("{ check = \"warn\" }", "{ check = \"ignore\" }", "expected `stop` or `warn`"),
            ("\"*:6385\"", "\"6385\"", "is no host:port pattern; write"),
            ("[\"hosts\"]", "[\"hots\"]", "order names `hots`; there is hosts"),
            ("[limits]", "[limit]", "expected one of `order`, `limits`, `plugins`"),
        ] {
            let text = FILE.replacen(from, to, 1);
            assert_ne!(text, FILE, "{from}");
            let error = OperatorFile::parse(&text).unwrap_err().to_string();
            assert!(error.starts_with("plugins.toml: can't be understood: "), "{error}");
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn invalid_kind_or_namespace_error_has_position() {
        let long = "A".repeat(64);
        for kind in [
            "",
            "*.",
            "A.",
            ".metal3.io",
            "A..io",
            "A.metal3.io.",
            "A.-a.io",
            "A.a_b",
            "A.B",
            "A b.metal3.io",
            "A/b.c",
            "../a",
            "*.*",
            "a*.metal3.io",
            "hosts.metal3.io",
            "0A",
            "A\n.b",
            "A\u{3164}.b",
            "A.b\u{e4}",
            &long,
        ] {
            for (from, key) in [
                ("HardwareData.metal3.io", "kinds[0]"),
                ("Secret", "reach[0].kind"),
                ("BareMetalHost.metal3.io", "changes[0].kind"),
                ("*.metal3.io", "reads[0].kind"),
            ] {
                let text = FILE.replacen(&format!("\"{from}\""), &toml::Value::from(kind).to_string(), 1);
                let error = OperatorFile::parse(&text).unwrap_err().to_string();
                let kind = safe_text::escape_line(kind, MAX_REFUSAL);
                let head = format!(
                    "plugins.toml: can't be understood: [plugins.hosts]: {key}: `{kind}` isn't a kind; "
                );
                assert!(error.starts_with(&head), "{error}");
            }
        }
        for namespace in
            ["", ".", "..", "a.b", "a/b", "A", "**", "-a", "a\n", "a\u{ad}", &long.to_lowercase()]
        {
            let text = FILE.replacen(
                "namespace = \"*\"",
                &format!("namespace = {}", toml::Value::from(namespace)),
                1,
            );
            let error = OperatorFile::parse(&text).unwrap_err().to_string();
            let namespace = safe_text::escape_line(namespace, MAX_REFUSAL);
            let head = format!("[plugins.hosts]: reads[0].namespace: `{namespace}` is no namespace");
            assert!(error.contains(&head), "{error}");
        }
        for kind in ["Secret", "*", "*.metal3.io", "A1.b", "Machine.cluster.x-k8s.io"] {
            let text = FILE.replacen("*.metal3.io", kind, 1);
            assert!(OperatorFile::parse(&text).is_ok(), "{kind}");
        }
    }

    #[test]
    fn a_refusal_quotes_no_long_word() {
        let long = "a".repeat(70_000);
        for from in ["hosts", "HardwareData.metal3.io", "BareMetalHost.metal3.io", "shared", "*:6385"] {
            let text = FILE.replacen(from, &long, 1);
            let error = OperatorFile::parse(&text).unwrap_err().to_string();
            assert!(error.contains("aaa") && error.len() < 4_000, "{from}: {error}");
        }
    }

    #[test]
    fn toml_error_repeats_no_content() {
        let error = OperatorFile::parse("[plugins.a]\nhunter2 error: x").unwrap_err().to_string();
        assert!(error.starts_with("plugins.toml: can't be understood: line 2, column 9: "), "{error}");
        assert!(!error.contains("hunter2") && !error.contains('\n'), "{error}");
    }
}
