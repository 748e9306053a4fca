//! Lists the SDK's files, so that none is forgotten when one is added.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = here.join("../..");
    let mut files = Vec::new();
    let bounds = ["sdk/bounds/Cargo.toml", "sdk/bounds/cases.json", "sdk/bounds/src"];
    for part in ["sdk/Cargo.toml", "sdk/src", "wit"].into_iter().chain(bounds) {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
        collect_files(&root, Path::new(part), &mut files)?;
    }
    files.sort();
    let mut list = String::from("[\n");
    for file in files {
        let from = root.join(&file);
        let file = file.display().to_string().replace('\\', "/");
        // Writing to a String can't fail.
        let _ = writeln!(list, "    ({file:?}, include_str!({from:?})),");
    }
    list.push_str("]\n");
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("sdk.rs"), list)
}

fn collect_files(root: &Path, path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if root.join(path).is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(root.join(path))? {
        collect_files(root, &path.join(entry?.file_name()), files)?;
    }
    Ok(())
}
