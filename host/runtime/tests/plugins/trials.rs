//! Which components are compiled on trial, and which no longer are. The limits of a trial are tested with the program that sets
//! them (`host/cli/tests/components`); here any process that succeeds or fails will do.

#![cfg(unix)]

use std::time::Duration;

use pivot_core::GroupKind;
use pivot_core::records::record::Pin;
use pivot_runtime::{LoadError, LoadOptions, Loaded, Runtime, ServedKinds, TrialProgram};

use crate::log::log;
use crate::support::{Place, granted, grants, guest};

/// A runtime whose trials all end like this.
fn trying(command: &str) -> Runtime {
    let arguments = ["-c", command].map(Into::into).to_vec();
    Runtime::with_trials(TrialProgram { path: "/bin/sh".into(), arguments })
}

fn refused(error: &LoadError) -> (&'static str, String) {
    (error.code(), error.to_string())
}

async fn load(place: &Place, runtime: &Runtime, unlocked: bool) -> Vec<(&'static str, String)> {
    let loaded = runtime.load(place.dir.path(), LoadOptions { unlocked, ..LoadOptions::default() }).await;
    loaded.err().unwrap_or_default().iter().map(refused).collect()
}

/// Options for a move between sides that serve one kind.
fn serving(kind: &str) -> LoadOptions {
    let served = ServedKinds::default();
    served.set([GroupKind::new("test.io", kind)].into());
    LoadOptions { served: Some(served), ..LoadOptions::default() }
}

/// The move still has the plugin, so that the next run is a run with the same plugins.
#[tokio::test]
async fn plugin_without_served_kinds_is_idle() {
    let (passing, failing) = (trying("exit 0"), trying("exit 12"));
    let place = Place::new();
    place.operator(&grants("steady"));
    place.put("steady.wasm", &guest("steady"));
    passing.admit(&place.path("steady.wasm"), &granted()).await.unwrap();
    let lock = std::fs::read_to_string(place.path("plugins.lock")).unwrap();
    let line = lock.lines().find(|line| line.starts_with("passed")).unwrap();
    place.put("plugins.lock", lock.replace(line, "").as_bytes());
    let load = async |options| {
        let loaded = failing.load(place.dir.path(), options).await;
        loaded.map_err(|errors| errors.iter().map(LoadError::code).collect::<Vec<_>>())
    };

    // Whatever is compiled fails its trial.
    assert_eq!(load(serving("Host")).await.unwrap_err(), ["trial"]);
    assert_eq!(load(LoadOptions::default()).await.unwrap_err(), ["trial"]);
    let Loaded { plugins, idle, disabled, .. } = load(serving("Other")).await.unwrap();
    assert!(plugins.is_empty() && disabled.is_empty());
    let called = passing.load(place.dir.path(), serving("Host")).await.unwrap().plugins;
    assert_eq!(Pin::from(&idle[0]), Pin::from(called[0].description()));
    assert_eq!((idle[0].hooks.len(), idle.len(), called.len()), (0, 1, 1));

    let strict = LoadOptions { strict: true, ..serving("Other") };
    assert_eq!(load(strict).await.unwrap_err(), ["trial"]);
    // Without kinds, it may decide by something else.
    place.operator(&grants("steady").replace("kinds", "kinds = [] #"));
    assert_eq!(load(serving("Other")).await.unwrap_err(), ["trial"]);
}

#[tokio::test]
async fn only_passed_components_skip_the_trial() {
    let (passing, failing) = (trying("exit 0"), trying("exit 12"));
    let place = Place::new();
    place.operator(&grants("steady"));
    let path = place.path("steady.wasm");
    place.put("steady.wasm", &guest("steady"));

    let error = failing.admit(&path, &granted()).await.unwrap_err();
    assert_eq!(error.code(), "trial");
    assert!(!place.path("plugins.lock").exists());
    assert_eq!(failing.inspect(&path).await.unwrap_err().code(), "trial");
    assert_eq!(failing.try_out(&path, None).await.unwrap_err().code(), "trial");

    passing.admit(&path, &granted()).await.unwrap();
    assert_eq!(load(&place, &failing, false).await, []);
    // Not locked, not vetted.
    let codes: Vec<_> = load(&place, &failing, true).await.into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["trial"]);

    // A trial under another program or other limits must be repeated; the plugin is called by its name in the lock.
    let lock = std::fs::read_to_string(place.path("plugins.lock")).unwrap();
    let line = lock.lines().find(|line| line.starts_with("passed")).unwrap();
    for other in [&lock.replace(line, ""), &lock.replace(line, "passed = \"pivot-host 0.0.1\"")] {
        place.put("plugins.lock", other.as_bytes());
        let errors = load(&place, &failing, false).await;
        let said = "was compiled on trial and needed more than 5";
        assert!(errors[0].1.starts_with("plugin steady (steady.wasm, sha256 "), "{errors:?}");
        assert!(errors[0].1.contains(said) && errors[0].0 == "trial", "{errors:?}");
        assert_eq!(load(&place, &passing, false).await, []);
    }
}

/// If a process can't be limited, its success says nothing about the component.
#[tokio::test]
async fn no_component_passes_a_trial_without_limits() {
    let (unlimited, failing) = (trying("exit 11"), trying("exit 12"));
    let place = Place::new();
    place.put("steady.wasm", &guest("steady"));
    unlimited.admit(&place.path("steady.wasm"), &granted()).await.unwrap();
    let lock = std::fs::read_to_string(place.path("plugins.lock")).unwrap();
    assert!(!lock.contains("passed"), "{lock}");
    assert_eq!(load(&place, &unlimited, false).await, []);
    assert_eq!(load(&place, &failing, false).await[0].0, "trial");
}

/// Anyone with write access to the lock can claim that anything passed.
#[tokio::test]
async fn passed_components_are_still_counted() {
    let place = Place::new();
    let passing = trying("exit 0");
    place.put("steady.wasm", &guest("steady"));
    passing.admit(&place.path("steady.wasm"), &granted()).await.unwrap();
    let many = [&b"\0asm\x0d\0\x01\0"[..], &b"\x01\x08\0asm\x01\0\0\0".repeat(501)].concat();
    place.put("steady.wasm", &many);
    let errors = passing.load(place.dir.path(), LoadOptions::default()).await.unwrap_err();
    assert_eq!(errors[0].code(), "changed");
    let digest = errors[0].who.digest.clone().unwrap();
    let lock = std::fs::read_to_string(place.path("plugins.lock")).unwrap();
    let line = |line: &str| match line.split_once(" = ") {
        Some(("sha256", _)) => format!("sha256 = \"{digest}\"\n"),
        Some(("size", _)) => format!("size = {}\n", many.len()),
        _ => format!("{line}\n"),
    };
    place.put("plugins.lock", lock.lines().map(line).collect::<String>().as_bytes());
    let refused = load(&place, &passing, false).await;
    assert_eq!(refused[0].0, "too-many");
    assert!(refused[0].1.contains("modules and components"), "{refused:?}");
}

/// It may be disabled because it can't be compiled any more, or not fast enough.
// proves: T18
#[tokio::test]
async fn disabled_plugins_are_not_compiled() {
    let place = Place::with(&["older", "steady"], &grants("steady")).await;
    let enabled = std::fs::read_to_string(place.path("plugins.toml")).unwrap();
    let failing = trying("exit 12");
    assert_eq!(load(&place, &failing, false).await.len(), 2);
    place.operator(&enabled.replace("[plugins.older]", "[plugins.older]\nenabled = false"));
    let errors = load(&place, &failing, false).await;
    assert!(errors.len() == 1 && errors[0].1.starts_with("plugin steady ("), "{errors:?}");
    let both = std::fs::read_to_string(place.path("plugins.toml")).unwrap();
    place.operator(&format!(
        "order = ['steady', 'older']\n{}",
        both.replace("[plugins.steady]", "[plugins.steady]\nenabled = false")
    ));
    let loaded = failing.load(place.dir.path(), LoadOptions::default()).await.unwrap();
    let disabled: Vec<_> = loaded.disabled.iter().map(ToString::to_string).collect();
    assert_eq!((loaded.plugins.len(), disabled), (0, vec!["steady 0.1.0".to_owned(), "older 0.1.0".into()]));
    // It is still that very file, and the only one.
    place.put("twin.wasm", &guest("older"));
    assert_eq!(load(&place, &failing, false).await[0].0, "name-taken");
    place.put("twin.wasm", b"");
    assert_eq!(load(&place, &failing, false).await[0].0, "not-locked");
    std::fs::remove_file(place.path("twin.wasm")).unwrap();
    std::fs::remove_file(place.path("older.wasm")).unwrap();
    assert_eq!(load(&place, &failing, false).await[0].0, "missing");
}

/// The lock records that a trial was passed only if there was one.
#[tokio::test]
async fn without_trials_nothing_passes() {
    let place = Place::with(&["steady"], &grants("steady")).await;
    let lock = std::fs::read_to_string(place.path("plugins.lock")).unwrap();
    assert!(!lock.contains("passed"), "{lock}");
    assert_eq!(load(&place, &trying("exit 12"), false).await[0].0, "trial");
}

#[tokio::test]
async fn slow_compilation_is_reported() {
    let place = Place::new();
    for file in ["slow.wasm", "quiet.wasm"] {
        place.put(file, &guest("older"));
    }
    let runtime = place.runtime.clone().with_slow_compile(Duration::ZERO);
    runtime.inspect(&place.path("slow.wasm")).await.unwrap();
    place.runtime.inspect(&place.path("quiet.wasm")).await.unwrap();
    let said = log().text();
    assert!(said.contains("compiling slow.wasm, ") && !said.contains("compiling quiet.wasm"), "{said}");
}
