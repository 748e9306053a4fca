//! Components, bundles and tars for the tests.

use std::collections::BTreeMap;
use std::io::Read as _;

use tar::{EntryType, Header};
use wasm_encoder::{
    Component, ComponentExportKind, ComponentExportSection, ComponentImportSection, ComponentTypeRef,
    TypeBounds,
};

use crate::bundles::bundle::Bundle;
use crate::digest::prefixed_sha256;

/// The smallest component.
pub(crate) const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

/// A component with two imports, an export, and its own name inside so that two have different digests.
pub(crate) fn wasm(name: &str) -> Vec<u8> {
    let mut component = Component::new();
    let mut imports = ComponentImportSection::new();
    imports.import(format!("test:{name}/import@1.0.0"), ComponentTypeRef::Type(TypeBounds::SubResource));
    imports.import("second", ComponentTypeRef::Type(TypeBounds::SubResource));
    component.section(&imports);
    let mut exports = ComponentExportSection::new();
    exports.export(format!("test:{name}/export"), ComponentExportKind::Type, 0, None);
    component.section(&exports);
    component.finish()
}

/// A component inside another one.
pub(crate) fn nested(inner: &[u8]) -> Vec<u8> {
    let mut bytes = EMPTY.to_vec();
    // A section with the id 4 (a component), its length in LEB128 and the component.
    bytes.push(4);
    let length = u8::try_from(inner.len()).unwrap();
    if length < 0x80 {
        bytes.push(length)
    } else {
        bytes.extend([length | 0x80, 1])
    }
    bytes.extend(inner);
    bytes
}

/// A component with so many imports, with names of so many bytes.
pub(crate) fn importing(count: usize, size: usize) -> Vec<u8> {
    let mut component = Component::new();
    let mut imports = ComponentImportSection::new();
    for n in 0..count {
        imports.import(format!("{n}{}", "x".repeat(size)), ComponentTypeRef::Type(TypeBounds::SubResource));
    }
    component.section(&imports);
    component.finish()
}

/// Files by name.
pub(crate) fn files(of: &[(&str, &[u8])]) -> BTreeMap<String, Vec<u8>> {
    of.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect()
}

/// A bundle with one file of each kind.
pub(crate) fn bundle() -> Bundle {
    Bundle::from_files(files(&[
        ("hosts.wasm", &wasm("hosts")),
        ("hosts.wasm.intoto.jsonl", b"{}"),
        ("hosts.md", b"# Hosts\n"),
        ("hosts.cdx.json", b"{\"bomFormat\":\"CycloneDX\"}"),
        ("other.wasm", EMPTY),
        ("plugins.toml", b"[plugins.hosts]\n"),
        ("plugins.lock", b"version = 1\n"),
        ("acme.pub", b"-----BEGIN PUBLIC KEY-----\n"),
        ("LICENSE", b"Apache-2.0\n"),
    ]))
    .unwrap()
}

/// The smallest bundle.
pub(crate) fn small() -> Bundle {
    Bundle::from_files(files(&[("a.wasm", EMPTY)])).unwrap()
}

/// A bundle as a tar.
pub(crate) fn tar(bundle: &Bundle) -> Vec<u8> {
    let mut bytes = Vec::new();
    bundle.write_tar(&mut bytes).unwrap();
    bytes
}

/// An entry of a tar, as a test writes it.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) kind: u8,
    pub(crate) data: Vec<u8>,
    /// Size in the header, if it differs from the data's size.
    pub(crate) size: Option<u64>,
    pub(crate) gnu: bool,
}

impl Entry {
    pub(crate) fn new(kind: u8, path: &str, data: &[u8]) -> Self {
        Self { path: path.to_owned(), kind, data: data.to_vec(), size: None, gnu: false }
    }

    pub(crate) fn file(path: &str, data: &[u8]) -> Self {
        Self::new(b'0', path, data)
    }

    pub(crate) fn blob(data: &[u8]) -> Self {
        Self::file(&prefixed_sha256(data).replace("sha256:", "blobs/sha256/"), data)
    }

    fn write(&self, to: &mut Vec<u8>) {
        let mut header = if self.gnu { Header::new_gnu() } else { Header::new_ustar() };
        for (at, byte) in self.path.bytes().enumerate() {
            header.as_old_mut().name[at] = byte;
        }
        header.set_entry_type(EntryType::new(self.kind));
        header.set_mode(0o600);
        header.set_uid(1000);
        header.set_gid(1000);
        header.set_mtime(1_700_000_000);
        header.set_size(self.size.unwrap_or(self.data.len() as u64));
        header.set_cksum();
        to.extend_from_slice(header.as_bytes());
        to.extend_from_slice(&self.data);
        to.resize(to.len().next_multiple_of(512), 0);
    }
}

/// The entries of a bundle's tar: two directories, its blobs, the index, and the file that says that it is a layout.
pub(crate) fn entries(bundle: &Bundle) -> Vec<Entry> {
    let bytes = tar(bundle);
    let mut archive = tar::Archive::new(bytes.as_slice());
    let entry = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
        let mut entry = entry.unwrap();
        let mut data = Vec::new();
        entry.read_to_end(&mut data).unwrap();
        let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        Entry::new(entry.header().as_bytes()[156], &path, &data)
    };
    archive.entries().unwrap().map(entry).collect()
}

/// Returns the entries with the bundle's manifest and index replaced. The digest of the manifest in the index is adjusted.
pub(crate) fn with_manifest(bundle: &Bundle, manifest: &[u8]) -> Vec<Entry> {
    let mut entries = entries(bundle);
    let old = bundle.digest().replace("sha256:", "blobs/sha256/");
    entries.retain(|entry| entry.path != old);
    let index = entries.iter_mut().find(|entry| entry.path == "index.json").unwrap();
    let text = String::from_utf8(index.data.clone()).unwrap();
    let before = format!("{}\",\"size\":{}", bundle.digest(), bundle.layout().bundle.bytes.len());
    assert!(text.contains(&before));
    index.data = text
        .replacen(&before, &format!("{}\",\"size\":{}", prefixed_sha256(manifest), manifest.len()), 1)
        .into();
    if !entries.iter().any(|entry| entry.path == Entry::blob(manifest).path) {
        entries.push(Entry::blob(manifest));
    }
    entries
}

/// Entries as a tar.
pub(crate) fn pack(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    entries.iter().for_each(|entry| entry.write(&mut bytes));
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}
