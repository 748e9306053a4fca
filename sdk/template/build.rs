//! Lists the files of the SDKs, so that none is forgotten when one is added, and generates the Go bindings.

mod go_bindings;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const RUST: [&str; 8] = [
    "sdk/Cargo.toml",
    "sdk/LICENSE",
    "sdk/src",
    "sdk/wit",
    "sdk/bounds/Cargo.toml",
    "sdk/bounds/cases.json",
    "sdk/bounds/src",
    "wit",
];

fn main() -> io::Result<()> {
    let folder = |variable: &str| PathBuf::from(env::var_os(variable).unwrap_or_default());
    let (here, out) = (folder("CARGO_MANIFEST_DIR"), folder("OUT_DIR"));
    let root = here.join("../..");
    for own in ["build.rs", "go_bindings.rs", "go/sdk"] {
        println!("cargo::rerun-if-changed={own}");
    }

    let mut rust = BTreeMap::new();
    for part in RUST {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
        collect_files(&root, Path::new(part), &mut rust)?;
    }
    write_list(&out.join("rust_sdk.rs"), &rust)?;

    let bindings = out.join("go");
    for (path, text) in go_bindings::generate_bindings(&fs::read_to_string(root.join("wit/provider.wit"))?)? {
        let path = bindings.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)?;
    }
    let mut go = BTreeMap::new();
    for (base, part) in [(here.join("go/sdk"), ""), (bindings, ""), (root, "wit")] {
        collect_files(&base, Path::new(part), &mut go)?;
    }
    write_list(&out.join("go_sdk.rs"), &go)
}

/// Adds the files of a part of a folder, by their paths in the folder.
fn collect_files(base: &Path, part: &Path, files: &mut BTreeMap<PathBuf, PathBuf>) -> io::Result<()> {
    let path = base.join(part);
    if path.is_file() {
        files.insert(part.to_owned(), path);
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        collect_files(base, &part.join(entry?.file_name()), files)?;
    }
    Ok(())
}

/// Writes the list as an expression: paths and contents.
fn write_list(to: &Path, files: &BTreeMap<PathBuf, PathBuf>) -> io::Result<()> {
    let mut list = String::from("[\n");
    for (path, from) in files {
        let path = path.display().to_string().replace('\\', "/");
        // Writing to a String can't fail.
        let _ = writeln!(list, "    ({path:?}, include_str!({from:?})),");
    }
    list.push_str("]\n");
    fs::write(to, list)
}
