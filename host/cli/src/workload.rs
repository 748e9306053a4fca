//! The target by its Cluster: the kubeconfig that Cluster API keeps for it in the source.
//!
//! Cluster API finds that Secret by its name alone, and so does this: `NAME-kubeconfig` beside the Cluster, in its entry `value`.

use std::fmt;
use std::sync::Arc;

use pivot_core::discovery::implicit_links::{is_cluster, kubeconfig_of};
use pivot_core::messages::grouping::{MAX_LISTED_NAMES, format_objects};
use pivot_core::messages::safe_text::did_you_mean_object;
use pivot_core::messages::shell::Kubectl;
use pivot_core::objects::names::GROUP_CLUSTER;
use pivot_core::request::scope::Scope;
use pivot_core::{GroupKind, Key, Kind, Side};
use pivot_places::{ConnectError, KubeContext, KubePlace, Place, PlaceError, builtin_kinds};

use crate::args::{FromCluster, Within, Workload};

/// The entry of the Secret's data.
pub(crate) const ENTRY: &str = "value";

/// Reasons why the workload cluster was not found. Nothing has been changed yet.
#[derive(Debug)]
pub(crate) enum WorkloadError {
    Source(PlaceError),
    /// There is no such Cluster; and the Clusters that there are.
    NoCluster {
        named: String,
        there: Vec<Key>,
    },
    /// Several have the name.
    Several(Vec<Key>),
    /// The Cluster has none.
    NoSecret {
        cluster: Key,
        /// Shows the obstacles of the Cluster.
        look: Box<Kubectl>,
    },
    Unusable(ConnectError),
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => write!(f, "source: {error}"),
            Self::NoCluster { named, there } => {
                let similar = did_you_mean_object(named, there);
                let there: Vec<&Key> = there.iter().collect();
                let others = if there.is_empty() {
                    "nor any other".to_owned()
                } else {
                    format!("but {}", format_objects(&there, MAX_LISTED_NAMES))
                };
                write!(
                    f,
                    "source: there is no Cluster {named}{similar}, {others}; if it was moved already, name a saved copy of its kubeconfig \
                     with --to-kubeconfig"
                )
            }
            Self::Several(there) => {
                let all: Vec<&Key> = there.iter().collect();
                let named = there.first().map(typed_name).unwrap_or_default();
                write!(
                    f,
                    "source: {}; name one of them: --to-workload {named}",
                    format_objects(&all, MAX_LISTED_NAMES)
                )
            }
            Self::NoSecret { cluster, look } => write!(
                f,
                "source: {} doesn't exist: the control plane of {cluster} is not initialised yet; see what it waits for: `{look}`",
                kubeconfig_of(cluster),
            ),
            Self::Unusable(error) => write!(f, "target: {error}"),
        }
    }
}

impl std::error::Error for WorkloadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unusable(error) => error.source(),
            _ => None,
        }
    }
}

/// Finds a Cluster's kubeconfig in the source, and opens its server. The Cluster is returned with it.
pub(crate) async fn open_workload(
    source: &dyn Place,
    of_context: Option<&str>,
    workload: &Workload,
) -> Result<(KubePlace, Key), WorkloadError> {
    let namespace = match &workload.within {
        Within::Namespace(namespace) => Some(namespace.as_str()),
        Within::OfContext => Some(of_context.unwrap_or("default")),
        Within::Any => None,
    };
    let cluster = match namespace {
        Some(namespace) => Key::new(kind_of_clusters(), Some(namespace), &workload.name),
        None => single_cluster(&workload.name, list_clusters(source, None).await?)?,
    };
    let kind = builtin_kinds().into_iter().find(|kind| kind.group_kind.is_secret());
    let kind =
        kind.ok_or_else(|| WorkloadError::Source(PlaceError::NotFound("the kind Secret".to_owned())))?;
    let secret =
        source.get(&Arc::new(kind), &kubeconfig_of(&cluster)).await.map_err(WorkloadError::Source)?;
    let Some(secret) = secret else {
        let flags = kubectl_flags(source.context());
        return Err(without_secret(cluster, list_clusters(source, namespace).await?, flags));
    };
    // Otherwise whoever may write Secrets, in a namespace that has no such Cluster, could choose where everything goes.
    if workload.must_exist && namespace.is_some() {
        let there = list_clusters(source, namespace).await?;
        if !there.contains(&cluster) {
            return Err(WorkloadError::NoCluster { named: typed_name(&cluster), there });
        }
    }
    let place = KubePlace::connect_by_secret(secret, ENTRY, workload.options.clone()).await;
    Ok((place.map_err(WorkloadError::Unusable)?, cluster))
}

fn kind_of_clusters() -> GroupKind {
    GroupKind::new(GROUP_CLUSTER, "Cluster")
}

/// The Clusters of all namespaces; if the user is not allowed to list those, of the one that was named.
async fn list_clusters(source: &dyn Place, namespace: Option<&str>) -> Result<Vec<Key>, WorkloadError> {
    let kinds = source.kinds().await.map_err(WorkloadError::Source)?;
    let Some(kind) = kinds.into_iter().find(|kind| is_cluster(&kind.group_kind)) else {
        return Ok(Vec::new());
    };
    let listed = match (source.list_meta(&kind, None).await, namespace) {
        (Err(PlaceError::Forbidden(_)), Some(namespace)) => source.list_meta(&kind, Some(namespace)).await,
        (listed, _) => listed,
    };
    Ok(cluster_keys(&kind, listed.map_err(WorkloadError::Source)?))
}

fn cluster_keys(kind: &Kind, listed: pivot_places::MetaListing) -> Vec<Key> {
    let key =
        |meta: pivot_core::Meta| Key::new(kind.group_kind.clone(), meta.namespace.as_deref(), meta.name);
    let mut keys: Vec<Key> = listed.metas.into_iter().map(key).collect();
    keys.sort();
    keys
}

/// The only Cluster of that name.
fn single_cluster(name: &str, there: Vec<Key>) -> Result<Key, WorkloadError> {
    let (mut same, others): (Vec<Key>, Vec<Key>) =
        there.into_iter().partition(|cluster| cluster.name == name);
    match (same.pop(), same.is_empty()) {
        (Some(cluster), true) => Ok(cluster),
        (Some(last), false) => {
            same.push(last);
            Err(WorkloadError::Several(same))
        }
        (None, _) => Err(WorkloadError::NoCluster { named: name.to_owned(), there: others }),
    }
}

/// The kubectl flags that name a context.
pub(crate) fn kubectl_flags(context: Option<&KubeContext>) -> Vec<String> {
    let Some(KubeContext { kubeconfig, name }) = context else { return Vec::new() };
    ["--kubeconfig", &kubeconfig.display().to_string(), "--context", name].map(str::to_owned).to_vec()
}

fn without_secret(cluster: Key, there: Vec<Key>, flags: Vec<String>) -> WorkloadError {
    if there.contains(&cluster) {
        let look = Kubectl { flags, ..Kubectl::object(Side::Source, "describe", &cluster, &[]) };
        WorkloadError::NoSecret { cluster, look: Box::new(look) }
    } else {
        WorkloadError::NoCluster { named: typed_name(&cluster), there }
    }
}

/// Returns true if a Cluster and its kubeconfig are within the scope of the move.
pub(crate) fn may_move(cluster: &Key, scope: &Scope) -> bool {
    scope.includes_namespace(cluster.namespace.as_deref()) && scope.includes_cluster(cluster)
}

/// The command that saves the kubeconfig to a file that only its owner can read.
pub(crate) fn kubeconfig_command(cluster: &Key, from: &FromCluster) -> String {
    let FromCluster { kubeconfig, kubeconfig_context, as_user, as_group, .. } = from;
    let file = kubeconfig.as_ref().map(|path| path.display().to_string());
    let path = format!("jsonpath={{.data.{ENTRY}}}");
    let one = [
        ("-o", Some(&path)),
        ("--kubeconfig", file.as_ref()),
        ("--context", kubeconfig_context.as_ref()),
        ("--as", as_user.as_ref()),
    ];
    let one = one.into_iter().filter_map(|(flag, value)| Some((flag, value?)));
    let words = one.chain(as_group.iter().map(|group| ("--as-group", group)));
    let words: Vec<&str> = words.flat_map(|(flag, value)| [flag, value]).collect();
    let get = Kubectl::object(Side::Source, "get", &kubeconfig_of(cluster), &words);
    // Without `-C` a kubeconfig of that name would be emptied before it is read.
    format!("(umask 077; set -C; {get} | base64 -d > {})", saved_kubeconfig(cluster))
}

/// The file that [`kubeconfig_command`] writes.
pub(crate) fn saved_kubeconfig(cluster: &Key) -> String {
    format!("{}.kubeconfig", cluster.name)
}

/// As it can be typed.
pub(crate) fn typed_name(cluster: &Key) -> String {
    let Key { namespace, name, .. } = cluster;
    namespace.as_ref().map_or_else(|| name.clone(), |namespace| format!("{namespace}/{name}"))
}

#[cfg(test)]
mod tests {
    use pivot_core::request::scope::{ClusterName, Namespaces};

    use super::*;

    fn cluster(namespace: &str, name: &str) -> Key {
        Key::new(kind_of_clusters(), Some(namespace), name)
    }

    // proves: T92
    #[test]
    fn unique_name_finds_its_cluster() {
        let there = || vec![cluster("a", "c1"), cluster("a", "c2"), cluster("b", "c2")];
        assert_eq!(single_cluster("c1", there()).unwrap(), cluster("a", "c1"));
        assert_eq!(
            single_cluster("c2", there()).unwrap_err().to_string(),
            "source: 2 Clusters: a/c2, b/c2; name one of them: --to-workload a/c2"
        );
        assert_eq!(
            single_cluster("c3", there()).unwrap_err().to_string(),
            "source: there is no Cluster c3, but 3 Clusters: a/c1, a/c2, b/c2; if it was moved already, name a \
             saved copy of its kubeconfig with --to-kubeconfig"
        );
    }

    #[test]
    fn mistyped_cluster_suggests_a_similar_one() {
        let there = || vec![cluster("metal3", "edge"), cluster("shop", "core")];
        for typed in ["egde", "metl3/edge", "metal3/egde"] {
            let error = WorkloadError::NoCluster { named: typed.to_owned(), there: there() }.to_string();
            let expected =
                format!("there is no Cluster {typed} (did you mean metal3/edge?), but 2 Clusters:");
            assert!(error.contains(&expected), "{error}");
        }
        let other = WorkloadError::NoCluster { named: "shop/web".to_owned(), there: there() }.to_string();
        assert!(!other.contains("did you mean"), "{other}");
    }

    #[test]
    fn missing_secret_is_explained() {
        let flags = || kubectl_flags(Some(&KubeContext { kubeconfig: "boot".into(), name: "one".into() }));
        let without = |there| without_secret(cluster("a", "c1"), there, flags()).to_string();
        assert_eq!(
            without(vec![cluster("a", "c1")]),
            "source: Secret a/c1-kubeconfig doesn't exist: the control plane of Cluster a/c1 is not initialised yet; see what it \
             waits for: `kubectl --kubeconfig boot --context one describe -n a cluster.cluster.x-k8s.io c1`"
        );
        assert_eq!(
            without(Vec::new()),
            "source: there is no Cluster a/c1, nor any other; if it was moved already, name a saved copy of its kubeconfig with \
             --to-kubeconfig"
        );
    }

    #[test]
    fn a_cluster_elsewhere_stays_with_its_kubeconfig() {
        let cluster = cluster("a", "c1");
        let scopes =
            [Namespaces::All, Namespaces::One("a".into()), Namespaces::One("b".into())].map(Scope::new);
        assert_eq!(scopes.map(|scope| may_move(&cluster, &scope)), [true, true, false]);
        let named = ["c1", "c2"].map(|name| Scope {
            clusters: [ClusterName::new("a", name)].into(),
            ..Scope::new(Namespaces::One("a".into()))
        });
        assert_eq!(named.map(|scope| may_move(&cluster, &scope)), [true, false]);
    }

    #[test]
    fn kubeconfig_command_keeps_server_and_user() {
        let from = FromCluster {
            kubeconfig: Some("boot config".into()),
            kubeconfig_context: Some("boot".into()),
            as_user: Some("jane".into()),
            as_group: vec!["ops".into(), "dev".into()],
            ..FromCluster::default()
        };
        assert_eq!(
            kubeconfig_command(&cluster("a", "c1"), &from),
            "(umask 077; set -C; kubectl get -n a secret c1-kubeconfig -o 'jsonpath={.data.value}' --kubeconfig 'boot config' --context \
             boot --as jane --as-group ops --as-group dev | base64 -d > c1.kubeconfig)"
        );
    }
}
