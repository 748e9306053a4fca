//! Moved kinds whose controllers give no sign. Only the Deployments of their providers can show before the commit that they run.

use std::collections::{BTreeMap, BTreeSet};

use crate::copies::signs::{awaited_row_of, row_of};
use crate::discovery::implicit_links::TEMPLATE;
use crate::objects::kind::GroupKind;
use crate::objects::names::MANAGED_BY;
use crate::objects::object::{Key, Object, ObjectError};

/// Kinds with controllers that give no sign.
#[derive(Debug, Default)]
pub struct KindsWithoutSign {
    /// One object of each kind.
    pub objects: BTreeMap<GroupKind, Key>,
    /// Providers whose controllers give a sign on other objects.
    signing: BTreeSet<&'static str>,
}

impl KindsWithoutSign {
    /// Selects the kinds by the objects of the source.
    pub fn select<'a>(sources: impl IntoIterator<Item = &'a Object>) -> Result<Self, ObjectError> {
        let (mut objects, mut signing) = (BTreeMap::new(), BTreeSet::new());
        for source in sources {
            let kind = &source.kind.group_kind;
            if let Some(row) = awaited_row_of(source)? {
                signing.insert(row.provider);
            } else if !objects.contains_key(kind) && has_controller(source)? {
                objects.insert(kind.clone(), source.key());
            }
        }
        objects.retain(|kind, _| row_of(kind).is_none_or(|row| !signing.contains(row.provider)));
        Ok(Self { objects, signing })
    }

    /// Groups the objects by the providers of their kinds. Leaves out providers that give a sign, and kinds without a known provider.
    pub fn group_by_provider(self, providers: &BTreeMap<GroupKind, String>) -> BTreeMap<String, Vec<Key>> {
        let mut grouped: BTreeMap<String, Vec<Key>> = BTreeMap::new();
        for (kind, object) in self.objects {
            let known = row_of(&kind).map(|row| row.provider);
            let provider = known.or_else(|| providers.get(&kind).map(String::as_str));
            if let Some(provider) = provider.filter(|provider| !self.signing.contains(provider)) {
                grouped.entry(provider.to_owned()).or_default().push(object);
            }
        }
        grouped
    }
}

/// Returns true if a controller of the source watches the object: the object has a status. Templates don't count, because the
/// controllers of other kinds watch them.
fn has_controller(source: &Object) -> Result<bool, ObjectError> {
    let GroupKind { group, kind } = &source.kind.group_kind;
    let is_left_out = group.is_empty() || kind.ends_with(TEMPLATE) || source.meta.has_annotation(MANAGED_BY);
    Ok(!is_left_out && source.has_status()?)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::copies::signs::{BOOTSTRAP, INFRASTRUCTURE};
    use crate::objects::names::GROUP_CLUSTER;
    use crate::testing;

    fn object(group: &str, kind: &str, status: &Value) -> Object {
        let group_kind = GroupKind::new(group, kind);
        let kind = crate::Kind { group_kind, ..crate::Kind::clone(&testing::kind(kind)) };
        let body = json!({"metadata": {"name": "x", "namespace": "ns"}, "status": status});
        Object::from_value(kind.into(), &body).unwrap()
    }

    #[test]
    fn providers_without_any_sign_are_judged() {
        let paused = json!({"conditions": [{"type": "Paused", "status": "True"}]});
        let ready = json!({"ready": true});
        let labels = [
            ("AzureCluster", "infrastructure-azure"),
            ("AzureMachine", "infrastructure-azure"),
            ("AzureMachineTemplate", "infrastructure-azure"),
            ("Metal3DataClaim", "infrastructure-metal3"),
        ];
        let providers: BTreeMap<GroupKind, String> =
            labels.map(|(kind, provider)| (GroupKind::new(INFRASTRUCTURE, kind), provider.to_owned())).into();
        let infra = |kind: &str, status: &Value| object(INFRASTRUCTURE, kind, status);
        for (objects, expected) in [
            (vec![infra("AzureCluster", &ready)], "infrastructure-azure: AzureCluster ns/x"),
            (
                vec![infra("AzureCluster", &ready), infra("AzureMachine", &ready)],
                "infrastructure-azure: AzureCluster ns/x, AzureMachine ns/x",
            ),
            // No controller of the source watches these.
            (vec![infra("AzureCluster", &Value::Null), infra("AzureMachineTemplate", &ready)], ""),
            // Another kind of the provider gives a sign.
            (vec![infra("Metal3DataClaim", &ready), infra("Metal3Machine", &paused)], ""),
            (vec![infra("Metal3DataClaim", &ready)], "infrastructure-metal3: Metal3DataClaim ns/x"),
            (vec![infra("Unlabelled", &ready), object("", "Secret", &ready)], ""),
            // Cluster API before 1.9.
            (vec![object(GROUP_CLUSTER, "Cluster", &ready)], "cluster-api: Cluster ns/x"),
            (
                vec![object(GROUP_CLUSTER, "Cluster", &paused), object(BOOTSTRAP, "KubeadmConfig", &ready)],
                "bootstrap-kubeadm: KubeadmConfig ns/x",
            ),
        ] {
            let kinds = KindsWithoutSign::select(&objects).unwrap();
            let grouped = kinds.group_by_provider(&providers);
            let lines = grouped.iter().map(|(provider, objects)| {
                let names: Vec<String> = objects.iter().map(Key::to_string).collect();
                format!("{provider}: {}", names.join(", "))
            });
            assert_eq!(lines.collect::<Vec<_>>().join("; "), expected);
        }
    }

    #[test]
    fn providers_with_signs_need_no_labels() {
        let paused = json!({"conditions": [{"type": "Paused", "status": "True"}]});
        let machines =
            [&paused, &json!({"ready": true})].map(|status| object(GROUP_CLUSTER, "Machine", status));
        assert!(KindsWithoutSign::select(&machines).unwrap().objects.is_empty());
    }
}
