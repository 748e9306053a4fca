//! Bundles through a real registry, behind TLS and a password, and through another client.

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use pivot_lab::assets;
use pivot_lab::registry::{PASSWORD, Registry};
use pivot_scenarios::folder::Folder;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The files of a directory with two plugins, and the bundle of it. Compiling the plugins takes longer than the tests.
static FILES: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let folder = Folder::new().unwrap();
    fs::create_dir(folder.path("plugins")).unwrap();
    for name in ["older", "steady"] {
        let file = format!("plugins/{name}.wasm");
        fs::copy(pivot_guests::guest(name).unwrap(), folder.path(&file)).unwrap();
        folder.host(0, &["plugin", "add", "--grant", &file]).unwrap();
    }
    folder.host(0, &["plugin", "bundle", "plugins", "--out", "site.tar"]).unwrap();
    let plugins = fs::read_dir(folder.path("plugins")).unwrap();
    let plugins = plugins.map(|entry| format!("plugins/{}", entry.unwrap().file_name().to_str().unwrap()));
    let names = plugins.chain(["site.tar".to_owned()]);
    names.map(|name| (name.clone(), bytes(&folder, &name))).collect()
});

/// A folder with these files, in which somebody has logged in to the registry.
fn bundled(registry: &Registry) -> Folder {
    let folder = Folder::new()
        .unwrap()
        .with("SSL_CERT_FILE", registry.authority())
        .with("DOCKER_CONFIG", registry.logged_in(PASSWORD).unwrap());
    fs::create_dir(folder.path("plugins")).unwrap();
    for (name, content) in &*FILES {
        fs::write(folder.path(name), content).unwrap();
    }
    folder
}

fn bytes(folder: &Folder, file: &str) -> Vec<u8> {
    fs::read(folder.path(file)).unwrap()
}

#[tokio::test]
async fn what_is_pushed_is_pulled_byte_for_byte() {
    let registry = Registry::start().await.unwrap();
    let folder = bundled(&registry);
    let place = format!("{}/site/plugins:v1", registry.host());
    let (pushed, _) = folder.host(0, &["plugin", "push", "site.tar", &place]).unwrap();
    assert!(pushed.starts_with(&format!("{place}@sha256:")), "{pushed}");
    assert!(pushed.contains(" has it; 7 blobs were sent, the others were there\n"), "{pushed}");
    let (again, _) = folder.host(0, &["plugin", "push", "site.tar", &place]).unwrap();
    assert!(again.contains(" has it; 0 blobs were sent"), "{again}");

    folder.host(0, &["plugin", "pull", &place, "--out", "pulled.tar"]).unwrap();
    assert!(bytes(&folder, "site.tar") == bytes(&folder, "pulled.tar"));
    let digest = pushed.split_once('@').unwrap().1.split_once(' ').unwrap().0;
    let pinned = format!("{}/site/plugins@{digest}", registry.host());
    let (said, _) = folder.host(0, &["plugin", "pull", &pinned, "--out", "pinned.tar"]).unwrap();
    assert!(said.contains(digest), "{said}");
    folder.host(0, &["plugin", "import", "pinned.tar", "there", "--grants", "--digest", digest]).unwrap();
    folder.host(0, &["plugin", "verify", "there"]).unwrap();

    let nothing = format!("{}/site/plugins:v2", registry.host());
    let (_, said) = folder.host(3, &["plugin", "pull", &nothing, "--out", "none.tar"]).unwrap();
    assert!(
        said.contains("refused to get the bundle: HTTP 404 (MANIFEST_UNKNOWN); nothing was written here"),
        "{said}"
    );
    assert!(!folder.path("none.tar").exists());
}

// proves: T36
#[tokio::test]
async fn a_wrong_password_and_an_unknown_authority_are_refused_and_no_password_is_shown() {
    let registry = Registry::start().await.unwrap();
    let folder = bundled(&registry);
    let place = format!("{}/site/plugins:v1", registry.host());
    let line = ["plugin", "push", "site.tar", place.as_str(), "-vv"];
    let wrong = "wrong-horse-battery";
    let folder = folder.with("DOCKER_CONFIG", registry.logged_in(wrong).unwrap()).with("RUST_LOG", "trace");
    let (out, err) = folder.host(3, &line).unwrap();
    assert!(
        err.contains(&format!(
            "{} doesn't let you look for a blob: log in with `docker login",
            registry.host()
        )),
        "{err}"
    );
    let secret = |text: &str| {
        // As it is, and as a header has it.
        let encoded = fs::read_to_string(registry.logged_in(wrong).unwrap().join("config.json")).unwrap();
        let encoded = encoded.split("\"auth\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        text.contains(wrong) || text.contains(&encoded)
    };
    assert!(!secret(&out) && !secret(&err), "{out}{err}");

    let folder = folder.with("DOCKER_CONFIG", folder_without_login(&registry));
    let (_, err) = folder.host(3, &line).unwrap();
    assert!(err.contains("log in with `docker login"), "{err}");
    let folder = folder.with("SSL_CERT_FILE", registry.authority().with_file_name("server.key"));
    let (_, err) = folder.host(9, &line).unwrap();
    assert!(err.contains("TLS"), "{err}");
    // To a port that speaks TLS, nothing is sent without it.
    let (_, err) = folder.host(9, &[&line[..], &["--plain-http"]].concat()).unwrap();
    assert!(err.contains("HTTP 400") || err.contains("can't be reached"), "{err}");
}

fn folder_without_login(registry: &Registry) -> std::path::PathBuf {
    let empty = registry.authority().with_file_name("nobody");
    fs::create_dir_all(&empty).unwrap();
    empty
}

#[tokio::test]
async fn another_client_carries_a_bundle_between_a_file_and_a_registry() {
    let registry = Registry::start().await.unwrap();
    let folder = bundled(&registry);
    let regctl = assets().await.unwrap().regctl().await.unwrap();
    let place = format!("{}/site/plugins:v1", registry.host());
    let authority = registry.authority().display().to_string();
    folder.run(&regctl, 0, &["registry", "set", &registry.host(), "--cacert", &authority]).unwrap();
    folder.run(&regctl, 0, &["image", "import", "--name", "bundle", &place, "site.tar"]).unwrap();
    folder.host(0, &["plugin", "pull", &place, "--out", "pulled.tar"]).unwrap();
    assert!(bytes(&folder, "site.tar") == bytes(&folder, "pulled.tar"));

    // The other way, and one component by itself, as tools take it that know nothing of bundles.
    folder.host(0, &["plugin", "push", "site.tar", &format!("{}/site/ours:v1", registry.host())]).unwrap();
    let ours = format!("{}/site/ours:v1", registry.host());
    folder.run(&regctl, 0, &["image", "export", &ours, "exported.tar"]).unwrap();
    let (shown, _) =
        folder.host(0, &["plugin", "import", "exported.tar", "there", "--grants", "--dry-run"]).unwrap();
    let (expected, _) =
        folder.host(0, &["plugin", "import", "site.tar", "there", "--grants", "--dry-run"]).unwrap();
    assert_eq!(shown.replace("exported.tar", "site.tar"), expected);
    let (pushed, _) = folder.host(0, &["plugin", "push", "site.tar", &ours]).unwrap();
    let alone = pushed.lines().find(|line| line.contains("older alone: ")).unwrap();
    let digest = alone.split_once("alone: ").unwrap().1;
    let component = format!("{}/site/ours@{digest}", registry.host());
    fs::create_dir(folder.path("taken")).unwrap();
    folder.run(&regctl, 0, &["artifact", "get", &component, "--output", "taken"]).unwrap();
    let taken = fs::read_dir(folder.path("taken")).unwrap().next().unwrap().unwrap().path();
    assert!(fs::read(taken).unwrap() == bytes(&folder, "plugins/older.wasm"));
}

#[tokio::test]
async fn another_client_makes_a_directory_of_a_bundle_that_loads() {
    let registry = Registry::start().await.unwrap();
    let folder = bundled(&registry);
    let oras = assets().await.unwrap().oras().await.unwrap();
    let place = format!("{}/site/plugins:v1", registry.host());
    folder.host(0, &["plugin", "push", "site.tar", &place]).unwrap();
    let authority = registry.authority().display().to_string();
    // To a registry of this machine it would speak without TLS.
    let tls = ["--plain-http=false", "--ca-file", &authority];
    folder.run(&oras, 0, &[&["pull", "--output", "taken", &place], &tls[..]].concat()).unwrap();
    folder.host(0, &["plugin", "verify", "taken"]).unwrap();
    // The same bundle again: no file is missing or another.
    folder.host(0, &["plugin", "bundle", "taken", "--out", "again.tar"]).unwrap();
    assert!(bytes(&folder, "site.tar") == bytes(&folder, "again.tar"));
}

/// A server that may be sent to, or send elsewhere: every request gets the answer for its path.
struct Fake {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    async fn start(registry: &Registry, answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tls, heard) = (acceptor(registry), Arc::<Mutex<Vec<String>>>::default());
        let (log, answer) = (heard.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, log, answer) = (tls.clone(), log.clone(), answer.clone());
                tokio::spawn(async move {
                    let mut stream = tls.accept(stream).await.unwrap();
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(stream.read_u8().await.unwrap());
                    }
                    let head = String::from_utf8(head).unwrap();
                    let answer = answer(head.lines().next().unwrap());
                    log.lock().unwrap().push(head);
                    stream.write_all(answer.as_bytes()).await.unwrap();
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self { port, heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

/// With the registry's certificate: the same authority, another port.
fn acceptor(registry: &Registry) -> TlsAcceptor {
    let file = |name: &str| registry.authority().with_file_name(name);
    let certificate = CertificateDer::from_pem_file(file("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

fn says(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

/// The manifest of a bundle.
fn manifest(folder: &Folder) -> String {
    fs::create_dir(folder.path("layout")).unwrap();
    let (tar, into) = (folder.path("site.tar"), folder.path("layout"));
    let unpacked = Command::new("tar").arg("xf").arg(tar).arg("-C").arg(&into).status().unwrap();
    assert!(unpacked.success());
    let index: Value = serde_json::from_slice(&fs::read(into.join("index.json")).unwrap()).unwrap();
    let digest = index["manifests"][0]["digest"].as_str().unwrap().replace(':', "/");
    fs::read_to_string(into.join("blobs").join(digest)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_a_registry_sends_to_gets_no_credentials_whatever_it_asks_for() {
    let registry = Registry::start().await.unwrap();
    let mut folder = bundled(&registry);
    let manifest = manifest(&folder);
    for challenge in ["Basic realm=\"r\"", "Bearer realm=\"https://localhost:{port}/token\""] {
        let elsewhere = Arc::new(AtomicU16::default());
        let own = elsewhere.clone();
        let thief = Fake::start(&registry, move |_| {
            let challenge = challenge.replace("{port}", &own.load(Ordering::SeqCst).to_string());
            says("401 Unauthorized", &format!("www-authenticate: {challenge}\r\n"), "")
        })
        .await;
        elsewhere.store(thief.port, Ordering::SeqCst);
        // Reading needs no login here; a login is kept all the same.
        let (manifest, to) = (manifest.clone(), thief.port);
        let open = Fake::start(&registry, move |line| match line.contains("/manifests/") {
            true => says("200 OK", "", &manifest),
            false => says("307 Elsewhere", &format!("location: https://localhost:{to}/blob\r\n"), ""),
        })
        .await;
        let host = format!("localhost:{}", open.port);
        let login = folder.path(&format!("login-{}", open.port));
        fs::create_dir(&login).unwrap();
        // operator:hunter22
        let text = format!("{{\"auths\":{{\"{host}\":{{\"auth\":\"b3BlcmF0b3I6aHVudGVyMjI=\"}}}}}}");
        fs::write(login.join("config.json"), text).unwrap();
        folder = folder.with("DOCKER_CONFIG", login);
        let place = format!("{host}/site/plugins:v1");
        let (_, said) = folder.host(3, &["plugin", "pull", &place, "--out", "stolen.tar"]).unwrap();
        assert!(said.contains(&format!("it sends to localhost:{to}, which answers 401")), "{said}");
        let heard = thief.heard();
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert!(!heard[0].to_lowercase().contains("authorization"), "{heard:?}");
        assert!(!folder.path("stolen.tar").exists());
    }
}
