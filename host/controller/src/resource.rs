//! The resource `Pivot`: a move, as a user describes it to a cluster.
//!
//! Options have the names of the flags of `pivot-host move`. A Pivot with a field that this version doesn't know is refused as a
//! whole: if an `exclude` were overlooked, objects would move that should stay.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use pivot_core::messages::risk::{AcceptedBy, AcceptedRisk, AcceptedRisks, InvalidRisk, Risk};
use pivot_core::objects::names::OURS;
use pivot_core::objects::selector::Part;
use pivot_core::request::mapping::NamespaceMap;
use pivot_core::request::scope::{ClusterName, Namespaces, Scope};
use pivot_core::request::selector_syntax;
use pivot_core::request::validate::find_name_error;
use pivot_core::{GroupKind, Key, Kind, KindLabels, Meta, Object, Side};
use pivot_engine::Options;
use pivot_link::AgentName;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::decide::Intent;
use crate::status::PivotStatus;

/// The API group of Pivots.
pub const GROUP: &str = "pivot-host.io";
/// The version of the API.
pub const VERSION: &str = "v1alpha1";
/// Keeps a Pivot until its move has ended or is undone.
pub(crate) const FINALIZER: &str = "pivot-host.io/pivot";
/// Asks for another attempt at once, whenever its value changes. By convention the value is a time.
pub(crate) const REQUESTED_AT: &str = "pivot-host.io/requestedAt";
/// The fields of a Pivot.
const PIVOT_FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
/// The entry in which Cluster API keeps a kubeconfig.
const KUBECONFIG_ENTRY: &str = "value";

/// Messages about contradictions in a spec. The server has the same messages, by the definition.
pub(crate) const ONE_SOURCE: &str = "from.kubeconfig and from.agent exclude each other";
pub(crate) const ONE_TARGET: &str = "to.cluster, to.kubeconfig and to.agent exclude each other";
pub(crate) const OWN_NAMESPACE: &str = "from.namespace needs from.kubeconfig or from.agent: out of this cluster, a Pivot moves its own namespace";
pub(crate) const OWN_TARGET: &str = "to.namespace needs to.cluster, to.kubeconfig or to.agent: into this cluster, a Pivot moves to its own namespace";
pub(crate) const NO_AGENT: &str = "whenAway: Finish needs to.agent: only an agent can finish a move alone";
pub(crate) const OWN_ALSO_COPY: &str = "out of this cluster, a Pivot can also copy objects of its namespace only; for other objects, start the \
                                    controller with --also-copy";
pub(crate) const OF_RECORDS: &str =
    "from.namespace and to.namespace: the namespace of leases and records does not move";
pub(crate) const SAME_CLUSTER: &str =
    "spec.from and spec.to are both this cluster: name another cluster in one of them";

/// The spec of a Pivot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spec {
    /// Source of the objects.
    #[serde(default)]
    pub from: PivotSource,
    /// Target of the objects.
    pub to: PivotTarget,
    /// The Clusters that move, with the objects that they need. If empty, the whole namespace moves.
    #[serde(default)]
    pub clusters: BTreeSet<String>,
    /// Behaviour of a committed move while this cluster can't be reached.
    #[serde(default)]
    pub when_away: WhenAway,
    /// True if the move waits, as long as it has copied nothing.
    #[serde(default)]
    pub suspend: bool,
    /// Options of the move.
    #[serde(default)]
    pub options: MoveOptions,
}

/// The behaviour of a committed move while the controller's cluster can't be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WhenAway {
    /// The move waits.
    #[default]
    Wait,
    /// The target's agent resumes and settles the copies, if its flags allow that.
    Finish,
}

/// The source. By default the Pivot's own cluster and namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PivotSource {
    /// Another cluster.
    #[serde(default)]
    pub kubeconfig: Option<KubeconfigSecret>,
    /// The cluster of an agent of the Pivot's namespace.
    #[serde(default)]
    pub agent: Option<String>,
    /// The namespace in that cluster; by default the Pivot's.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// The target. By default the Pivot's own cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PivotTarget {
    /// The workload cluster of this Cluster, which is in the source.
    #[serde(default)]
    pub cluster: Option<String>,
    /// Another cluster.
    #[serde(default)]
    pub kubeconfig: Option<KubeconfigSecret>,
    /// The cluster of an agent of the Pivot's namespace.
    #[serde(default)]
    pub agent: Option<String>,
    /// The namespace there; by default the source's. In the Pivot's own cluster it is the Pivot's.
    #[serde(default)]
    pub namespace: Option<String>,
}

impl PivotSource {
    /// Returns true for the Pivot's own cluster.
    pub(crate) fn is_own(&self) -> bool {
        self.kubeconfig.is_none() && self.agent.is_none()
    }
}

impl PivotTarget {
    /// Returns true for the Pivot's own cluster.
    pub(crate) fn is_own(&self) -> bool {
        let Self { cluster, kubeconfig, agent, .. } = self;
        cluster.is_none() && kubeconfig.is_none() && agent.is_none()
    }
}

/// A Secret with a kubeconfig, in the Pivot's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubeconfigSecret {
    /// Name of the Secret.
    pub name: String,
    /// Key of the kubeconfig in the Secret's data.
    #[serde(default = "default_entry")]
    pub key: String,
}

pub(crate) fn default_entry() -> String {
    KUBECONFIG_ENTRY.to_owned()
}

/// A risk that a Pivot accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PivotRisk {
    /// Code of the risk.
    pub code: String,
    /// Kinds for which the risk is accepted, if it takes kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
}

/// Options of the move, by the names of the flags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MoveOptions {
    /// Objects that stay in the source, as typed for the flag.
    pub exclude: Vec<String>,
    /// Objects that are copied and kept, as typed for the flag. If the source is the Pivot's own cluster, only those in the Pivot's
    /// namespace.
    pub also_copy: Vec<String>,
    /// Risks that the move accepts.
    pub accept: Vec<PivotRisk>,
    /// Limit of the wait for the source's controllers to acknowledge the pause.
    pub pause_timeout_seconds: Option<u32>,
    /// Limit of the wait for plugins' checks.
    pub check_timeout_seconds: Option<u32>,
    /// Limit of the wait for the target's controllers to take over.
    pub takeover_timeout_seconds: Option<u32>,
    /// Maximum number of held objects that are unpaused together.
    pub unpause_batch: Option<u8>,
}

/// The largest spec that is kept. The largest that the definition allows is smaller.
const MAX_SPEC_BYTES: usize = 80 << 10;
/// The longest value of a request for an attempt.
pub(crate) const MAX_REQUEST_BYTES: usize = 1 << 10;

/// A Pivot as it was last seen.
#[derive(Clone, Debug)]
pub(crate) struct Pivot {
    pub(crate) key: Key,
    pub(crate) meta: Meta,
    /// The spec, or the reason why it can't be read.
    pub(crate) spec: Result<Spec, String>,
    pub(crate) status: PivotStatus,
}

/// The kind of Pivots.
pub(crate) fn pivot_kind() -> Arc<Kind> {
    Arc::new(Kind {
        group_kind: GroupKind::new(GROUP, "Pivot"),
        version: VERSION.to_owned(),
        plural: "pivots".to_owned(),
        namespaced: true,
        status_subresource: true,
        served: vec![VERSION.to_owned()],
        labels: KindLabels::default(),
    })
}

impl Pivot {
    pub(crate) fn from_object(object: &Object) -> Self {
        let body = object.value().unwrap_or_default();
        // There may be many, and each may be large.
        let mut meta = object.meta.clone();
        meta.labels.clear();
        meta.owner_references.clear();
        meta.finalizers.retain(|name| name == FINALIZER);
        meta.annotations.retain(|name, value| name.starts_with(OURS) && value.len() <= MAX_REQUEST_BYTES);
        let part = |name: &str| body.get(name).cloned().unwrap_or_default();
        let unknown = body
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
            .find(|name| !PIVOT_FIELDS.contains(&name.as_str()));
        let spec = match unknown {
            _ if body.get("spec").is_some_and(|spec| spec.to_string().len() > MAX_SPEC_BYTES) => {
                Err(format!("spec: it has more than {MAX_SPEC_BYTES} bytes"))
            }
            Some(name) => Err(format!("unknown field `{name}` next to spec")),
            None => serde_json::from_value(part("spec")).map_err(|error| format!("spec: {error}")),
        };
        // A status that can't be read was not written by a controller, and is replaced.
        let status = serde_json::from_value(part("status")).unwrap_or_default();
        Self { key: object.key(), meta, spec, status }
    }

    pub(crate) fn namespace(&self) -> &str {
        self.key.namespace.as_deref().unwrap_or_default()
    }

    /// Returns true if one of the Pivot's clusters is this agent's.
    pub(crate) fn is_of_agent(&self, agent: &AgentName) -> bool {
        let Ok(Spec { from, to, .. }) = &self.spec else { return false };
        let named = [&from.agent, &to.agent].contains(&&Some(agent.name.clone()));
        self.namespace() == agent.namespace && named
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.meta.deletion_timestamp.is_some()
    }

    /// Returns the value of the last request for an attempt.
    pub(crate) fn requested_at(&self) -> Option<&str> {
        self.meta.annotations.get(REQUESTED_AT).map(String::as_str)
    }

    pub(crate) fn has_finalizer(&self) -> bool {
        self.meta.finalizers.iter().any(|name| name == FINALIZER)
    }

    /// Returns the state that users want of the Pivot.
    pub(crate) fn intent(&self) -> Intent {
        match &self.spec {
            _ if self.is_deleted() => Intent::Delete,
            Ok(spec) if spec.suspend => {
                Intent::Suspend { believes_source: !spec.to.is_own() || self.status.has_copied() }
            }
            _ => Intent::Move,
        }
    }

    /// Returns the operator of the Pivot's move, as records name it. By this name the move is found again, even without a status.
    pub(crate) fn operator_name(&self) -> String {
        format!("Pivot {}/{} (UID {})", self.namespace(), self.key.name, self.meta.uid)
    }
}

impl Spec {
    /// Returns true if the Pivot takes objects out of a namespace that it names, or moves them into it.
    pub(crate) fn names_namespace(&self, namespace: &str) -> bool {
        [&self.from.namespace, &self.to.namespace].into_iter().flatten().any(|named| named == namespace)
    }

    /// Returns the source's namespace.
    pub(crate) fn source_namespace<'a>(&'a self, own: &'a str) -> &'a str {
        self.from.namespace.as_deref().unwrap_or(own)
    }

    /// Returns the engine's options for the Pivot of a namespace, or the reason why the spec is invalid.
    pub(crate) fn engine_options(&self, own: &str) -> Result<Options, String> {
        let Self { from, to, clusters, when_away, suspend: _, options } = self;
        let MoveOptions {
            exclude,
            also_copy,
            accept,
            pause_timeout_seconds,
            check_timeout_seconds,
            takeover_timeout_seconds,
            unpause_batch,
        } = options;
        let elsewhere = usize::from(from.kubeconfig.is_some()) + usize::from(from.agent.is_some());
        let named = [to.cluster.is_some(), to.kubeconfig.is_some(), to.agent.is_some()];
        // Permission to write a Pivot in one namespace is no permission to move another namespace.
        match (elsewhere, named.into_iter().filter(|is| *is).count()) {
            (2, _) => return Err(ONE_SOURCE.into()),
            (_, 2..) => return Err(ONE_TARGET.into()),
            (0, _) if from.namespace.is_some() => return Err(OWN_NAMESPACE.into()),
            (0, 0) => return Err(SAME_CLUSTER.into()),
            (_, 0) if to.namespace.is_some() => return Err(OWN_TARGET.into()),
            _ if *when_away == WhenAway::Finish && to.agent.is_none() => return Err(NO_AGENT.into()),
            _ => {}
        }
        let namespace = self.source_namespace(own);
        let places = [&to.cluster, &to.agent, &from.agent, &from.namespace, &to.namespace];
        let names = clusters.iter().chain(places.into_iter().flatten());
        if let Some(odd) = names.map(String::as_str).find_map(find_name_error) {
            return Err(odd);
        }
        let there = if to.is_own() { own } else { to.namespace.as_deref().unwrap_or(namespace) };
        let pairs = (there != namespace).then(|| (namespace.to_owned(), there.to_owned()));
        let (of_scope, accept) = parse_accepted_risks(accept)?.split_scope();
        let scope = Scope {
            clusters: clusters.iter().map(|name| ClusterName::new(namespace, name)).collect(),
            exclude: parse_parts("exclude", exclude)?,
            also_copy: if from.is_own() {
                confine_parts(own, parse_parts("alsoCopy", also_copy)?)?
            } else {
                parse_parts("alsoCopy", also_copy)?
            },
            namespace_map: NamespaceMap::new(pairs).map_err(|error| format!("to.namespace: {error}"))?,
            accept: of_scope,
            ..Scope::new(Namespaces::One(namespace.to_owned()))
        };
        let usual = Options::new(scope);
        let seconds =
            |given: &Option<u32>, usual| given.map_or(usual, |given| Duration::from_secs(given.into()));
        Ok(Options {
            accept,
            pause_timeout: seconds(pause_timeout_seconds, usual.pause_timeout),
            check_timeout: seconds(check_timeout_seconds, usual.check_timeout),
            takeover_timeout: seconds(takeover_timeout_seconds, usual.takeover_timeout),
            unpause_batch: unpause_batch.map_or(usual.unpause_batch, |most| most.max(1).into()),
            // The controller has roles in the namespaces of other Pivots, too.
            confined: match (from.is_own(), to.is_own()) {
                (true, _) => Some(Side::Source),
                (false, own) => own.then_some(Side::Target),
            },
            finish_alone: *when_away == WhenAway::Finish,
            ..usual
        })
    }
}

/// Confines parts to one namespace. Otherwise a Pivot would copy objects that its author can't read to a cluster where the author
/// can.
fn confine_parts(own: &str, parts: BTreeSet<Part>) -> Result<BTreeSet<Part>, String> {
    let confined = parts.into_iter().map(|part| {
        let named = part.object.as_ref().map(|object| object.namespace.as_deref());
        match (named, part.within.as_deref()) {
            (Some(Some(namespace)), _) | (None, Some(namespace)) if namespace == own => Ok(part),
            (None, None) => Ok(Part { within: Some(own.to_owned()), ..part }),
            _ => Err(format!("options.alsoCopy {:?}: {OWN_ALSO_COPY}", part.to_string())),
        }
    });
    confined.collect()
}

fn parse_parts(option: &str, given: &[String]) -> Result<BTreeSet<Part>, String> {
    let parts = given.iter().map(|text| {
        selector_syntax::parse_part(text).map_err(|why| format!("options.{option} {text:?}: {why}"))
    });
    parts.collect()
}

fn parse_accepted_risks(accept: &[PivotRisk]) -> Result<AcceptedRisks, String> {
    let mut risks = Vec::new();
    for PivotRisk { code, kinds } in accept {
        let wrong = |why: String| format!("options.accept {code:?}: {why}");
        let known = code.parse().ok().filter(|risk: &Risk| risk.is_accepted_by(AcceptedBy::Pivot));
        let risk = known.ok_or_else(|| wrong("not a risk that a Pivot can accept".to_owned()))?;
        let kinds = kinds
            .iter()
            .map(|text| selector_syntax::parse_kind(text).map_err(|why| wrong(format!("{text:?}: {why}"))));
        risks.push(AcceptedRisk { code: risk, kinds: kinds.collect::<Result<_, _>>()? });
    }
    risks.try_into().map_err(|error: InvalidRisk| format!("options.accept: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pivot_options_reach_the_move() {
        let options = |given| {
            let spec = json!({"to": {"cluster": "c"}, "options": given});
            serde_json::from_value::<Spec>(spec).unwrap().engine_options("a").unwrap()
        };
        let usual = options(json!({}));
        assert!(usual.accept.is_empty() && usual.scope.accept.is_empty());
        let accept = json!([
            {"code": "plugins-changed"}, {"code": "takeover-unchecked"}, {"code": "no-plugin", "kinds": ["Host.metal3.io"]},
        ]);
        let set = options(json!({"accept": accept, "takeoverTimeoutSeconds": 7}));
        assert!(set.accept.contains(Risk::PluginsChanged) && set.accept.contains(Risk::TakeoverUnchecked));
        assert!(set.scope.accept.contains_kind(Risk::NoPlugin, &GroupKind::new("metal3.io", "Host")));
        assert_eq!(set.takeover_timeout, Duration::from_secs(7));
    }

    #[test]
    fn risks_that_a_pivot_cannot_accept_are_refused() {
        for (accept, why) in [
            (
                json!({"code": "source-may-run"}),
                "options.accept \"source-may-run\": not a risk that a Pivot can accept",
            ),
            (json!({"code": "no-plugin"}), "options.accept: no-plugin is accepted for a kind"),
            (
                json!({"code": "unprovisioned", "kinds": ["A.g"]}),
                "options.accept: unprovisioned takes no kind",
            ),
            (
                json!({"code": "shared", "kinds": ["machine"]}),
                "options.accept \"shared\": \"machine\": not a kind",
            ),
        ] {
            let spec = json!({"to": {"cluster": "c"}, "options": {"accept": [accept]}});
            let refused = serde_json::from_value::<Spec>(spec).unwrap().engine_options("a").unwrap_err();
            assert!(refused.starts_with(why), "{refused}");
        }
    }
}
