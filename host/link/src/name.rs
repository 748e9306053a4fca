//! The name of an agent, as its certificate states it and as a Pivot refers to it.

use std::fmt;

use serde::{Deserialize, Serialize};
use tokio_rustls::rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

/// An agent, by the namespace of the Pivots that may use it, and a name in that.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentName {
    /// The namespace.
    pub namespace: String,
    /// The name in it.
    pub name: String,
}

impl AgentName {
    /// That of a certificate: one URI `spiffe://DOMAIN/agent/NAMESPACE/NAME` among its names. The domain says nothing here, because
    /// the authority is the site's own.
    pub(crate) fn from_certificate(certificate: &CertificateDer<'_>) -> Option<Self> {
        let certificate = EndEntityCert::try_from(certificate).ok()?;
        let mut names = certificate.valid_uri_names().filter_map(Self::from_uri);
        // Two would be two agents.
        names.next().filter(|_| names.next().is_none())
    }

    /// The URI that it has in a certificate of an authority of this domain.
    pub(crate) fn to_uri(&self, domain: &str) -> String {
        format!("spiffe://{domain}/agent/{}/{}", self.namespace, self.name)
    }

    /// Returns true if both parts can be names of a namespace: lower-case letters, digits and inner hyphens. So neither part
    /// has a meaning in an address or in the name of an object.
    pub fn is_valid(&self) -> bool {
        let label = |text: &str| {
            (1..=63).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
                && !text.starts_with('-')
                && !text.ends_with('-')
        };
        label(&self.namespace) && label(&self.name)
    }

    fn from_uri(uri: &str) -> Option<Self> {
        let (_, path) = uri.strip_prefix("spiffe://")?.split_once('/')?;
        match path.split('/').collect::<Vec<_>>().as_slice() {
            ["agent", namespace, name] if !namespace.is_empty() && !name.is_empty() => {
                Some(Self { namespace: (*namespace).to_owned(), name: (*name).to_owned() })
            }
            _ => None,
        }
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_name_is_one_uri() {
        let name = AgentName { namespace: "shop".into(), name: "edge".into() };
        assert_eq!(AgentName::from_uri("spiffe://site.example.com/agent/shop/edge"), Some(name));
        for odd in [
            "spiffe://site.example.com/agent/shop",
            "spiffe://site.example.com/agent/shop/edge/more",
            "spiffe://site.example.com/agent//edge",
            "spiffe://site.example.com/agent/shop/",
            "spiffe://site.example.com/ns/shop/sa/edge",
            "spiffe:///agent/shop",
            "https://site.example.com/agent/shop/edge",
            "",
        ] {
            assert_eq!(AgentName::from_uri(odd), None, "{odd}");
        }
    }

    #[test]
    fn invited_name_is_two_labels() {
        let valid = |namespace: &str, name: &str| {
            AgentName { namespace: namespace.into(), name: name.into() }.is_valid()
        };
        assert!(valid("shop", "edge-1"));
        for odd in ["", "-", "a-", "-a", "Edge", "a.b", "a/b", "../a", "a b", "ä", &"a".repeat(64)] {
            assert!(!valid("shop", odd) && !valid(odd, "edge"), "{odd}");
        }
    }
}
