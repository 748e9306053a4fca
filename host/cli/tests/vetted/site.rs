//! A folder with plugins, and the program that is run in it.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use base64::Engine as _;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::schemas;

pub(crate) struct Site {
    dir: TempDir,
}

impl Site {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("plugins")).unwrap();
        Self { dir }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    /// Puts a component of the tests there.
    pub(crate) fn guest(&self, name: &str, file: &str) {
        std::fs::copy(pivot_guests::guest(name).unwrap(), self.path(file)).unwrap();
    }

    /// Runs the program, which has to end with this code.
    pub(crate) fn host(&self, code: i32, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
        // Nothing of the machine that runs the tests counts.
        command.env_clear().current_dir(self.dir.path()).args(arguments);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", out(&output), err(&output));
        output
    }

    /// Where no link leads on.
    pub(crate) fn real(&self, below: &str) -> PathBuf {
        self.path(below).canonicalize().unwrap()
    }

    pub(crate) fn mode(&self, file: &str, mode: u32) {
        set_permissions(self.path(file), Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        std::fs::write(self.path(file), text).unwrap();
    }

    pub(crate) fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.path(file)).unwrap()
    }

    /// Something to move, in a folder.
    pub(crate) fn world(&self) {
        std::fs::create_dir(self.path("world")).unwrap();
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site, namespace: a, labels: \
                   {clusterctl.cluster.x-k8s.io/move: ''}}\n";
        self.write("world/objects.yaml", map);
    }

    fn openssl(&self, arguments: &[&str]) {
        let output = Command::new("openssl").current_dir(self.dir.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", err(&output));
    }

    /// A key as a site makes one: `NAME.pem`, and `NAME.pub` for others.
    pub(crate) fn key(&self, name: &str) {
        let (key, public) = (format!("{name}.pem"), format!("{name}.pub"));
        self.openssl(&["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", &key]);
        self.openssl(&["pkey", "-in", &key, "-pubout", "-out", &public]);
    }

    /// The same for Ed25519.
    pub(crate) fn edwards_key(&self, name: &str) {
        let (key, public) = (format!("{name}.pem"), format!("{name}.pub"));
        self.openssl(&["genpkey", "-algorithm", "ED25519", "-out", &key]);
        self.openssl(&["pkey", "-in", &key, "-pubout", "-out", &public]);
    }

    /// The digest by which a trust file names a key.
    pub(crate) fn fingerprint(&self, name: &str) -> String {
        let pem = self.read(&format!("{name}.pub"));
        let text: String = pem.lines().filter(|line| !line.starts_with("---")).collect();
        let der = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
        let digest = Sha256::digest(der).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        format!("sha256:{digest}")
    }

    /// A bare envelope as another tool makes one, with a key in a file.
    pub(crate) fn signed_elsewhere(&self, payload: &str, key: &str, file: &str) {
        let kind = "application/vnd.in-toto+json";
        self.write("pae", &format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len()));
        self.openssl(&["dgst", "-sha256", "-sign", key, "-out", "signature", "pae"]);
        let base64 = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
        let signature = base64(&std::fs::read(self.path("signature")).unwrap());
        let envelope = serde_json::json!({
            "payloadType": kind, "payload": base64(payload.as_bytes()), "signatures": [{"sig": signature}],
        });
        self.write(file, &envelope.to_string());
    }

    /// Runs the program where there is no network, not even a loopback.
    pub(crate) fn host_alone(&self, code: i32, arguments: &[&str]) -> Output {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--net", env!("CARGO_BIN_EXE_pivot-host")]).args(arguments);
        let output = command.current_dir(self.dir.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", out(&output), err(&output));
        output
    }

    /// Digests and sizes change with the compiler.
    pub(crate) fn without_digests(&self, text: &str) -> String {
        let vague = |line: &str| match line.trim_start().split(' ').next() {
            Some(word @ ("sha256" | "size")) => format!("  {word} …\n"),
            _ => format!("{line}\n"),
        };
        text.lines().map(vague).collect()
    }
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What is written for programs, which is as its schema says.
pub(crate) fn json(output: &Output) -> Value {
    let document =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", out(output)));
    schemas::check(&document);
    document
}
