//! Registries that lie, stall, and send this program elsewhere.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pivot_vetting::bundles::Bundle;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::connection::Timeouts;
use crate::login::{Challenge, Login};
use crate::session::Session;
use crate::{Registry, RegistryError, RegistryReference};

const PATIENCE: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    silence: Duration::from_secs(1),
    whole: Duration::from_secs(3),
    rate: 10 << 20,
};

/// A fake registry's reaction to a path that contains a word.
#[derive(Clone)]
enum Does {
    /// Answers this, byte for byte.
    Says(Vec<u8>),
    /// Says nothing.
    Waits,
    /// A byte now and then.
    Trickles,
    /// Never ends.
    Floods,
}

type Script = Vec<(&'static str, Does)>;

/// A registry, and the heads of the requests that it got.
struct Fake {
    host: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    async fn with(script: impl FnOnce(&str) -> Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (script, log) = (Arc::new(script(&host)), heard.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, script.clone(), log.clone()));
            }
        });
        Self { host, heard }
    }

    fn registry(&self, rest: &str) -> Registry {
        let reference = RegistryReference::parse(&format!("{}/site/plugins{rest}", self.host)).unwrap();
        Registry::new(reference, true).with_timeouts(PATIENCE)
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

async fn answer(mut stream: TcpStream, script: Arc<Script>, heard: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let line = head.lines().next().unwrap().to_owned();
    let form = head.contains("www-form-urlencoded").then(|| head.split("content-length: ").nth(1)).flatten();
    let length = form.map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    heard.lock().unwrap().push(head + &String::from_utf8(body).unwrap());
    let does = script.iter().find(|(word, _)| line.contains(word)).map(|(_, does)| does.clone());
    match does.unwrap_or_else(|| says(404, "", b"")) {
        Does::Says(bytes) => drop(stream.write_all(&bytes).await),
        Does::Waits => tokio::time::sleep(Duration::from_secs(30)).await,
        Does::Trickles => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n").await;
            while stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        Does::Floods => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
            let chunk = [b"10000\r\n".as_slice(), &[b' '; 0x10000], b"\r\n"].concat();
            while stream.write_all(&chunk).await.is_ok() {}
        }
    }
    let _ = stream.shutdown().await;
}

fn says(status: u16, headers: &str, body: &[u8]) -> Does {
    let head = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n", body.len());
    Does::Says([head.as_bytes(), body].concat())
}

fn to(address: &str) -> Does {
    says(307, &format!("location: {address}\r\n"), b"")
}

fn bundle() -> Bundle {
    let component = b"\0asm\x0d\0\x01\0".to_vec();
    Bundle::from_files(BTreeMap::from([("a.wasm".to_owned(), component)])).unwrap()
}

/// Returns a registry that has a bundle and follows a test's script first.
fn honest(first: Script) -> Script {
    let bundle = bundle();
    let layout = bundle.layout();
    let mut script = first;
    let blob = layout.blobs.iter().find(|blob| blob.media_type == "application/wasm").unwrap();
    script.push(("GET /v2/site/plugins/blobs/sha256:", says(200, "", blob.bytes)));
    script.push(("GET /v2/site/plugins/manifests/", says(200, "", layout.bundle.bytes)));
    script
}

fn text(error: &RegistryError) -> String {
    error.to_string()
}

#[tokio::test]
async fn an_honest_registry_is_pulled_from() {
    let fake = Fake::with(|_| honest(Vec::new())).await;
    assert_eq!(fake.registry(":v1").pull().await.unwrap(), bundle());
    let digest = bundle().digest().to_owned();
    assert_eq!(fake.registry(&format!(":v1@{digest}")).pull().await.unwrap(), bundle());
    assert!(fake.heard().iter().all(|head| !head.to_lowercase().contains("authorization")));
}

// proves: T35, T36
#[tokio::test]
async fn lying_registry_is_refused_in_time() {
    const BLOB: &str = "GET /v2/site/plugins/blobs/";
    const MANIFEST: &str = "GET /v2/site/plugins/manifests/";
    let challenge = |value: &str| says(401, &format!("www-authenticate: {value}\r\n"), b"");
    let many = |count: usize| (0..count).map(|n| format!("x-{n}: y\r\n")).collect::<String>();
    let index =
        br#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}"#;
    let cases: Vec<(&'static str, &'static str, Does, &'static str, &'static str)> = vec![
        ("no manifest", MANIFEST, says(404, "", b""), "refused", "get the bundle: HTTP 404"),
        (
            "an error",
            MANIFEST,
            says(500, "", br#"{"errors":[{"code":"UNKNOWN","message":"hidden"}]}"#),
            "refused",
            "500 (UNKNOWN)",
        ),
        (
            "an error with odd codes",
            MANIFEST,
            says(500, "", br#"{"errors":[{"code":"\u001b[31mX"}]}"#),
            "refused",
            "500",
        ),
        ("forbidden", MANIFEST, says(403, "", b""), "unauthorized", "docker login"),
        ("a manifest elsewhere", MANIFEST, to("https://127.0.0.1:1/x"), "refused", "HTTP 307"),
        (
            "a manifest of 2 MiB",
            MANIFEST,
            says(200, "", &vec![b' '; 2 << 20]),
            "answer",
            "more than 1048576 bytes",
        ),
        ("a manifest without end", MANIFEST, Does::Floods, "answer", "more than 1048576 bytes"),
        ("no JSON", MANIFEST, says(200, "", b"<html>"), "not-json", "is no bundle"),
        ("an empty answer", MANIFEST, says(200, "", b""), "not-json", "is no bundle"),
        ("an index", MANIFEST, says(200, "", index), "wrong-media-type", "is no bundle"),
        ("silence", MANIFEST, Does::Waits, "slow", "did not answer in time"),
        ("a trickle", MANIFEST, Does::Trickles, "slow", "did not answer in time"),
        ("no HTTP", MANIFEST, Does::Says(b"SSH-2.0-x\r\n".to_vec()), "unreachable", "can't be reached"),
        ("nothing", MANIFEST, Does::Says(Vec::new()), "unreachable", "can't be reached"),
        (
            "half a head",
            MANIFEST,
            Does::Says(b"HTTP/1.1 200 OK\r\ncont".to_vec()),
            "unreachable",
            "can't be reached",
        ),
        (
            "half a body",
            MANIFEST,
            Does::Says(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx".to_vec()),
            "unreachable",
            "can't be reached",
        ),
        (
            "a hundred headers too many",
            MANIFEST,
            says(200, &many(200), b"{}"),
            "unreachable",
            "can't be reached",
        ),
        (
            "a header of a megabyte",
            MANIFEST,
            says(200, &format!("x: {}\r\n", "y".repeat(1 << 20)), b"{}"),
            "unreachable",
            "can't be reached",
        ),
        (
            "two lengths",
            MANIFEST,
            says(200, "content-length: 1\r\n", b"{}"),
            "unreachable",
            "can't be reached",
        ),
        ("a challenge that is none", MANIFEST, challenge("Negotiate"), "answer", "doesn't say how to log in"),
        ("no challenge", MANIFEST, says(401, "", b""), "answer", "doesn't say how to log in"),
        ("a password for nobody", MANIFEST, challenge("Basic realm=\"x\""), "unauthorized", "docker login"),
        (
            "a token by a readable line",
            MANIFEST,
            challenge("Bearer realm=\"http://auth.example/token\""),
            "answer",
            "credentials sent without TLS",
        ),
        (
            "a token from a user",
            MANIFEST,
            challenge("Bearer realm=\"https://a@auth.example/token\""),
            "answer",
            "with a user",
        ),
        (
            "a token from a file",
            MANIFEST,
            challenge("Bearer realm=\"file:///etc/passwd\""),
            "answer",
            "an address",
        ),
        ("a token from nowhere", MANIFEST, challenge("Bearer realm=\"token\""), "answer", "an address"),
        ("no blob", BLOB, says(404, "", b""), "refused", "get a file of the bundle: HTTP 404"),
        ("another blob", BLOB, says(200, "", b"\0asm\x0d\0\x01\x01"), "answer", "other bytes"),
        ("half a blob", BLOB, says(200, "", b"\0asm"), "answer", "other bytes"),
        ("a longer blob", BLOB, says(200, "", b"\0asm\x0d\0\x01\0\0"), "answer", "other bytes"),
        ("a blob without end", BLOB, Does::Floods, "answer", "more than 65536 bytes"),
        ("a blob that trickles", BLOB, Does::Trickles, "slow", "did not answer in time"),
        ("a part of a blob", BLOB, says(206, "", b"\0asm"), "refused", "HTTP 206"),
        ("a blob nowhere", BLOB, says(307, "", b""), "answer", "a redirect to nowhere"),
        ("a blob on a readable line", BLOB, to("http://blobs.example/x"), "answer", "away from TLS"),
        ("a blob in a file", BLOB, to("file:///etc/passwd"), "answer", "an address"),
        ("a blob of a user", BLOB, to("https://a:b@blobs.example/x"), "answer", "with a user"),
        ("a blob beside", BLOB, to("//blobs.example/x"), "answer", "an address"),
        ("a blob in words", BLOB, to("not an address"), "answer", "an address"),
        (
            "a blob that runs away",
            BLOB,
            to("/v2/site/plugins/blobs/again"),
            "answer",
            "more than 3 redirects",
        ),
    ];
    // Certificates take time, in which no request must wait.
    let mut ready = Vec::new();
    for (name, word, does, code, said) in cases {
        ready.push((name, Fake::with(|_| honest(vec![(word, does)])).await, code, said));
    }
    // Side by side, because some of them wait.
    let faults: JoinSet<Option<String>> = ready
        .into_iter()
        .map(|(name, fake, code, said)| async move {
            let begun = Instant::now();
            let error = fake.registry(":v1").pull().await.unwrap_err();
            let (text, took) = (text(&error), begun.elapsed());
            let bounded = took < Duration::from_secs(20) && text.len() < 1000;
            let tells = text.contains(said) && !text.contains("hidden") && !text.contains('\u{1b}');
            (error.code() != code || !bounded || !tells)
                .then(|| format!("{name}: {} after {took:?}: {text}", error.code()))
        })
        .collect();
    let wrong: Vec<String> = faults.join_all().await.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn identity_token_is_exchanged_for_another() {
    let body = b"{\"access_token\":\"abc\"}";
    let fake = Fake::with(|_| vec![("POST /token ", says(200, "", body))]).await;
    let reference = RegistryReference::parse(&format!("{}/site/plugins:v1", fake.host)).unwrap();
    let session = Session::new(reference, true, false, PATIENCE).unwrap();
    let authorize = |challenge| {
        session.authorize(challenge, Some(Login::IdentityToken("refresh".into())), "read the manifest")
    };
    let realm = format!("http://{}/token", fake.host);
    let bearer = Challenge::Bearer { realm, service: Some("s".into()) };
    assert_eq!(authorize(bearer).await.unwrap(), "Bearer abc");
    let sent = fake.heard();
    assert!(sent[0].ends_with("&refresh_token=refresh") && !sent[0].contains("authorization"), "{sent:?}");
    let text = authorize(Challenge::Basic).await.unwrap_err().to_string();
    assert!(text.contains("is an identity token") && !text.contains("refresh"), "{text}");
    assert_eq!(fake.heard().len(), 1);
}

#[tokio::test]
async fn invalid_token_is_not_sent() {
    for (body, code) in [
        (&b"{}"[..], "answer"),
        (b"token", "answer"),
        (b"{\"token\":\"\"}", "answer"),
        (b"{\"token\":7}", "answer"),
        (b"{\"token\":\"a\\r\\nx: y\"}", "answer"),
        (b"{\"token\":\"abc\"}", "unauthorized"),
    ] {
        let fake = Fake::with(|host| {
            let realm = format!("www-authenticate: Bearer realm=\"http://{host}/token\",service=\"s\"\r\n");
            vec![("GET /token", says(200, "", body)), ("GET /v2/", says(401, &realm, b""))]
        })
        .await;
        let error = fake.registry(":v1").pull().await.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        let heard = fake.heard();
        assert!(
            heard[1].starts_with("GET /token?service=s&scope=repository%3Asite%2Fplugins%3Apull "),
            "{heard:?}"
        );
        let sent = heard.iter().filter(|head| head.contains("authorization: Bearer abc")).count();
        assert_eq!(sent, usize::from(code == "unauthorized"), "{heard:?}");
    }
}

#[tokio::test]
async fn wrong_manifest_digest_is_refused() {
    let fake = Fake::with(|_| honest(Vec::new())).await;
    let other = format!("@sha256:{}", "0".repeat(64));
    let error = fake.registry(&other).pull().await.unwrap_err();
    assert_eq!(error.code(), "answer");
    assert!(text(&error).contains("other bytes than sha256:000"), "{error}");
}

// proves: T35
#[tokio::test]
async fn upload_leads_to_registry_or_over_tls() {
    const BEGIN: &str = "POST /v2/site/plugins/blobs/uploads/";
    for (name, does, code, said) in [
        ("nowhere", says(202, "", b""), "answer", "an upload to nowhere"),
        (
            "a readable line",
            says(202, "location: http://blobs.example/x\r\n", b""),
            "answer",
            "away from TLS",
        ),
        ("a user", says(202, "location: https://a@blobs.example/x\r\n", b""), "answer", "with a user"),
        ("done already", says(200, "", b""), "refused", "begin an upload: HTTP 200"),
        ("denied", says(403, "", b""), "unauthorized", "begin an upload"),
        ("full", says(202, "location: /v2/up?state=1\r\n", b""), "refused", "take a blob: HTTP 507"),
    ] {
        let put = ("PUT /v2/up?state=1&digest=sha256%3A", says(507, "", b""));
        let fake = Fake::with(|_| vec![(BEGIN, does), put]).await;
        let error = fake.registry(":v1").push(&bundle()).await.unwrap_err();
        assert_eq!(error.code(), code, "{name}: {error}");
        assert!(text(&error).contains(said), "{name}: {error}");
        // Nothing leads to what isn't there.
        assert!(
            fake.heard().iter().all(|head| !head.starts_with("PUT /v2/site/plugins/manifests/")),
            "{name}"
        );
    }
    let fake = Fake::with(|_| Vec::new()).await;
    let digest = format!("@sha256:{}", "0".repeat(64));
    assert_eq!(fake.registry(&digest).push(&bundle()).await.unwrap_err().code(), "reference");
    assert!(fake.heard().is_empty());
}
