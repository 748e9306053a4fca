//! Tars that someone would make to write where nothing is to be written, or to be read differently by two programs: each refused
//! for its own reason.

use std::io::Read;

use crate::bundles::bundle::Bundle;
use crate::bundles::tests::sample::{EMPTY, Entry, bundle, entries, pack, tar};

const SHA: &str = "blobs/sha256/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn code(bytes: &[u8]) -> &'static str {
    let error = Bundle::read_tar(bytes).unwrap_err();
    assert!(!error.to_string().chars().any(pivot_core::messages::safe_text::is_hidden), "{error:?}");
    error.code()
}

// proves: T32
#[test]
fn entries_are_refused_each_for_its_reason() {
    let file = Entry::file;
    let entry = |kind: u8, path: &str| Entry::new(kind, path, b"");
    let times = |data: &[u8]| Entry::new(b'x', "PaxHeaders.0/x", data);
    let sized = |path: &str, size: u64| Entry { size: Some(size), ..file(path, b"x") };
    let upper = SHA.replace('a', "A");
    let cases = [
        ("parent-path", file("../x", b"x")),
        ("parent-path", file("blobs/../../x", b"x")),
        ("parent-path", file("blobs/sha256/..", b"x")),
        ("parent-path", file("./../oci-layout", b"x")),
        ("absolute-path", file("/etc/cron.d/x", b"x")),
        ("absolute-path", file("/oci-layout", b"x")),
        ("absolute-path", entry(b'5', "/")),
        ("unexpected-path", file("x", b"x")),
        ("unexpected-path", file("", b"x")),
        ("unexpected-path", entry(b'5', "")),
        ("unexpected-path", entry(b'5', "./.")),
        ("unexpected-path", file("././index.json", b"x")),
        ("unexpected-path", file("index.json/", b"x")),
        ("unexpected-path", file("./index.JSON", b"x")),
        ("unexpected-path", file("blobs//sha256", b"x")),
        ("unexpected-path", file("blobs/./sha256", b"x")),
        ("unexpected-path", file("blobs/sha512/x", b"x")),
        ("unexpected-path", file("blobs/sha256/x", b"x")),
        ("unexpected-path", file(&upper, b"x")),
        ("unexpected-path", file(&SHA[..76], b"x")),
        ("unexpected-path", file(&format!("{SHA}a"), b"x")),
        ("unexpected-path", file(&format!("{SHA}/x"), b"x")),
        ("unexpected-path", file("a\u{202e}\n\x1b[2J", b"x")),
        ("unexpected-path", file("C:\\x", b"x")),
        ("unexpected-path", file("a.wasm", EMPTY)),
        ("unexpected-path", entry(b'5', "ingest/")),
        ("symlink", entry(b'2', SHA)),
        ("symlink", entry(b'2', "blobs/sha256")),
        ("hard-link", entry(b'1', SHA)),
        ("device", entry(b'3', SHA)),
        ("device", entry(b'4', SHA)),
        ("fifo", entry(b'6', "index.json")),
        ("sparse-file", Entry { gnu: true, ..entry(b'S', SHA) }),
        ("long-name", file("././@LongLink", b"x").also(b'L')),
        ("long-name", file("././@LongLink", b"x").also(b'K')),
        ("unknown-entry-type", file(SHA, b"x").also(b'7')),
        ("unknown-entry-type", file(SHA, b"x").also(b'X')),
        ("unknown-entry-type", file(SHA, b"x").also(b'\n')),
        ("global-extension-header", file("x", b"20 mtime=1700000000\n").also(b'g')),
        ("extension-header", times(b"9 path=x\n")),
        ("extension-header", times(b"20 mtime=1700000000\n9 path=x\n")),
        ("extension-header", times(b"14 linkpath=x\n")),
        ("extension-header", times(b"19 size=9999999999\n")),
        ("extension-header", times(b"22 GNU.sparse.major=1\n")),
        ("extension-header", times(b"19 SCHILY.xattr.a=\n")),
        ("extension-header", times(b"12 Mtime=12\n")),
        ("damaged-extension-header", times(b"x")),
        ("damaged-extension-header", times(b"\n9 path=x\n")),
        ("damaged-extension-header", times(b"0 mtime=1\n")),
        ("damaged-extension-header", times(b"+10 mtime=1\n")),
        ("damaged-extension-header", times(b"11 mtime=12")),
        ("damaged-extension-header", times(b"99 mtime=1\n")),
        ("damaged-extension-header", times(b"99999999999999999999 mtime=1\n")),
        ("damaged-extension-header", times(b"8 mtime\n")),
        ("entry-too-large", times(&b"20 mtime=1700000000\n".repeat(300))),
        ("wrong-entry-type", entry(b'5', "index.json")),
        ("wrong-entry-type", entry(b'5', SHA)),
        ("wrong-entry-type", file("blobs/", b"")),
        ("wrong-entry-type", file("./", b"")),
        ("entry-too-large", sized(SHA, (64 << 20) + 1)),
        ("entry-too-large", sized(SHA, 10 << 30)),
        ("entry-too-large", sized(SHA, u64::MAX)),
        ("entry-too-large", sized("index.json", (1 << 20) + 1)),
        ("entry-too-large", sized("oci-layout", 10 << 30)),
        ("entry-too-large", sized("manifest.json", 10 << 30)),
        ("entry-too-large", Entry { size: Some(1), ..entry(b'5', "blobs/") }),
        ("truncated", sized(SHA, 64 << 20)),
        ("wrong-digest", file(SHA, b"x")),
        ("wrong-digest", file(SHA, b"")),
    ];
    let rest = entries(&bundle());
    for (wanted, case) in cases {
        // First, and after everything else where the place isn't taken.
        let first: Vec<_> = [&case].into_iter().chain(&rest).cloned().collect();
        let bytes = if wanted == "truncated" { pack(&first[..1]) } else { pack(&first) };
        assert_eq!(code(&bytes), wanted, "{}", case.path);
        let unfinished = wanted == "truncated" || rest.iter().any(|entry| entry.path == case.path);
        let last: Vec<_> = rest.iter().chain([&case]).cloned().collect();
        if !unfinished {
            assert_eq!(code(&pack(&last)), wanted, "{} at the end", case.path);
        }
    }
}

impl Entry {
    /// Returns the entry with another type.
    fn also(self, kind: u8) -> Self {
        Self { kind, ..self }
    }
}

#[test]
fn everything_is_there_once() {
    let all = entries(&bundle());
    for entry in &all {
        for path in [entry.path.clone(), format!("./{}", entry.path)] {
            let twice = Entry { path, ..entry.clone() };
            let entries: Vec<_> = all.iter().chain([&twice]).cloned().collect();
            assert_eq!(code(&pack(&entries)), "entry-twice", "{}", entry.path);
        }
        let others: Vec<_> = all.iter().filter(|other| other.path != entry.path).cloned().collect();
        match entry.path.as_str() {
            "index.json" => assert_eq!(code(&pack(&others)), "no-index"),
            "oci-layout" => assert_eq!(code(&pack(&others)), "no-layout"),
            "blobs/" | "blobs/sha256/" => assert!(Bundle::read_tar(pack(&others).as_slice()).is_ok()),
            // The configs of components belong to nothing that is needed.
            _ if entry.data.starts_with(b"{\"created\"") => {
                assert!(Bundle::read_tar(pack(&others).as_slice()).is_ok());
            }
            _ => assert_eq!(code(&pack(&others)), "missing-blob", "{}", entry.path),
        }
    }
    let times = Entry::new(b'x', "x", b"20 mtime=1700000000\n");
    let two: Vec<_> = [times.clone(), times.clone()].into_iter().chain(all.clone()).collect();
    assert_eq!(code(&pack(&two)), "damaged-extension-header");
    let last: Vec<_> = all.iter().chain([&times]).cloned().collect();
    assert_eq!(code(&pack(&last)), "damaged-extension-header");
    let docker = Entry::file("manifest.json", b"[]");
    let last: Vec<_> = all.iter().chain([&docker, &docker]).cloned().collect();
    assert_eq!(code(&pack(&last)), "entry-twice");
}

#[test]
fn other_formats_are_named() {
    let good = tar(&bundle());
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    let after = |more: &[u8]| [good.as_slice(), more].concat();
    let text = b"hello ".repeat(200);
    let mut sum = good.clone();
    // A size that is no number, with the right checksum.
    sum[124..136].copy_from_slice(b"9999999999\0\0");
    let bytes: u32 = sum[..512]
        .iter()
        .enumerate()
        .map(|(n, b)| if (148..156).contains(&n) { 32 } else { u32::from(*b) })
        .sum();
    sum[148..156].copy_from_slice(format!("{bytes:06o}\0 ").as_bytes());
    let cases: [(&str, Vec<u8>); 22] = [
        ("truncated", Vec::new()),
        ("truncated", vec![0; 512]),
        ("truncated", good[..good.len() - 512].to_vec()),
        ("truncated", after(&[0])),
        ("no-layout", vec![0; 1024]),
        ("compressed", b"\x1f\x8b\x08\0".to_vec()),
        ("compressed", [b"\x1f\x8b\x08\0", good.as_slice()].concat()),
        ("compressed", [b"\x28\xb5\x2f\xfd", good.as_slice()].concat()),
        ("compressed", [b"\xfd7zXZ\0", good.as_slice()].concat()),
        ("truncated", b"hello".to_vec()),
        ("not-a-tar", text),
        ("not-a-tar", EMPTY.repeat(100)),
        ("not-a-tar", with(257, b'x')),
        ("damaged-header", with(0, b'B')),
        ("damaged-header", with(148, b'7')),
        ("damaged-header", with(148, b'x')),
        ("damaged-header", sum),
        ("trailing-data", after(b"x")),
        ("trailing-data", after(&good)),
        ("trailing-data", after(&[vec![0; 9216], vec![1]].concat())),
        ("trailing-data", after(&vec![0; 1 << 20])),
        ("not-a-tar", [b"x".repeat(512), good.clone()].concat()),
    ];
    for (wanted, bytes) in cases {
        assert_eq!(code(&bytes), wanted, "{:?}", &bytes[..bytes.len().min(8)]);
    }
    let gzip = Bundle::read_tar(b"\x1f\x8b\x08".as_slice()).unwrap_err().to_string();
    assert_eq!(gzip, "it is compressed with gzip; decompress it first (gzip -d)");
    assert_eq!(code(&after(b"x\0".repeat(256).as_slice())), "trailing-data");
}

#[test]
fn failing_or_endless_reader_is_refused() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::PermissionDenied.into())
        }
    }
    let good = tar(&bundle());
    assert_eq!(Bundle::read_tar(Fails).unwrap_err().code(), "unreadable");
    assert_eq!(Bundle::read_tar(good[..1000].chain(Fails)).unwrap_err().code(), "unreadable");
    // Zeros without end, and headers without end.
    assert_eq!(Bundle::read_tar(good.chain(std::io::repeat(0))).unwrap_err().code(), "trailing-data");
    let one = pack(&[Entry::new(b'x', "x", b""), Entry::new(b'5', "./", b"")]);
    assert_eq!(code(&[&one[..1024], &one[512..1024]].concat()), "entry-twice");
}
