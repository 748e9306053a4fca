//! Kubeconfigs that a cluster keeps in a Secret. Anyone with permission to write that Secret wrote them, so they are held to
//! stricter rules than the user's own files: they contain everything that they need, and nothing in them decides what is read or
//! run here, as whom, or who can listen.

use std::collections::{BTreeMap, BTreeSet};

use ::kube::config::{AuthInfo, Cluster, Kubeconfig};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pivot_core::Object;

use super::error::ConnectError;
use super::kubeconfig::{self, LoadedKubeconfig};
use crate::expansion::Expansion;

/// The most that an API server stores in a Secret.
const MAX_SECRET_BYTES: usize = 1 << 20;

const FILE: &str = "reads a file on this machine";
const PROGRAM: &str = "runs a program on this machine";
const OTHER_USER: &str = "acts as another user";
const PROXY: &str = "sends everything through a server of its choice";
const ANYONE: &str = "sends Secrets to an unverified server";
const PLAIN: &str = "sends Secrets in plain text, because it doesn't begin with https://";

/// Loads the kubeconfig in an entry of a Secret's data.
pub(super) fn load_from_secret(secret: &Object, entry: &str) -> Result<LoadedKubeconfig, ConnectError> {
    let file = format!("in {}", secret.key());
    let refused = |reason: String| ConnectError::Kubeconfig { file: file.clone(), reason, source: None };
    // An error would quote the body.
    let body = secret.value().map_err(|_| refused("the Secret is not readable".to_owned()))?;
    let Some(data) =
        body.get("data").and_then(|data| data.get(entry)?.as_str()).filter(|data| !data.is_empty())
    else {
        return Err(refused(format!("the Secret has no data {entry:?}")));
    };
    let content = STANDARD.decode(data).map_err(|_| refused(format!("its data {entry:?} is not base64")))?;
    if content.len() > MAX_SECRET_BYTES {
        return Err(refused(format!("larger than {MAX_SECRET_BYTES} bytes")));
    }
    let kubeconfig = kubeconfig::parse_kubeconfig(content, &mut Expansion::default())
        .map_err(|why| refused(why.reason))?;
    let fields = forbidden_fields(&kubeconfig);
    if !fields.is_empty() {
        return Err(refused(format!(
            "refused: {}; embed its certificates and keys. A command line accepts a kubeconfig that you trust as a file",
            fields.join("; ")
        )));
    }
    Ok(LoadedKubeconfig { file, path: None, kubeconfig })
}

/// Returns the fields, in any entry, that a kubeconfig from a Secret must not have, with their effects.
fn forbidden_fields(kubeconfig: &Kubeconfig) -> Vec<String> {
    let clusters = kubeconfig
        .clusters
        .iter()
        .filter_map(|named| named.cluster.as_ref())
        .flat_map(forbidden_cluster_fields);
    let users = kubeconfig
        .auth_infos
        .iter()
        .filter_map(|named| named.auth_info.as_ref())
        .flat_map(forbidden_user_fields);
    let mut effects: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (field, effect) in clusters.chain(users) {
        effects.entry(effect).or_default().insert(field);
    }
    effects
        .into_iter()
        .map(|(effect, fields)| format!("{} ({effect})", fields.into_iter().collect::<Vec<_>>().join(", ")))
        .collect()
}

/// Destructured by name, so that a field that is new in kube can't be forgotten.
fn forbidden_cluster_fields(cluster: &Cluster) -> Vec<(&'static str, &'static str)> {
    let Cluster {
        server,
        insecure_skip_tls_verify,
        certificate_authority,
        certificate_authority_data: _,
        proxy_url,
        disable_compression: _,
        tls_server_name: _,
        extensions: _,
        other: _,
    } = cluster;
    let encrypted =
        |server: &str| server.get(..8).is_some_and(|begin| begin.eq_ignore_ascii_case("https://"));
    present_fields([
        ("certificate-authority", FILE, certificate_authority.is_some()),
        ("insecure-skip-tls-verify", ANYONE, *insecure_skip_tls_verify == Some(true)),
        ("proxy-url", PROXY, proxy_url.is_some()),
        ("server", PLAIN, server.as_ref().is_some_and(|server| !encrypted(server))),
    ])
}

fn forbidden_user_fields(user: &AuthInfo) -> Vec<(&'static str, &'static str)> {
    let AuthInfo {
        username: _,
        password: _,
        token: _,
        token_file,
        client_certificate,
        client_certificate_data: _,
        client_key,
        client_key_data: _,
        impersonate,
        impersonate_uid,
        impersonate_groups,
        impersonate_user_extra,
        extensions: _,
        auth_provider,
        exec,
        other: _,
    } = user;
    present_fields([
        ("as", OTHER_USER, impersonate.is_some()),
        ("as-groups", OTHER_USER, impersonate_groups.is_some()),
        ("as-uid", OTHER_USER, impersonate_uid.is_some()),
        ("as-user-extra", OTHER_USER, impersonate_user_extra.is_some()),
        ("auth-provider", PROGRAM, auth_provider.is_some()),
        ("client-certificate", FILE, client_certificate.is_some()),
        ("client-key", FILE, client_key.is_some()),
        ("exec", PROGRAM, exec.is_some()),
        ("tokenFile", FILE, token_file.is_some()),
    ])
}

fn present_fields<const N: usize>(
    fields: [(&'static str, &'static str, bool); N],
) -> Vec<(&'static str, &'static str)> {
    fields.into_iter().filter(|(_, _, there)| *there).map(|(field, what, _)| (field, what)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pivot_core::{Kind, Object};
    use serde_json::{Value, json};

    use super::*;
    use crate::expansion::bomb;

    const TRUSTED: &str =
        "; embed its certificates and keys. A command line accepts a kubeconfig that you trust as a file";

    fn secret(data: Value) -> Object {
        let kind: Kind = crate::builtin_kinds().into_iter().find(|kind| kind.group_kind.is_secret()).unwrap();
        let body = json!({"apiVersion": "v1", "kind": "Secret", "data": data,
            "metadata": {"name": "c-kubeconfig", "namespace": "ns", "uid": "u", "resourceVersion": "1"}});
        Object::from_value(Arc::new(kind), &body).unwrap()
    }

    fn holding(content: impl AsRef<[u8]>) -> Object {
        secret(json!({"value": STANDARD.encode(content)}))
    }

    fn refused(secret: &Object) -> String {
        let error = load_from_secret(secret, "value").err().unwrap().to_string();
        assert!(!error.contains("hunter2"), "{error}");
        error.strip_prefix("kubeconfig in Secret ns/c-kubeconfig: ").unwrap().to_owned()
    }

    fn good() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": "https://hunter2:6443", "certificate-authority-data": "hunter2"}}],
            "users": [{"name": "a", "user": {"client-certificate-data": "hunter2", "client-key-data": "hunter2"}}],
        })
    }

    #[test]
    fn self_contained_kubeconfig_is_read() {
        assert!(load_from_secret(&holding(good().to_string()), "value").is_ok());
        let mut more = good();
        more["users"][0]["user"] = json!({"token": "hunter2"});
        more["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = json!(false);
        more["clusters"][0]["cluster"]["tls-server-name"] = json!("a");
        more["clusters"][0]["cluster"]["server"] = json!("HTTPS://a:6443");
        assert!(load_from_secret(&holding(more.to_string()), "value").is_ok());
    }

    // proves: D5, T91, T186
    #[test]
    fn fields_that_reach_out_are_refused() {
        let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "hunter2"});
        for (section, field, value, what) in [
            ("cluster", "certificate-authority", json!("/hunter2"), FILE),
            ("cluster", "insecure-skip-tls-verify", json!(true), ANYONE),
            ("cluster", "proxy-url", json!("http://hunter2"), PROXY),
            ("cluster", "server", json!("http://hunter2"), PLAIN),
            ("cluster", "server", json!("hunter2"), PLAIN),
            ("user", "as", json!("hunter2"), OTHER_USER),
            ("user", "as-groups", json!(["hunter2"]), OTHER_USER),
            ("user", "as-uid", json!("hunter2"), OTHER_USER),
            ("user", "as-user-extra", json!({"hunter2": ["hunter2"]}), OTHER_USER),
            ("user", "auth-provider", json!({"name": "hunter2"}), PROGRAM),
            ("user", "client-certificate", json!("/hunter2"), FILE),
            ("user", "client-key", json!("/hunter2"), FILE),
            ("user", "exec", exec, PROGRAM),
            ("user", "tokenFile", json!("/hunter2"), FILE),
        ] {
            let mut config = good();
            config[format!("{section}s")][0][section][field] = value.clone();
            let expected = format!("refused: {field} ({what}){TRUSTED}");
            assert_eq!(refused(&holding(config.to_string())), expected);
            // In an entry that the context doesn't use, too.
            let mut config = good();
            let other = json!({"name": "b", section: {field: value}});
            config[format!("{section}s")].as_array_mut().unwrap().push(other);
            assert_eq!(refused(&holding(config.to_string())), expected);
        }
    }

    #[test]
    fn every_field_is_named_once() {
        let mut config = good();
        let user = json!({"name": "b", "user": {"tokenFile": "hunter2", "as": "hunter2"}});
        config["users"] = json!([user, user]);
        let expected = "refused: as (acts as another user); tokenFile (reads a file on this machine)";
        assert_eq!(refused(&holding(config.to_string())), format!("{expected}{TRUSTED}"));
    }

    // proves: I8
    #[test]
    fn invalid_kubeconfig_is_refused_without_quotes() {
        assert_eq!(refused(&secret(json!({}))), "the Secret has no data \"value\"");
        assert_eq!(
            refused(&secret(json!({"kubeconfig": "aHVudGVyMg=="}))),
            "the Secret has no data \"value\""
        );
        assert_eq!(refused(&secret(json!({"value": ""}))), "the Secret has no data \"value\"");
        assert_eq!(refused(&secret(json!({"value": "hunter2!"}))), "its data \"value\" is not base64");
        assert_eq!(refused(&holding(b"\xff\xfe\0")), "not UTF-8");
        assert_eq!(refused(&holding("users: hunter2")), "not readable as YAML at line 1, column 8");
        assert!(refused(&holding(bomb(9))).ends_with("expand to more than 64 MiB"));
        assert_eq!(refused(&holding(vec![b' '; MAX_SECRET_BYTES + 1])), "larger than 1048576 bytes");
    }
}
