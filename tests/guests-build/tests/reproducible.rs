//! The bundled plugins as two people build them, each in a checkout and a home of their own.

#[cfg(test)]
mod checkouts {
    use std::collections::BTreeMap;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::{env, fs};

    const FOLDERS: [&str; 3] = ["plugins", "sdk", "wit"];

    /// Copies what lies in a checkout, and nothing that was built there.
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let (name, path) = (entry.file_name(), entry.path());
            if path.is_file() {
                fs::copy(&path, to.join(&name)).unwrap();
            } else if name != "target" && name != "dist" {
                copy(&path, &to.join(&name));
            }
        }
    }

    /// A home for cargo with what this machine's has: its configuration and what was downloaded.
    fn home(at: &Path) {
        let ours = env::var_os("CARGO_HOME").map(PathBuf::from);
        let ours = ours.unwrap_or_else(|| PathBuf::from(env::var_os("HOME").unwrap()).join(".cargo"));
        fs::create_dir(at).unwrap();
        for name in ["config.toml", "config", "credentials.toml", "registry", "bin"] {
            if ours.join(name).exists() {
                symlink(ours.join(name), at.join(name)).unwrap();
            }
        }
    }

    fn repository() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
    }

    fn components(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let named = |path: PathBuf| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap())
        };
        files.map(named).collect()
    }

    /// A copy of the checkout, built with nothing that was built before.
    fn built_afresh(checkout: &Path) -> BTreeMap<String, Vec<u8>> {
        FOLDERS.iter().for_each(|name| copy(&repository().join(name), &checkout.join(name)));
        home(&checkout.join("home"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-guests"));
        command.args(["plugins", "out", "wit", "sdk"].map(|name| checkout.join(name)));
        command.env("PIVOT_HOST_CACHE", checkout.join("cache")).env("CARGO_HOME", checkout.join("home"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        components(&checkout.join("out"))
    }

    #[test]
    fn two_checkouts_give_the_same_bytes_and_no_path_of_either() {
        let place = tempfile::tempdir().unwrap();
        let (root, here) = (repository(), place.path().join("here"));
        let inputs = [root.join("wit"), root.join("sdk")];
        pivot_guests::build_guests(&root.join("plugins"), &inputs.each_ref().map(PathBuf::as_path), &here)
            .unwrap();
        let (one, two) = (components(&here), built_afresh(&place.path().join("a second one/below")));
        assert_eq!(one.len(), 12);
        for (name, bytes) in &one {
            assert!(two[name] == *bytes, "{name} differs: {} and {} bytes", bytes.len(), two[name].len());
            for path in
                [place.path(), &root].map(|path| path.to_str().unwrap()).iter().chain(&["/.cargo/", "/home/"])
            {
                let found = bytes.windows(path.len()).any(|window| window == path.as_bytes());
                assert!(!found, "{name} has {path} in it");
            }
        }
    }
}
