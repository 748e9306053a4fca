//! From a kubeconfig to a server: which user, which credentials, and the errors for unusable ones.

use std::io::Write as _;

use super::*;

fn kubeconfig(server: &str, user: serde_json::Value) -> tempfile::NamedTempFile {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u", "namespace": "mine"}},
                     {"name": "two", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
    });
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(config.to_string().as_bytes()).unwrap();
    file
}

fn options(file: &tempfile::NamedTempFile) -> ConnectOptions {
    ConnectOptions { kubeconfig: Some(file.path().to_owned()), ..ConnectOptions::default() }
}

#[tokio::test]
async fn parallel_requests_reuse_open_connections() {
    let server = Server::start([reply(200, r#"{"metadata":{"name":"kube-system","uid":"u"}}"#)]).await;
    let file = kubeconfig(&server.url, json!({"token": "t"}));
    let place = KubePlace::connect(options(&file)).await.unwrap();
    assert_eq!(place.label(), format!("one ({}/)", server.url));
    assert_eq!(place.default_namespace(), "mine");
    for _ in 0..5 {
        let asks = (0..64).map(|_| place.identify());
        futures::future::try_join_all(asks).await.unwrap();
    }
    let connections = server.connections.load(Ordering::SeqCst);
    assert!(connections <= 64, "{connections} connections");
}

/// Each summary of a move has it.
#[tokio::test]
async fn label_of_a_long_address_is_cut() {
    let file = kubeconfig(&format!("http://127.0.0.1:1/{}", "a".repeat(5_000)), json!({"token": "t"}));
    let place = KubePlace::connect(options(&file)).await.unwrap();
    assert!(place.label().starts_with("one (http://127.0.0.1:1/aaa"), "{}", place.label());
    assert!(place.label().chars().count() <= 501, "{}", place.label());
}

/// A server that accepts connections and never answers the TLS handshake.
#[tokio::test(start_paused = true)]
async fn silent_handshake_ends_in_time() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let file = kubeconfig(&format!("https://{}", listener.local_addr().unwrap()), json!({"token": "t"}));
    tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            open.push(listener.accept().await);
        }
    });
    let place = KubePlace::connect(options(&file)).await.unwrap();
    let begun = tokio::time::Instant::now();
    let error = place.identify().await.unwrap_err();
    assert!(matches!(error, PlaceError::Unavailable(_)), "{error}");
    assert_eq!(begun.elapsed().as_secs(), 20, "{error}");
}

#[tokio::test]
async fn unknown_context_is_refused_with_suggestions() {
    let file = kubeconfig("http://127.0.0.1:1", json!({}));
    let context = Some("three".to_owned());
    let error = KubePlace::connect(ConnectOptions { context, ..options(&file) }).await.err().unwrap();
    let path = file.path().display();
    assert_eq!(error.to_string(), format!("kubeconfig {path} has no context \"three\"; there are: one, two"));
}

#[tokio::test]
async fn context_without_a_user_is_refused() {
    let with = |context: serde_json::Value, users: serde_json::Value| {
        let config = json!({
            "current-context": "one",
            "contexts": [{"name": "one", "context": context}],
            "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
            "users": users,
        });
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(config.to_string().as_bytes()).unwrap();
        file
    };
    let users = json!([{"name": "a", "user": {"token": "hunter2"}}, {"name": "b"}]);
    for (context, users, why) in [
        (json!({"cluster": "c"}), users.clone(), "it names no user; there are: a, b"),
        (json!({"cluster": "c", "user": ""}), users.clone(), "it names no user; there are: a, b"),
        (json!({"cluster": "c", "user": null}), json!([]), "it names no user; there are: none"),
        (
            json!({"cluster": "c", "user": "x"}),
            users.clone(),
            "its user \"x\" does not exist; there are: a, b",
        ),
    ] {
        let file = with(context, users);
        let error = KubePlace::connect(options(&file)).await.err().unwrap().to_string();
        let path = file.path().display();
        assert_eq!(error, format!("kubeconfig {path}, context \"one\": {why}"));
    }
    // Another user may be chosen, and an entry may need no credentials at all.
    let file = with(json!({"cluster": "c"}), users);
    let user = Some("a".to_owned());
    assert!(KubePlace::connect(ConnectOptions { user, ..options(&file) }).await.is_ok());
    let file = with(json!({"cluster": "c", "user": "b"}), json!([{"name": "b", "user": {}}]));
    assert!(KubePlace::connect(options(&file)).await.is_ok());
}

#[tokio::test]
async fn expired_certificate_is_reported_before_use() {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.not_after = rcgen::date_time_ymd(2024, 2, 3);
    let pem = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem();
    let mut certificate = tempfile::NamedTempFile::new().unwrap();
    certificate.write_all(pem.as_bytes()).unwrap();
    let file = kubeconfig("http://127.0.0.1:1", json!({"client-certificate": certificate.path()}));
    let error = KubePlace::connect(options(&file)).await.err().unwrap().to_string();
    assert!(
        error.ends_with("context \"one\": the client certificate expired at 2024-02-03T00:00:00Z"),
        "{error}"
    );
}

/// Removes the version of a certificate, which makes it one of X.509 version 1: `openssl x509 -req` makes them.
fn without_version(der: &[u8]) -> Vec<u8> {
    const VERSION_3: [u8; 5] = [0xa0, 3, 2, 1, 2];
    let at = der.windows(VERSION_3.len()).position(|bytes| bytes == VERSION_3).unwrap();
    let mut old = [&der[..at], &der[at + VERSION_3.len()..]].concat();
    // The two sequences that it was in: both are longer than 255 bytes.
    for header in [0, 4] {
        assert_eq!(old[header..header + 2], [0x30, 0x82]);
        let length = u16::from_be_bytes([old[header + 2], old[header + 3]]) - 5;
        old[header + 2..header + 4].copy_from_slice(&length.to_be_bytes());
    }
    old
}

#[tokio::test]
async fn old_certificate_is_explained() {
    let names: Vec<String> = (0..20).map(|n| format!("a-long-name-{n}.example.com")).collect();
    let key = rcgen::KeyPair::generate().unwrap();
    let new = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    let old = pem::encode(&pem::Pem::new("CERTIFICATE", without_version(new.der())));
    let mut files = [&old, &key.serialize_pem()].map(|text| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    });
    let [certificate, key] = files.each_mut().map(|file| file.path().to_owned());
    let user = json!({"client-certificate": certificate, "client-key": key});
    let error = KubePlace::connect(options(&kubeconfig("https://127.0.0.1:1", user))).await.err().unwrap();
    assert!(error.to_string().contains("its client certificate has X.509 version 1"), "{error}");
}

#[test]
fn untrusted_server_is_not_unauthorized() {
    let failed = |why: &str| {
        let cause = std::io::Error::other(why.to_owned());
        transport::connection_error(&::kube::Error::Service(cause.into()), "asking for the kinds")
    };
    let described = ServerDescription {
        credentials: "user".to_owned(),
        server: "https://k of kubeconfig a".to_owned(),
        is_foreign: false,
    };
    assert_eq!(
        described.add_to(failed("invalid peer certificate: UnknownIssuer")).to_string(),
        "the server's certificate is not trusted: asking for the kinds: invalid peer certificate: UnknownIssuer; https://k of \
         kubeconfig a"
    );
    let refused = described.add_to(failed("received fatal alert: CertificateExpired")).to_string();
    assert!(refused.starts_with("not authenticated: ") && refused.ends_with("; user"), "{refused}");
}

#[tokio::test]
async fn place_knows_its_kubeconfig_and_context() {
    let file = kubeconfig("http://127.0.0.1:1", json!({}));
    let place = KubePlace::connect(options(&file)).await.unwrap();
    let expected = KubeContext { kubeconfig: file.path().to_owned(), name: "one".to_owned() };
    assert_eq!(place.context(), Some(&expected));
}

// proves: I8, T113, T129
#[tokio::test]
async fn broken_kubeconfig_is_not_quoted() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"users:\n- name: u\n  user: {token: hunter2").unwrap();
    let error = KubePlace::connect(options(&file)).await.err().unwrap().to_string();
    assert!(error.contains("not readable as YAML") && !error.contains("hunter2"), "{error}");
    let gone = Some("/nowhere/config".into());
    let error = KubePlace::connect(ConnectOptions { kubeconfig: gone, ..ConnectOptions::default() }).await;
    let error = error.err().unwrap();
    assert!(error.to_string().starts_with("kubeconfig /nowhere/config: No such file"));
    let source = std::error::Error::source(&error).unwrap().downcast_ref::<std::io::Error>();
    assert_eq!(source.map(std::io::Error::kind), Some(std::io::ErrorKind::NotFound));
}

/// The kubeconfig's credential program, with its arguments and output.
// proves: I8, T129
#[tokio::test]
async fn failing_credential_plugin_is_not_quoted() {
    let exec = |script: &str| {
        let env = json!([{"name": "SECRET", "value": "hunter2"}]);
        let exec = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
            "command": "sh", "args": ["-c", script, "sh", "hunter2"], "env": env,
        });
        kubeconfig("http://127.0.0.1:1", json!({"exec": exec}))
    };
    for (script, expected) in [
        ("echo token: hunter2; exit 3", "the credential plugin of the kubeconfig failed (exit status: 3)"),
        ("echo '{token: hunter2'", "the output of the kubeconfig's credential plugin is not readable"),
    ] {
        let error = KubePlace::connect(options(&exec(script))).await.err().unwrap().to_string();
        assert!(error.ends_with(expected) && !error.contains("hunter2"), "{error}");
    }
    // Nor in what only programs see.
    let error = KubePlace::connect(options(&exec("echo '{token: hunter2'"))).await.err().unwrap();
    assert!(std::error::Error::source(&error).is_none() && !format!("{error:?}").contains("hunter2"));
}

#[tokio::test]
async fn refused_user_is_named() {
    let server = Server::start([status(401, "Unauthorized", "Unauthorized")]).await;
    let file = kubeconfig(&server.url, json!({"token": "hunter2"}));
    let error = KubePlace::connect(options(&file)).await.unwrap().identify().await.unwrap_err().to_string();
    assert!(error.contains("context \"one\"") && !error.contains("hunter2"), "{error}");
}
