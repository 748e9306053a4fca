//! Refusals before anything is opened, one of each kind: files, directories, the operator's files. The runtime's own tests have all
//! files that are refused.

use std::os::unix::fs::symlink;

use pivot_lab::say;
use pivot_scenarios::host::Host;

use crate::stage::{HOSTILE, Plugins, Stage, as_before, cluster, decent, host, says};

const NAMESPACE: &str = "load";

/// Exit 6 with these words, and not a byte changed on either side.
async fn refused(stage: &Stage, what: &str, host: &Host, words: &[&str]) {
    let before = stage.picture(NAMESPACE).await;
    let ended = host.run(&["move", "-n", NAMESPACE]).await.unwrap();
    say(format_args!("{what:28} exit {:?}: {}", ended.code, ended.stderr.lines().next().unwrap_or_default()));
    let ended = ended.ends_with(6).unwrap();
    let judged = decent(&ended).and_then(|()| says(&ended, words));
    judged.and_then(|()| says(&ended, &["state: nothing is changed"])).unwrap_or_else(|why| {
        panic!("{what}: {why}:\n{}", ended.stderr);
    });
    assert_eq!(ended.document().unwrap()["exitCode"], 6, "{what}");
    as_before(&before, &stage.picture(NAMESPACE).await, true).unwrap();
    stage.no_traces(NAMESPACE).await.unwrap();
}

/// In a directory of its own, whose lock has the file.
async fn file(stage: &Stage, what: &str, bytes: &[u8], words: &[&str]) {
    let plugins = stage.empty(what, HOSTILE);
    plugins.put("it.wasm", bytes);
    plugins.lock("it.wasm", what);
    refused(stage, what, &stage.between(&plugins), words).await;
}

// proves: T17
#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_no_plugins_are_refused_before_anything_moves() {
    let stage = Stage::start().await;
    let mut objects = cluster(NAMESPACE, "", "");
    objects.push(host(NAMESPACE, "h", ""));
    stage.fill(objects).await;
    files(&stage).await;
    directories(&stage).await;
    admissions(&stage).await;
}

async fn files(stage: &Stage) {
    file(stage, "malformed", b"\0asm\x0d\0\x01\0\xff", &["it.wasm", "is not a valid component"]).await;
    file(
        stage,
        "networked",
        &stage.guest("networked"),
        &["imports interfaces that no plugin gets: wasi:sockets/tcp"],
    )
    .await;
    file(
        stage,
        "mute",
        &stage.guest("mute"),
        &["it.wasm", "failed to describe itself", "panicked or aborted"],
    )
    .await;
    file(
        stage,
        "secretive",
        &stage.guest("secretive"),
        &["plugins.toml has no [plugins.secretive]", "plugin add"],
    )
    .await;
}

async fn directories(stage: &Stage) {
    let nowhere = Plugins { dir: "/nonexistent/plugins".into() };
    refused(stage, "no-directory", &stage.between(&nowhere), &["/nonexistent/plugins", "can't be read"])
        .await;

    let plugins = stage.empty("link-up", HOSTILE);
    stage.empty("elsewhere", HOSTILE).put("hostile.wasm", &stage.guest("hostile"));
    symlink("../elsewhere/hostile.wasm", plugins.dir.join("it.wasm")).unwrap();
    let words = ["it.wasm", "leads nowhere, or outside"];
    refused(stage, "link-up", &stage.between(&plugins), &words).await;

    let plugins = stage.empty("name", HOSTILE);
    plugins.put("it\n\u{1b}[2Jerror: all is well.wasm", b"");
    refused(
        stage,
        "name",
        &stage.between(&plugins),
        &["it\\n\\u{1b}[2Jerror: all is well.wasm", "not plain text"],
    )
    .await;
}

async fn admissions(stage: &Stage) {
    let plugins = stage.empty("not-admitted", HOSTILE);
    plugins.put("hostile.wasm", &stage.guest("hostile"));
    let words = ["hostile.wasm", "is not in plugins.lock", "pivot-host plugin add"];
    refused(stage, "not-admitted", &stage.between(&plugins), &words).await;

    let plugins = stage.hostile("changed", "never/").await;
    // A custom section, which changes only the digest.
    let changed = [&stage.guest("hostile")[..], b"\0\x02\x01x"].concat();
    plugins.put("hostile.wasm", &changed);
    let words = ["hostile.wasm", "has changed since it was admitted", "pivot-host plugin add"];
    refused(stage, "changed", &stage.between(&plugins), &words).await;

    for (what, from, to, words) in [
        ("too-little", "'settle']", "]", &["plugin hostile", "is not granted", "the hook settle"][..]),
        ("misspelt", "probes =", "probe =", &["plugins.toml: can't be understood", "expected one of"]),
    ] {
        let plugins = stage.hostile(what, "never/").await;
        let text = std::fs::read_to_string(plugins.dir.join("plugins.toml")).unwrap();
        assert!(text.contains(from), "{what}");
        plugins.put("plugins.toml", text.replacen(from, to, 1).as_bytes());
        refused(stage, what, &stage.between(&plugins), words).await;
    }
}
