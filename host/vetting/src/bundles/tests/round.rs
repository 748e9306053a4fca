//! Bundles survive a round trip, with the same bytes every time.

use std::collections::BTreeMap;
use std::io::Read;

use crate::bundles::archive::{self, ArchiveLimits};
use crate::bundles::bundle::Bundle;
use crate::bundles::contents::Contents;
use crate::bundles::kind::{COMPONENT, FILES, OTHER, SBOM};
use crate::bundles::oci;
use crate::bundles::tests::sample::{
    EMPTY, Entry, bundle, entries, files, importing, pack, small, tar, wasm, with_manifest,
};
use crate::digest::prefixed_sha256;
use crate::mutants;

fn blobs(bundle: &Bundle) -> BTreeMap<String, Vec<u8>> {
    let digests = bundle.files().values().map(|bytes| (prefixed_sha256(bytes), bytes.clone()));
    digests.collect()
}

/// Returns a byte at a time.
struct Slow<'b>(&'b [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let most = to.len().min(1);
        self.0.read(&mut to[..most])
    }
}

#[test]
fn bundle_survives_writing_and_reading() {
    let bundle = bundle();
    let bytes = tar(&bundle);
    assert_eq!(tar(&bundle), bytes);
    let read = Bundle::read_tar(bytes.as_slice()).unwrap();
    assert_eq!(read, bundle);
    assert_eq!(tar(&read), bytes);
    assert_eq!(Bundle::from_files(bundle.clone().into_files()).unwrap(), bundle);
    // Files in another order, and a reader that returns a byte at a time.
    let reversed: BTreeMap<_, _> = bundle.files().clone().into_iter().rev().collect();
    assert_eq!(tar(&Bundle::from_files(reversed).unwrap()), bytes);
    assert_eq!(Bundle::read_tar(Slow(&bytes)).unwrap(), bundle);
}

#[test]
fn bundle_survives_push_and_pull() {
    let bundle = bundle();
    let layout = bundle.layout();
    let contents = Contents::parse(layout.bundle.bytes).unwrap();
    let names: Vec<_> = contents.layers().iter().map(|layer| layer.name.as_str()).collect();
    assert_eq!(names, bundle.files().keys().collect::<Vec<_>>());
    for layer in contents.layers() {
        let bytes = &bundle.files()[&layer.name];
        assert_eq!((layer.size, &layer.digest), (bytes.len() as u64, &prefixed_sha256(bytes)));
        assert!(layout.blobs.iter().any(|blob| blob.digest == layer.digest && blob.bytes == bytes));
    }
    assert_eq!(contents.clone().into_bundle(blobs(&bundle)).unwrap(), bundle);
    // With the empty config among the blobs, too, and from any order of layers.
    let mut more = blobs(&bundle);
    more.insert(oci::EMPTY_DIGEST.into(), oci::EMPTY_BYTES.into());
    assert_eq!(contents.into_bundle(more).unwrap(), bundle);
    assert_eq!(prefixed_sha256(layout.bundle.bytes), bundle.digest());
}

#[test]
fn bytes_are_equal_in_every_version() {
    // Digests that people have pinned depend on these texts.
    let bundle = small();
    let layout = bundle.layout();
    let text = |bytes| String::from_utf8(Vec::from(bytes)).unwrap();
    let sha = prefixed_sha256(EMPTY);
    assert_eq!(
        text(layout.bundle.bytes),
        format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.pivot-host.plugins.v1","config":{{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2}},"layers":[{{"mediaType":"application/wasm","digest":"{sha}","size":8,"annotations":{{"org.opencontainers.image.title":"a.wasm"}}}}]}}"#
        )
    );
    let config = format!(
        r#"{{"created":"1970-01-01T00:00:00Z","architecture":"wasm","os":"wasip2","layerDigests":["{sha}"],"component":{{"exports":[],"imports":[]}}}}"#
    );
    let component = &layout.components[0];
    assert_eq!(component.name, "a");
    assert_eq!(
        text(component.bytes),
        format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{{"mediaType":"application/vnd.wasm.config.v0+json","digest":"{}","size":{}}},"layers":[{{"mediaType":"application/wasm","digest":"{sha}","size":8}}]}}"#,
            prefixed_sha256(config.as_bytes()),
            config.len()
        )
    );
    let files = entries(&bundle);
    let paths: Vec<_> = files.iter().map(|entry| entry.path.as_str()).collect();
    assert!(paths.is_sorted());
    assert_eq!(paths[..2], ["blobs/", "blobs/sha256/"]);
    assert_eq!(paths[7..], ["index.json", "oci-layout"]);
    assert_eq!(
        text(&files[7].data),
        format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{{"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.pivot-host.plugins.v1","digest":"{}","size":{},"annotations":{{"org.opencontainers.image.ref.name":"bundle"}}}},{{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"{}","size":{},"annotations":{{"org.opencontainers.image.ref.name":"a"}}}}]}}"#,
            bundle.digest(),
            layout.bundle.bytes.len(),
            component.digest,
            component.bytes.len(),
        )
    );
    assert_eq!(text(&files[8].data), r#"{"imageLayoutVersion":"1.0.0"}"#);
    assert_eq!(prefixed_sha256(oci::EMPTY_BYTES), oci::EMPTY_DIGEST);
    assert_eq!(prefixed_sha256(&tar(&bundle)), GOLDEN);
}

/// The digest of the smallest bundle's tar.
const GOLDEN: &str = "sha256:f0eec7d99ea7873af75ebf322e05f0fd602f3f41a0fef436f04142d090061962";

#[test]
fn tar_contains_nothing_of_the_machine() {
    let bytes = tar(&bundle());
    let mut archive = tar::Archive::new(bytes.as_slice());
    for entry in archive.entries().unwrap() {
        let header = entry.unwrap().header().clone();
        assert!(header.as_ustar().is_some());
        let owner = (header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap());
        assert_eq!(owner, (0, 0, 0));
        assert_eq!(header.username_bytes().unwrap(), b"");
        assert_eq!(header.groupname_bytes().unwrap(), b"");
        let directory = header.entry_type().is_dir();
        assert_eq!(header.mode().unwrap(), if directory { 0o755 } else { 0o644 });
    }
}

#[test]
fn what_other_tools_write_is_read() {
    let bundle = bundle();
    let plain = entries(&bundle);
    let read = |entries: &[Entry]| Bundle::read_tar(pack(entries).as_slice()).unwrap();
    // GNU tar: `./` before everything, and filled up to 10 KiB.
    let gnu = plain.iter().cloned().map(|e| Entry { path: format!("./{}", e.path), gnu: true, ..e });
    let mut gnu: Vec<_> = gnu.collect();
    gnu.insert(0, Entry::new(b'5', "./", b""));
    let mut bytes = pack(&gnu);
    bytes.resize(bytes.len().next_multiple_of(10_240), 0);
    assert_eq!(Bundle::read_tar(bytes.as_slice()).unwrap(), bundle);
    // regctl: times with fractions, directories without a slash, a list for Docker, files in another order.
    let times = b"30 mtime=1700000000.123456789\n30 atime=1700000000.123456789\n20 ctime=1700000000\n";
    let rest = plain.iter().rev().cloned().map(|e| Entry { path: e.path.trim_end_matches('/').into(), ..e });
    let all = rest.chain([Entry::file("manifest.json", b"[]")]);
    let go: Vec<_> = all.flat_map(|e| [Entry::new(b'x', "PaxHeaders.0/x", times), e]).collect();
    assert_eq!(read(&go), bundle);
    // No directories, and regular files as the oldest tars had them.
    let old: Vec<_> = plain[2..].iter().cloned().map(|e| Entry { kind: 0, ..e }).collect();
    assert_eq!(read(&old), bundle);
}

#[test]
fn an_index_may_have_been_rewritten() {
    let bundle = bundle();
    let (digest, size) = (bundle.digest(), bundle.layout().bundle.bytes.len());
    let of_components: Vec<String> =
        bundle.layout().components.iter().map(|c| c.digest.replace("sha256:", "blobs/sha256/")).collect();
    let configs: Vec<&str> =
        bundle.layout().blobs.iter().filter(|b| b.media_type == oci::WASM_CONFIG).map(|b| b.digest).collect();
    let configs: Vec<_> = configs.iter().map(|d| d.replace("sha256:", "blobs/sha256/")).collect();
    let mine = format!(r#""mediaType":"{}","digest":"{digest}","size":{size}"#, oci::MANIFEST);
    let index = |text: String| {
        let mut entries = entries(&bundle);
        entries.retain(|e| !of_components.contains(&e.path) && !configs.contains(&e.path));
        entries.iter_mut().find(|e| e.path == "index.json").unwrap().data = text.into_bytes();
        Bundle::read_tar(pack(&entries).as_slice())
    };
    // Without the components, the artifact type, the name and the index' own type; twice; with what isn't known here.
    for text in [
        format!(r#"{{"schemaVersion":2,"manifests":[{{{mine}}}]}}"#),
        format!(r#"{{"schemaVersion":2,"manifests":[{{{mine}}},{{{mine},"annotations":{{"a":"b"}}}}]}}"#),
        format!(
            r#"{{"schemaVersion":2,"new":[1],"manifests":[{{{mine},"platform":{{"os":"x"}}}}],"annotations":{{}}}}"#
        ),
        format!("\n {{\"schemaVersion\": 2, \"manifests\": [ {{{mine}}} ] }}\n"),
    ] {
        assert_eq!(index(text).unwrap(), bundle);
    }
    // A manifest with annotations, as `regctl` and `oras` add them, is still that of the same files.
    let manifest = String::from_utf8(bundle.layout().bundle.bytes.to_vec()).unwrap();
    let noted = manifest.replacen("\"size\":2}", "\"size\":2,\"data\":\"e30=\"}", 1);
    let noted = noted.replacen(
        "\"layers\"",
        "\"annotations\":{\"org.opencontainers.image.created\":\"x\"},\"layers\"",
        1,
    );
    assert_ne!(noted, manifest);
    assert_eq!(Bundle::read_tar(pack(&with_manifest(&bundle, noted.as_bytes())).as_slice()).unwrap(), bundle);
}

#[test]
fn flipped_bit_is_refused_or_harmless() {
    let bundle = small();
    let good = tar(&bundle);
    let (mut refused, mut equal) = (0, 0);
    for at in 0..good.len() {
        for mask in [1 << (at % 8), 255] {
            let mut bytes = good.clone();
            bytes[at] ^= mask;
            match Bundle::read_tar(bytes.as_slice()) {
                Ok(read) => {
                    assert_eq!(read, bundle, "byte {at}, mask {mask}");
                    equal += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    // Padding, and what the index says that nothing depends on.
    assert!(refused > 3 * equal / 2, "{refused} refused, {equal} equal");
}

#[test]
fn any_bytes_are_a_bundle_or_refused() {
    let (good, bundle) = (tar(&bundle()), bundle());
    let (mut equal, mut refused) = (0, 0);
    mutants::each(&[&good], 300, |bytes| match Bundle::read_tar(bytes) {
        Ok(read) => {
            equal += 1;
            assert_eq!(read, bundle);
        }
        Err(error) => {
            refused += 1;
            assert!(error.to_string().len() < 2_000, "{error}");
        }
    });
    assert!(equal > 3 && refused > 150, "{equal} equal, {refused} refused");
}

#[test]
fn truncated_bundle_is_refused() {
    let good = tar(&bundle());
    for end in 0..good.len() {
        if end % 512 < 3 || end % 512 == 511 {
            let error = Bundle::read_tar(&good[..end]).unwrap_err();
            assert_eq!(error.code(), "truncated", "at {end}");
        }
    }
}

#[test]
fn number_of_files_is_limited() {
    let mut many: BTreeMap<_, _> =
        (0..FILES).map(|n| (format!("p{n:03}.wasm"), wasm(&format!("p{n}")))).collect();
    let bundle = Bundle::from_files(many.clone()).unwrap();
    let bytes = tar(&bundle);
    assert_eq!(Bundle::read_tar(bytes.as_slice()).unwrap(), bundle);
    // With times before every entry it is as many headers as there can be.
    let times = Entry::new(b'x', "x", b"20 mtime=1700000000\n");
    let more: Vec<_> = entries(&bundle).into_iter().flat_map(|entry| [times.clone(), entry]).collect();
    assert_eq!(Bundle::read_tar(pack(&more).as_slice()).unwrap(), bundle);
    let manifest = String::from_utf8(bundle.layout().bundle.bytes.to_vec()).unwrap();
    let (head, layers) = manifest.split_once("\"layers\":[").unwrap();
    let first = layers.split_once("}},").unwrap().0.replace("p000", "q000");
    let more = format!("{head}\"layers\":[{first}}}}},{layers}");
    assert_eq!(Contents::parse(more.as_bytes()).unwrap_err().code(), "too-many-files");
    many.insert("README.md".into(), Vec::new());
    assert_eq!(Bundle::from_files(many).unwrap_err().code(), "too-many-files");
}

#[test]
fn equal_files_share_one_blob() {
    let bundle = Bundle::from_files(files(&[
        ("a.wasm", EMPTY),
        ("b.wasm", EMPTY),
        ("c.md", b"{}"),
        ("a.wasm.intoto.jsonl", b""),
        ("b.wasm.intoto.jsonl", b""),
    ]))
    .unwrap();
    let layout = bundle.layout();
    // The component, its config, `{}` and nothing.
    assert_eq!((layout.blobs.len(), layout.components.len()), (4, 2));
    assert_eq!(Bundle::read_tar(tar(&bundle).as_slice()).unwrap(), bundle);
    let contents = Contents::parse(layout.bundle.bytes).unwrap();
    assert_eq!(contents.into_bundle(blobs(&bundle)).unwrap(), bundle);
    // A file that is the bytes of a manifest is a blob as well.
    let odd = Bundle::from_files(files(&[("a.wasm", EMPTY), ("m.md", layout.components[0].bytes)])).unwrap();
    assert_eq!(Bundle::read_tar(tar(&odd).as_slice()).unwrap(), odd);
    assert!(odd.layout().blobs.iter().any(|blob| blob.digest == layout.components[0].digest));
}

#[test]
fn files_are_refused_each_for_its_reason() {
    let long = format!("{}.md", "x".repeat(126));
    for (name, code) in [
        ("", "bad-name"),
        (".md", "bad-name"),
        ("-a.md", "bad-name"),
        ("..", "bad-name"),
        ("../a.md", "bad-name"),
        ("a/b.md", "bad-name"),
        ("a\\b.md", "bad-name"),
        ("C:a.md", "bad-name"),
        ("a b.md", "bad-name"),
        ("a\n.md", "bad-name"),
        ("ä.md", "bad-name"),
        ("a\0.md", "bad-name"),
        (&long, "bad-name"),
        ("a.txt", "unknown-file"),
        ("a.key", "unknown-file"),
        ("a.WASM", "unknown-file"),
        ("a.json", "unknown-file"),
        ("Plugins.toml", "unknown-file"),
        ("trust.toml", "unknown-file"),
        ("a.intoto.jsonl", "unknown-file"),
        ("bundle.wasm", "reserved-name"),
        ("Bundle.wasm", "reserved-name"),
        ("B.wasm.intoto.jsonl", "statements-without-component"),
        ("A.wasm", "names-alike"),
    ] {
        let error = Bundle::from_files(files(&[("a.wasm", EMPTY), (name, EMPTY)])).unwrap_err();
        assert_eq!(error.code(), code, "{name}: {error}");
        assert!(!error.to_string().chars().any(pivot_core::messages::safe_text::is_hidden), "{error:?}");
    }
    let large = |size: u64| vec![0; usize::try_from(size).unwrap()];
    for (name, limit) in [("b.wasm", COMPONENT), ("b.md", OTHER), ("b.cdx.json", SBOM)] {
        let error = Bundle::from_files(files(&[("a.wasm", EMPTY), (name, &large(limit + 1))])).unwrap_err();
        assert_eq!(error.code(), "file-too-large", "{name}");
    }
    assert!(Bundle::from_files(files(&[("a.wasm", EMPTY), ("b.md", &large(OTHER))])).is_ok());
    for (of, code) in [
        (files(&[]), "no-component"),
        (files(&[("plugins.toml", b"")]), "no-component"),
        (files(&[("a.wasm", b"\0asm\x01\0\0\0")]), "not-a-component"),
        (files(&[("a.wasm", &importing(100, 11_000))]), "too-many-imports"),
    ] {
        assert_eq!(Bundle::from_files(of).unwrap_err().code(), code);
    }
}

#[test]
fn tar_is_limited_before_reading() {
    let entries = entries(&bundle());
    let bytes = pack(&entries);
    let read = |limits: ArchiveLimits| {
        archive::read_layout(bytes.as_slice(), &limits).map(drop).map_err(|e| e.code())
    };
    let sizes = || entries.iter().filter(|e| e.path.len() > 20).map(|e| e.data.len() as u64);
    let (all, largest) = (sizes().sum(), sizes().max().unwrap());
    let exact = || ArchiveLimits { blob: largest, total: all, entries: entries.len() };
    assert_eq!(read(exact()), Ok(()));
    assert_eq!(read(ArchiveLimits { blob: largest - 1, ..exact() }), Err("entry-too-large"));
    assert_eq!(read(ArchiveLimits { total: all - 1, ..exact() }), Err("archive-too-large"));
    assert_eq!(read(ArchiveLimits { entries: entries.len() - 1, ..exact() }), Err("too-many-entries"));
}
