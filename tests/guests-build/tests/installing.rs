//! Several processes that need the same target at the same time.

#[cfg(test)]
mod installing {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::{Command, Stdio};

    /// Fails if it installs twice at a time, as the real one may.
    const RUSTUP: &str = r#"#!/bin/sh
if [ "$2" = list ]; then cat "$FAKE/installed" 2>/dev/null; exit 0; fi
mkdir "$FAKE/busy" || exit 1
sleep 0.2
echo "$3" >>"$FAKE/installed"
rmdir "$FAKE/busy"
"#;

    /// Knows a workspace with one plugin, and builds nothing.
    const CARGO: &str = r#"#!/bin/sh
if [ "$1" = metadata ]; then
    echo '{"packages": [{"name": "p", "targets": [{"crate_types": ["cdylib"]}]}]}'
    exit 0
fi
echo reached cargo >&2
exit 1
"#;

    fn write_program(folder: &Path, name: &str, text: &str) {
        let file = folder.join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn processes_install_a_target_one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let fake = dir.path();
        write_program(fake, "rustup", RUSTUP);
        write_program(fake, "rustc", "#!/bin/sh\necho fake\n");
        write_program(fake, "cargo", CARGO);
        fs::create_dir(fake.join("plugins")).unwrap();
        let path = std::env::var("PATH").unwrap();
        let begin = |_| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-guests"));
            command.arg(fake.join("plugins")).arg(fake.join("out")).stderr(Stdio::piped());
            command.env("PATH", format!("{}:{path}", fake.display())).env("FAKE", fake);
            command.env("PIVOT_HOST_CACHE", fake.join("cache")).env("PIVOT_GUESTS", "rustup");
            command.spawn().unwrap()
        };
        for process in (0..4).map(begin).collect::<Vec<_>>() {
            let text = String::from_utf8(process.wait_with_output().unwrap().stderr).unwrap();
            assert!(text.contains("reached cargo"), "{text}");
        }
        let installed = fs::read_to_string(fake.join("installed")).unwrap();
        assert_eq!(installed, "wasm32-unknown-unknown\n");
    }
}
