//! Evidence that two objects describe the same workload cluster: the address of its control plane, and its certificate authority.
//!
//! Names and UIDs are no evidence: a name can be used again, and each management cluster assigns its own UIDs.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::objects::kind::GroupKind;
use crate::objects::object::{Key, Object, ObjectError, Uid};
use crate::records::release::short_hex;

/// Identity of a workload cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterIdentity {
    /// Host and port of the control plane. None before it has an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Digest of the authority's certificate, which is public. None if the provider stores the authority elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
}

/// A Cluster that moved, under its name in the target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MovedCluster {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID in the source.
    pub uid: Uid,
    /// Identity of the workload cluster.
    #[serde(flatten)]
    pub identity: ClusterIdentity,
}

impl ClusterIdentity {
    /// Reads the identity of a Cluster. `authority` is the Secret of [`authority_secret_key`], if it exists.
    pub fn from_objects(cluster: &Object, authority: Option<&Object>) -> Result<Self, ObjectError> {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct View {
            spec: Spec,
        }
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct Spec {
            control_plane_endpoint: Option<Endpoint>,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Endpoint {
            host: String,
            port: u32,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Authority {
            data: Option<Certificate>,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Certificate {
            #[serde(rename = "tls.crt")]
            certificate: Option<String>,
        }
        let Endpoint { host, port } = cluster.view::<View>()?.spec.control_plane_endpoint.unwrap_or_default();
        let authority = authority.map(Object::view::<Authority>).transpose()?.unwrap_or_default();
        Ok(Self {
            endpoint: (!host.is_empty()).then(|| format!("{host}:{port}")),
            authority: authority
                .data
                .and_then(|data| data.certificate)
                .map(|text| short_hex(&Sha256::digest(text))),
        })
    }

    /// Returns true if both identities certainly belong to one workload cluster. An identity without an address matches none.
    pub fn is_same(&self, other: &Self) -> bool {
        self.endpoint.is_some() && self == other
    }
}

/// Returns the key of the Secret with the certificate authority of a Cluster.
pub fn authority_secret_key(cluster: &Key) -> Key {
    Key::new(GroupKind::new("", "Secret"), cluster.namespace.as_deref(), format!("{}-ca", cluster.name))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::objects::kind::{Kind, KindLabels};

    fn object(kind: &str, fields: Value) -> Object {
        let kind = Kind {
            group_kind: GroupKind::new("", kind),
            version: "v1".into(),
            plural: String::new(),
            namespaced: true,
            status_subresource: true,
            served: vec![],
            labels: KindLabels::default(),
        };
        let mut body = json!({"metadata": {"name": "c", "namespace": "ns"}});
        crate::objects::merge::apply_patch(&mut body, &fields);
        Object::from_value(Arc::new(kind), &body).unwrap()
    }

    fn identity(host: &str, certificate: Option<&str>) -> ClusterIdentity {
        let spec = json!({"spec": {"controlPlaneEndpoint": {"host": host, "port": 6443}}});
        let authority = certificate
            .map(|text| object("Secret", json!({"data": {"tls.crt": text, "tls.key": "c2VjcmV0"}})));
        ClusterIdentity::from_objects(&object("Cluster", spec), authority.as_ref()).unwrap()
    }

    #[test]
    fn same_address_and_authority_mean_same_cluster() {
        let one = identity("10.0.0.1", Some("Y2E="));
        assert_eq!(one.endpoint.as_deref(), Some("10.0.0.1:6443"));
        assert!(one.is_same(&identity("10.0.0.1", Some("Y2E="))));
        for other in [
            identity("10.0.0.2", Some("Y2E=")),
            identity("10.0.0.1", Some("Y2I=")),
            identity("10.0.0.1", None),
        ] {
            assert!(!one.is_same(&other), "{other:?}");
        }
        let (managed, unborn) = (identity("eks", None), identity("", Some("Y2E=")));
        assert!(managed.is_same(&managed) && !unborn.is_same(&unborn));
        assert_eq!(
            ClusterIdentity::from_objects(&object("Cluster", json!({})), None).unwrap(),
            ClusterIdentity::default()
        );
    }
}
