//! Manifests and indexes that someone would write to have something else taken for a bundle: each refused for its own reason.

use std::collections::BTreeMap;

use crate::bundles::bundle::Bundle;
use crate::bundles::contents::Contents;
use crate::bundles::oci;
use crate::bundles::tests::sample::{EMPTY, Entry, bundle, entries, files, pack, small, with_manifest};
use crate::digest::prefixed_sha256;

/// The text with one thing replaced, which has to be there.
fn with(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from} is not in {text}");
    text.replacen(from, to, 1)
}

fn manifest(bundle: &Bundle) -> String {
    String::from_utf8(bundle.layout().bundle.bytes.to_vec()).unwrap()
}

#[test]
fn manifests_are_refused_each_for_its_reason() {
    let bundle = Bundle::from_files(files(&[("a.wasm", EMPTY), ("b.md", b"text")])).unwrap();
    let good = manifest(&bundle);
    let sha = prefixed_sha256(EMPTY);
    let layer = format!(
        r#"{{"mediaType":"application/wasm","digest":"{sha}","size":8,"annotations":{{"org.opencontainers.image.title":"a.wasm"}}}}"#
    );
    let only = format!("{layer},");
    let size = format!("{sha}\",\"size\":8");
    let title = r#""org.opencontainers.image.title":"a.wasm""#;
    let config =
        format!(r#""config":{{"mediaType":"{}","digest":"{}","size":2}}"#, oci::EMPTY, oci::EMPTY_DIGEST);
    let deep = format!("\"annotations\":{}{},\"layers\":[", "[".repeat(65), "]".repeat(65));
    let cases: Vec<(&str, &str, String)> = vec![
        ("wrong-version", "\"schemaVersion\":2", "\"schemaVersion\":1".into()),
        ("wrong-type", "\"schemaVersion\":2", "\"schemaVersion\":\"2\"".into()),
        ("wrong-type", "\"schemaVersion\":2", "\"schemaVersion\":2.0".into()),
        ("missing-field", "\"schemaVersion\":2,", String::new()),
        ("wrong-media-type", oci::MANIFEST, oci::INDEX.into()),
        ("wrong-media-type", oci::MANIFEST, "application/vnd.docker.distribution.manifest.v2+json".into()),
        ("wrong-artifact-type", oci::ARTIFACT, "application/vnd.pivot-host.plugins.v2".into()),
        ("wrong-artifact-type", oci::ARTIFACT, "a\\u202eb".into()),
        ("missing-field", "\"artifactType\"", "\"annotations\":{},\"artifact\"".into()),
        ("duplicate-key", "\"layers\":[", "\"layers\":[],\"layers\":[".into()),
        ("duplicate-key", "\"size\":8", "\"size\":8,\"size\":9".into()),
        ("duplicate-key", title, format!("{title},{title}")),
        ("duplicate-key", "\"config\"", "\"\\u0063onfig\":{},\"config\"".into()),
        ("unknown-field", "\"layers\":[", "\"subject\":{},\"layers\":[".into()),
        ("unknown-field", "\"layers\":[", "\"Layers\":[],\"layers\":[".into()),
        ("unknown-field", "\"size\":8", "\"size\":8,\"platform\":{}".into()),
        ("unknown-field", "\"size\":2", "\"size\":2,\"urls\":[]".into()),
        ("wrong-type", "\"layers\":[", "\"annotations\":{\"a\":1},\"layers\":[".into()),
        ("wrong-type", "\"layers\":[", "\"annotations\":[],\"layers\":[".into()),
        ("wrong-type", "\"layers\":[", "\"layers\":[[],".into()),
        ("wrong-type", "\"layers\":[", "\"layers\":{},\"annotations\":[".into()),
        ("too-deep", "\"layers\":[", deep),
        ("not-json", "\"layers\"", "layers".into()),
        ("config-not-empty", oci::EMPTY, oci::WASM_CONFIG.into()),
        ("config-not-empty", oci::EMPTY_DIGEST, sha.clone()),
        ("config-not-empty", "\"size\":2", "\"size\":3".into()),
        ("config-not-empty", "\"size\":2", "\"size\":2,\"data\":\"e31=\"".into()),
        ("wrong-type", &config, "\"config\":null".into()),
        ("missing-field", &config, "\"annotations\":{}".into()),
        ("other-digest-algorithm", &sha, sha.replace("sha256", "sha512")),
        ("other-digest-algorithm", &sha, sha.replace("sha256", "md5")),
        ("other-digest-algorithm", &sha, sha.replace("sha256", "SHA256")),
        ("not-a-digest", &sha, format!("sha256:{}", sha[7..].to_uppercase())),
        ("not-a-digest", &sha, sha[..70].into()),
        ("not-a-digest", &sha, format!("{sha}0")),
        ("not-a-digest", &sha, sha[7..].into()),
        ("not-a-digest", &sha, "sha256:../../../../../../etc/passwd".into()),
        ("layer-with-urls", "\"size\":8", "\"size\":8,\"urls\":[\"https://a\"]".into()),
        ("layer-with-urls", "\"size\":8", "\"size\":8,\"urls\":[]".into()),
        ("layer-with-data", "\"size\":8", "\"size\":8,\"data\":\"AGFzbQ==\"".into()),
        ("layer-without-title", title, String::new()),
        ("layer-without-title", &layer, layer.split_once(",\"annotations").unwrap().0.to_owned() + "}"),
        ("title-twice", &layer, format!("{layer},{layer}")),
        ("two-sizes", &layer, format!("{layer},{}", layer.replace("a.wasm", "c.wasm").replace(":8", ":9"))),
        ("names-alike", &layer, format!("{layer},{}", layer.replace("a.wasm", "A.wasm"))),
        ("reserved-name", "a.wasm", "bundle.wasm".into()),
        ("bad-name", "a.wasm", "../a.wasm".into()),
        ("bad-name", "a.wasm", "/etc/a.wasm".into()),
        ("bad-name", "a.wasm", "a\\n.wasm".into()),
        ("bad-name", "a.wasm", "a\\u0000.wasm".into()),
        ("unknown-file", "b.md", "run.sh".into()),
        ("wrong-type", title, "\"org.opencontainers.image.title\":null".into()),
        ("wrong-media-type", "text/markdown", "application/wasm".into()),
        (
            "wrong-media-type",
            "\"application/wasm\"",
            "\"application/vnd.oci.image.layer.v1.tar+gzip\"".into(),
        ),
        ("wrong-media-type", "a.wasm", "a.pub".into()),
        ("wrong-media-type", "b.md", "a.wasm.intoto.jsonl".into()),
        ("no-component", &only, String::new()),
        ("file-too-large", "\"size\":8", "\"size\":67108865".into()),
        ("file-too-large", "\"size\":4", "\"size\":1048577".into()),
        ("file-too-large", "\"size\":8", "\"size\":18446744073709551615".into()),
        ("wrong-type", "\"size\":8", "\"size\":18446744073709551616".into()),
        ("wrong-type", "\"size\":8", "\"size\":-8".into()),
        ("wrong-type", "\"size\":8", "\"size\":\"8\"".into()),
        ("wrong-size", &size, format!("{sha}\",\"size\":7")),
        ("missing-blob", &sha, format!("sha256:{}", "a".repeat(64))),
    ];
    for (wanted, from, to) in cases {
        let text = with(&good, from, &to);
        let parsed = Contents::parse(text.as_bytes());
        // What is wrong with the blobs shows when they are there.
        let late = matches!(wanted, "wrong-size" | "missing-blob");
        assert_eq!(
            parsed.as_ref().map_or_else(|e| e.code(), |_| "fine"),
            if late { "fine" } else { wanted },
            "{to}"
        );
        let error = Bundle::read_tar(pack(&with_manifest(&bundle, text.as_bytes())).as_slice()).unwrap_err();
        assert!(!error.to_string().chars().any(pivot_core::messages::safe_text::is_hidden), "{error:?}");
        // A manifest of something else is nobody's bundle, and a layer that nobody lists is stray.
        match error.code() {
            "no-bundle" => assert!(wanted == "wrong-artifact-type" || to.contains("\"artifact\"")),
            code => assert_eq!(code, wanted, "{to}"),
        }
    }
    for (bytes, wanted) in [
        (&b""[..], "not-json"),
        (b"[]", "wrong-type"),
        (b"{}", "missing-field"),
        (b"\xff", "not-text"),
        (b"\xef\xbb\xbf{}", "not-json"),
        (&[b' '; (1 << 20) + 1], "document-too-large"),
    ] {
        assert_eq!(Contents::parse(bytes).unwrap_err().code(), wanted);
    }
    assert_eq!(Contents::parse(format!("{good}{{}}").as_bytes()).unwrap_err().code(), "not-json");
}

#[test]
fn too_large_total_is_refused_before_fetching() {
    let good = manifest(&small());
    let layer = format!("{{{}", good.split_once("[{").unwrap().1.trim_end_matches("]}"));
    let layers = |count: usize, size: u64| {
        let one = |n: usize| {
            let digest = format!("sha256:{n:064x}");
            let layer =
                layer.replace(&prefixed_sha256(EMPTY), &digest).replace("a.wasm", &format!("a{n}.wasm"));
            layer.replace("\"size\":8", &format!("\"size\":{size}"))
        };
        let all: Vec<_> = (0..count).map(one).collect();
        Contents::parse(with(&good, &layer, &all.join(",")).as_bytes()).map(|c| c.layers().len())
    };
    assert_eq!(layers(8, 64 << 20).unwrap(), 8);
    assert_eq!(layers(9, 64 << 20).unwrap_err().code(), "too-large");
    assert_eq!(layers(256, 2 << 20).unwrap(), 256);
    assert_eq!(layers(256, (2 << 20) + 1).unwrap_err().code(), "too-large");
    assert_eq!(layers(257, 1).unwrap_err().code(), "too-many-files");
    assert_eq!(layers(0, 1).unwrap_err().code(), "no-component");
}

#[test]
fn wrong_indexes_are_refused_with_reasons() {
    let bundle = small();
    let text = |path: &str| {
        let all = entries(&bundle);
        String::from_utf8(all.into_iter().find(|entry| entry.path == path).unwrap().data).unwrap()
    };
    let read = |path: &str, text: String, more: &[Entry]| {
        let mut all = entries(&bundle);
        all.iter_mut().find(|entry| entry.path == path).unwrap().data = text.into_bytes();
        all.extend_from_slice(more);
        let error = Bundle::read_tar(pack(&all).as_slice()).unwrap_err();
        assert!(!error.to_string().chars().any(pivot_core::messages::safe_text::is_hidden), "{error:?}");
        error.code()
    };
    let mine = bundle.digest();
    let size = bundle.layout().bundle.bytes.len();
    let component = bundle.layout().components[0].digest;
    let list = "application/vnd.docker.distribution.manifest.list.v2+json";
    let first = format!("\"manifests\":[{{\"mediaType\":\"{}\"", oci::MANIFEST);
    let at = |media_type: &str| format!("\"manifests\":[{{\"mediaType\":\"{media_type}\"");
    let upper = format!("sha256:{}", mine[7..].to_uppercase());
    let none = format!("sha256:{}", "a".repeat(64));
    for (wanted, from, to) in [
        ("wrong-version", "\"schemaVersion\":2", "\"schemaVersion\":1"),
        ("missing-field", "\"schemaVersion\":2,", ""),
        ("wrong-media-type", oci::INDEX, oci::MANIFEST),
        ("wrong-media-type", oci::INDEX, list),
        ("duplicate-key", "\"manifests\":", "\"manifests\":[],\"manifests\":"),
        ("duplicate-key", "\"manifests\":", "\"a\":{\"b\":1,\"b\":1},\"manifests\":"),
        ("wrong-type", "\"manifests\":[", "\"manifests\":[1,"),
        ("missing-field", "\"manifests\"", "\"manifest\""),
        ("nested-index", &first, &at(oci::INDEX)),
        ("nested-index", &first, &at(list)),
        ("wrong-media-type", &first, &at("application/vnd.docker.distribution.manifest.v2+json")),
        ("wrong-media-type", &first, &at("application/wasm")),
        ("not-a-digest", mine, &upper),
        ("not-a-digest", mine, "sha256:../../index.json"),
        ("other-digest-algorithm", mine, &mine.replace("sha256", "sha384")),
        ("missing-blob", mine, &none),
        ("missing-blob", component, &none),
        ("wrong-size", &format!("\"size\":{size}"), "\"size\":1"),
        ("not-json", "\"manifests\":[", "\"manifests\":["),
    ] {
        let mut changed = with(&text("index.json"), from, to);
        if wanted == "not-json" {
            changed.pop();
        }
        assert_eq!(read("index.json", changed, &[]), wanted, "{to}");
    }
    // No bundle, two of them, and blobs that belong to nothing.
    let entry = |digest: &str, size: usize| {
        format!(r#"{{"mediaType":"{}","digest":"{digest}","size":{size}}}"#, oci::MANIFEST)
    };
    let index = |entries: &[String]| format!(r#"{{"schemaVersion":2,"manifests":[{}]}}"#, entries.join(","));
    let own = entry(component, bundle.layout().components[0].bytes.len());
    let whole = entry(mine, size);
    assert_eq!(read("index.json", index(&[]), &[]), "no-bundle");
    assert_eq!(read("index.json", index(std::slice::from_ref(&own)), &[]), "no-bundle");
    assert_eq!(read("index.json", index(std::slice::from_ref(&whole)), &[]), "stray-blob");
    let second = with(&manifest(&bundle), "a.wasm", "b.wasm");
    let also = entry(&prefixed_sha256(second.as_bytes()), second.len());
    let blob = [Entry::blob(second.as_bytes())];
    assert_eq!(read("index.json", index(&[whole.clone(), own.clone(), also]), &blob), "two-bundles");
    assert_eq!(read("index.json", text("index.json"), &blob), "stray-blob");
    assert_eq!(read("index.json", text("index.json"), &[Entry::blob(b"")]), "stray-blob");
    // A listed manifest that is none.
    for (bytes, wanted) in [
        (&b"junk"[..], "not-json"),
        (b"{}", "missing-field"),
        (b"\xff", "not-text"),
        (b"{\"a\":1,\"a\":1}", "duplicate-key"),
    ] {
        let also = entry(&prefixed_sha256(bytes), bytes.len());
        let blob = if bytes == b"{}" { vec![] } else { vec![Entry::blob(bytes)] };
        assert_eq!(read("index.json", index(&[whole.clone(), own.clone(), also]), &blob), wanted);
    }
    let large = vec![b' '; (1 << 20) + 1];
    let also = entry(&prefixed_sha256(&large), large.len());
    assert_eq!(read("index.json", index(&[whole, own, also]), &[Entry::blob(&large)]), "document-too-large");
    for (wanted, changed) in [
        ("wrong-version", r#"{"imageLayoutVersion":"1.1.0"}"#),
        ("wrong-version", r#"{"imageLayoutVersion":"1.0"}"#),
        ("wrong-type", r#"{"imageLayoutVersion":1}"#),
        ("missing-field", "{}"),
        ("duplicate-key", r#"{"imageLayoutVersion":"1.0.0","imageLayoutVersion":"1.0.0"}"#),
        ("not-json", ""),
        ("wrong-type", "\"1.0.0\""),
    ] {
        assert_eq!(read("oci-layout", changed.to_owned(), &[]), wanted, "{changed}");
    }
}

#[test]
fn wrong_registry_blobs_are_refused_with_reasons() {
    let bundle = bundle();
    let contents = || Contents::parse(bundle.layout().bundle.bytes).unwrap();
    let good: BTreeMap<String, Vec<u8>> =
        bundle.files().values().map(|bytes| (prefixed_sha256(bytes), bytes.clone())).collect();
    assert_eq!(contents().into_bundle(good.clone()).unwrap(), bundle);
    for digest in good.keys() {
        let mut fewer = good.clone();
        fewer.remove(digest);
        assert_eq!(contents().into_bundle(fewer).unwrap_err().code(), "missing-blob");
        let mut wrong = good.clone();
        wrong.get_mut(digest).unwrap().push(b'x');
        assert_eq!(contents().into_bundle(wrong).unwrap_err().code(), "wrong-blob");
    }
    let mut more = good.clone();
    more.insert(prefixed_sha256(b"x"), b"x".to_vec());
    assert_eq!(contents().into_bundle(more).unwrap_err().code(), "stray-blob");
    let mut empty = good;
    empty.insert(oci::EMPTY_DIGEST.into(), b"{} ".to_vec());
    assert_eq!(contents().into_bundle(empty).unwrap_err().code(), "wrong-blob");
    // A layer that is listed as a component and isn't one.
    let text = with(&manifest(&small()), &prefixed_sha256(EMPTY), &prefixed_sha256(b"\x7fELF\x02\x01\x01\0"));
    let blobs =
        BTreeMap::from([(prefixed_sha256(b"\x7fELF\x02\x01\x01\0"), b"\x7fELF\x02\x01\x01\0".to_vec())]);
    let error = Contents::parse(text.as_bytes()).unwrap().into_bundle(blobs).unwrap_err();
    assert_eq!(error.code(), "not-a-component");
}
