//! Recognizes what Secrets of a management cluster are for, by what their creators set on them.
//!
//! Types and labels come first; names count only together with a type. Data is not looked at: the plugin does not ask for it.

use pivot_sdk::{Glob, Object};

/// The prefix of cert-manager's annotations on certificates that it renews.
const CERT_MANAGER: &str = "cert-manager.io/";
/// The label that clusterctl puts on everything that belongs to a provider.
const PROVIDER: &str = "cluster.x-k8s.io/provider";
/// The suffixes of a Cluster's Secrets, after the Cluster's name and a dash, as in the host.
const PURPOSES: [&str; 6] = ["apiserver-etcd-client", "kubeconfig", "proxy", "etcd", "ca", "sa"];
/// Labels that tie a Secret to something that may move: an operator's own, Cluster API's, and the one that the BareMetal operator
/// puts on objects that a host refers to.
const TIES: [&str; 4] = [
    "clusterctl.cluster.x-k8s.io/move",
    "clusterctl.cluster.x-k8s.io/move-hierarchy",
    "cluster.x-k8s.io/cluster-name",
    "environment.metal3.io",
];

/// A kind of Secret that serves the management cluster itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Tokens of service accounts.
    ServiceAccountTokens,
    /// Tokens that nodes join with.
    BootstrapTokens,
    /// Helm's records of releases.
    HelmReleases,
    /// Certificates of webhooks.
    WebhookCertificates,
    /// Other certificates of cert-manager.
    CertManager,
    /// Secrets from a provider's installation.
    ProviderComponents,
    /// Credentials for pulling images.
    PullSecrets,
}

impl Rule {
    /// All of them, the most specific first.
    pub const ALL: [Self; 7] = [
        Self::ServiceAccountTokens,
        Self::BootstrapTokens,
        Self::HelmReleases,
        Self::WebhookCertificates,
        Self::CertManager,
        Self::ProviderComponents,
        Self::PullSecrets,
    ];

    /// Returns the reason why a Secret stays; `None` if the rule doesn't apply to it.
    pub fn reason_to_leave(self, secret: &Object) -> Option<String> {
        let of_type = secret.text("/type").unwrap_or_default();
        let (applies, why) = match self {
            Self::ServiceAccountTokens => (
                of_type == "kubernetes.io/service-account-token",
                "a service account's token, which only the cluster that issued it accepts",
            ),
            Self::BootstrapTokens => (
                of_type == "bootstrap.kubernetes.io/token",
                "a bootstrap token, which only the cluster that made it accepts",
            ),
            Self::HelmReleases => (
                of_type == "helm.sh/release.v1" || secret.name().starts_with("sh.helm.release.v1."),
                "Helm's record of a release, which says what is installed in this cluster",
            ),
            Self::WebhookCertificates => (
                of_type == "kubernetes.io/tls" && Glob::from("*-webhook-*cert").matches(secret.name()),
                "a webhook's certificate; the target's webhooks have their own",
            ),
            Self::CertManager => (
                secret.annotations().any(|(name, _)| name.starts_with(CERT_MANAGER)),
                "issued by this cluster's cert-manager; the target's issues its own",
            ),
            Self::ProviderComponents => {
                let provider = secret.label(PROVIDER)?;
                return Some(format!(
                    "part of the installation of provider {provider}; the target's has its own"
                ));
            }
            Self::PullSecrets => (
                matches!(of_type, "kubernetes.io/dockerconfigjson" | "kubernetes.io/dockercfg"),
                "credentials for pulling images, which serve the Pods of this cluster",
            ),
        };
        applies.then(|| why.to_owned())
    }
}

/// Returns true if anything suggests that the Secret may belong to an object that moves. Then the host decides, which knows what
/// exists; a controller's finalizer is such a sign as well.
pub(crate) fn has_signs_of_use(secret: &Object) -> bool {
    let named = |purpose: &str| {
        secret
            .name()
            .strip_suffix(purpose)
            .and_then(|rest| rest.strip_suffix('-'))
            .is_some_and(|c| !c.is_empty())
    };
    secret.items("/metadata/ownerReferences").next().is_some()
        || secret.items("/metadata/finalizers").next().is_some()
        || TIES.iter().any(|tie| secret.label(tie).is_some())
        || PURPOSES.iter().any(|purpose| named(purpose))
}
