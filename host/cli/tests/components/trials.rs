//! The process that compiles on trial: what it has, how it ends, and that what passed isn't tried again.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::host::{err, host};
use crate::shapes::locals_through_branches;

/// A program that is opening a file which takes long, and the process that it compiles it in.
struct Opening {
    _dir: TempDir,
    program: Child,
    trial: u32,
}

impl Opening {
    fn begin() -> Self {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("long.wasm");
        fs::write(&path, locals_through_branches()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
        command.args(["plugin", "inspect"]).arg(&path);
        command.env("KUBECONFIG", "/secret").env("AWS_SECRET_ACCESS_KEY", "secret");
        let program = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let trial = until(|| child_of(program.id()).filter(|trial| processor_time(*trial) > 5));
        Self { _dir: dir, program, trial }
    }

    fn signalled(mut self, signal: &str) {
        let killed =
            Command::new("/bin/kill").args([signal, &self.program.id().to_string()]).status().unwrap();
        assert!(killed.success());
        self.program.wait().unwrap();
        let trial = self.trial;
        until(|| (!Path::new(&format!("/proc/{trial}/stat")).exists() || dead(trial)).then_some(()));
    }
}

/// Waits until there is what is looked for.
fn until<T>(look: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "waited too long");
        pause();
    }
}

#[allow(clippy::disallowed_methods, reason = "a test without a runtime waits for processes")]
fn pause() {
    thread::sleep(Duration::from_millis(10));
}

/// The fields of a process after its name.
fn stat(process: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// In ticks, most of them hundredths of a second.
fn processor_time(process: u32) -> u64 {
    stat(process).and_then(|fields| fields[11].parse().ok()).unwrap_or(0)
}

/// Ended, if not yet collected by whoever collects orphans.
fn dead(process: u32) -> bool {
    stat(process).is_none_or(|fields| fields[0] == "Z")
}

fn child_of(parent: u32) -> Option<u32> {
    let processes = fs::read_dir("/proc").unwrap();
    let mut ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    ids.find(|id| stat(*id).is_some_and(|fields| fields[1] == parent.to_string()))
}

// proves: T1
#[test]
fn trial_inherits_only_pipes() {
    let opening = Opening::begin();
    let of = |what: &str| format!("/proc/{}/{what}", opening.trial);
    // What the two allocators, the everyday program's and the releases', may reserve, and nothing of the parent's.
    let environment = String::from_utf8(fs::read(of("environ")).unwrap()).unwrap();
    assert_eq!(environment, "MALLOC_ARENA_MAX=1\0MIMALLOC_ARENA_RESERVE=8M\0");
    // What a terminal sends to all of a group is for the parent.
    assert_eq!(stat(opening.trial).unwrap()[2], opening.trial.to_string());
    let open = |n: u32| fs::read_link(of(&format!("fd/{n}"))).unwrap().to_string_lossy().into_owned();
    for stream in 0..3 {
        assert!(open(stream).starts_with("pipe:"), "{stream}: {}", open(stream));
    }
    assert!(!Path::new(&of("fd/3")).exists(), "{}", open(3));
    let limits = fs::read_to_string(of("limits")).unwrap();
    let limit = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!((limit("Max cpu time"), limit("Max core file size"), limit("Max open files")), (5, 0, 64));
    assert!((512 << 20..520 << 20).contains(&limit("Max address space")), "{limits}");
    opening.signalled("-TERM");
}

#[test]
fn a_trial_ends_when_its_parent_does() {
    for signal in ["-INT", "-TERM", "-KILL"] {
        Opening::begin().signalled(signal);
    }
}

#[test]
fn passed_components_are_not_tried_again() {
    let dir = TempDir::new().unwrap();
    let plugin = dir.path().join("older.wasm");
    fs::copy(pivot_guests::guest("older").unwrap(), &plugin).unwrap();
    let ran = |arguments: &[&str]| host(arguments).output().unwrap();
    let locked = ran(&["plugin", "add", plugin.to_str().unwrap()]);
    assert!(locked.status.success(), "{}", err(&locked));
    let lock = fs::read_to_string(dir.path().join("plugins.lock")).unwrap();
    let passed = format!("\npassed = \"pivot-host {} on ", env!("CARGO_PKG_VERSION"));
    assert!(lock.contains(&passed), "{lock}");
    let verified = ran(&["plugin", "verify", dir.path().to_str().unwrap()]);
    assert!(verified.status.success(), "{}", err(&verified));
}

/// What plugins are made of today leaves room.
#[test]
fn real_plugins_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let inputs = [root.join("wit"), root.join("sdk")];
    let out = TempDir::new().unwrap();
    let bundled =
        pivot_guests::build_guests(&root.join("plugins"), &inputs.each_ref().map(|path| &**path), out.path());
    for plugin in bundled.unwrap() {
        let inspected = host(&["plugin", "inspect", plugin.to_str().unwrap()]).output().unwrap();
        assert!(inspected.status.success(), "{}: {}", plugin.display(), err(&inspected));
        // The compiler left the schema in.
        let name = plugin.file_stem().unwrap().to_string_lossy();
        let has_options = root.join("plugins").join(&*name).join("src/options.json").exists();
        let text = String::from_utf8_lossy(&inspected.stdout).into_owned();
        assert_eq!(text.contains("\n  option ") && text.contains(".config]\n"), has_options, "{text}");
    }
}
