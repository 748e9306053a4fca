//! The lines of a recording, as a move writes them and `plugin replay` reads them: docs/schemas/plugin-recording.json.
//!
//! The fields `run`, `hook`, `point` and `expect`, and answers of endpoints, are as in a scene. A scene answers questions from lists
//! of objects; a recording has the answer to each question.

use std::fmt;

use pivot_core::plugins::hooks::{Hook, Point};
use pivot_core::request::mapping::NamespaceMap;
use pivot_core::{GroupKind, Key, Side};
use pivot_runtime::{Query, RunKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

pub(in crate::plugins) const KIND: &str = "PluginRecording";
/// The most bytes of a recording.
pub(in crate::plugins) const MAX_RECORDING_BYTES: u64 = 1 << 30;
/// The most lines of a recording.
pub(in crate::plugins) const MAX_LINES: u64 = 1_000_000;
/// The most bytes of a line. A reader of a hostile line takes many times as much memory.
pub(in crate::plugins) const MAX_LINE_BYTES: usize = 16 << 20;

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::plugins) struct RecordingHeader {
    pub(in crate::plugins) api_version: String,
    pub(in crate::plugins) kind: String,
    /// Version of the program.
    pub(in crate::plugins) version: String,
}

/// Each other line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::plugins) enum RecordingEntry {
    /// The following calls of this plugin belong to this run.
    Plugin(RecordedPlugin),
    Call(Box<RecordedCall>),
    /// A call that was too large, or that no longer fitted.
    Omitted(OmittedCall),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::plugins) struct RecordedPlugin {
    pub(in crate::plugins) name: String,
    pub(in crate::plugins) version: String,
    /// Digest of component and configuration.
    pub(in crate::plugins) digest: String,
    /// True if plugins.toml has a configuration for it. The recording has none: it may contain credentials.
    pub(in crate::plugins) has_config: bool,
    pub(in crate::plugins) run: RunKind,
    pub(in crate::plugins) move_id: String,
    #[serde(default)]
    pub(in crate::plugins) namespace_map: NamespaceMap,
    pub(in crate::plugins) kubectl: KubectlFlags,
}

/// The kubectl flags that name each side; none for a directory.
#[derive(Serialize, Deserialize)]
pub(in crate::plugins) struct KubectlFlags {
    pub(in crate::plugins) source: Option<Vec<String>>,
    pub(in crate::plugins) target: Option<Vec<String>>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(in crate::plugins) struct OmittedCall {
    pub(in crate::plugins) plugin: String,
    pub(in crate::plugins) hook: Hook,
}

/// A call of a hook: the input, each question with its answer, and the answer of the hook.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::plugins) struct RecordedCall {
    pub(in crate::plugins) plugin: String,
    pub(in crate::plugins) hook: Hook,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::plugins) point: Option<Point>,
    /// The object of the source, in each hook but `check` and `settle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::plugins) source: Option<Value>,
    /// The object of the target, in `restore` and `settle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::plugins) copy: Option<Value>,
    #[serde(default)]
    pub(in crate::plugins) written_since_commit: bool,
    /// The objects that move, in `check`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::plugins) moving: Option<RecordedView>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::plugins) questions: Vec<RecordedQuestion>,
    pub(in crate::plugins) expect: Value,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::plugins) redacted: RedactedParts,
}

/// The parts of a call from which data of Secrets was removed.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::plugins) struct RedactedParts {
    /// Objects that the plugin saw, or its questions: another answer or another question proves nothing.
    pub(in crate::plugins) input: bool,
    /// The answer of the hook: an equal answer proves nothing.
    pub(in crate::plugins) answer: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The namespaces and objects that move, as a check sees them.
#[derive(Serialize, Deserialize)]
pub(in crate::plugins) struct RecordedView {
    pub(in crate::plugins) namespaces: Vec<MovingNamespace>,
    pub(in crate::plugins) objects: Vec<Key>,
}

#[derive(Serialize, Deserialize)]
pub(in crate::plugins) struct MovingNamespace {
    pub(in crate::plugins) source: String,
    pub(in crate::plugins) target: String,
}

#[derive(Serialize, Deserialize)]
pub(in crate::plugins) struct RecordedQuestion {
    pub(in crate::plugins) question: Question,
    pub(in crate::plugins) answer: RecordedAnswer,
}

/// A question to the host.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::plugins) enum Question {
    Read(RecordedQuery),
    Providers(Side),
    /// As in the `probes` of a scene.
    Probe(String),
}

/// A question for objects.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::plugins) struct RecordedQuery {
    pub(in crate::plugins) side: Side,
    #[serde(flatten)]
    pub(in crate::plugins) kind: GroupKind,
    /// `*`: all; none: the namespaces that move.
    pub(in crate::plugins) namespace: Option<String>,
    pub(in crate::plugins) name: Option<String>,
}

/// The runtime decides whether a question is granted; the recording doesn't repeat that.
impl From<&Query> for RecordedQuery {
    fn from(query: &Query) -> Self {
        let Query { side, kind, namespace, name, confined: _ } = query;
        Self { side: *side, kind: kind.clone(), namespace: namespace.clone(), name: name.clone() }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::plugins) enum RecordedAnswer {
    /// Each object as its text: a tree of values takes many times the memory.
    Objects(Vec<Box<RawValue>>),
    Providers(Vec<RecordedProvider>),
    Endpoint(EndpointAnswer),
    Error(RecordedError),
}

#[derive(Serialize, Deserialize)]
pub(in crate::plugins) struct RecordedProvider {
    pub(in crate::plugins) name: String,
    #[serde(rename = "type")]
    pub(in crate::plugins) provider_type: String,
    pub(in crate::plugins) version: String,
    pub(in crate::plugins) namespace: String,
}

#[derive(Serialize, Deserialize)]
pub(in crate::plugins) struct EndpointAnswer {
    pub(in crate::plugins) status: u16,
    pub(in crate::plugins) body: String,
    pub(in crate::plugins) millis: u64,
}

#[derive(Serialize, Deserialize)]
pub(in crate::plugins) struct RecordedError {
    pub(in crate::plugins) code: String,
    pub(in crate::plugins) message: String,
}

/// As in the debug log.
impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(RecordedQuery { side, kind, namespace, name }) => {
                write!(f, "read {kind}")?;
                name.iter().try_for_each(|name| write!(f, " {name}"))?;
                write!(f, " of the {side} in ")?;
                match namespace.as_deref() {
                    None => f.write_str("moving namespaces"),
                    Some("*") => f.write_str("all namespaces"),
                    Some(one) => write!(f, "namespace {one}"),
                }
            }
            Self::Providers(side) => write!(f, "providers of the {side}"),
            Self::Probe(probe) => write!(f, "probe {probe}"),
        }
    }
}

/// The hook with its point or object.
impl fmt::Display for RecordedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.hook)?;
        if let Some(point) = self.point {
            return write!(f, " {}", point.as_str());
        }
        let Some(object) = self.source.as_ref().or(self.copy.as_ref()) else { return Ok(()) };
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let namespace = text("/metadata/namespace").map(|namespace| format!("{namespace}/"));
        let name = text("/metadata/name").unwrap_or_default();
        write!(f, " {} {}{name}", text("/kind").unwrap_or_default(), namespace.unwrap_or_default())
    }
}
