//! What is refused before anything is opened: files, directories, the operator's files.

use std::os::unix::fs::symlink;
use std::process::Command;

use pivot_lab::say;
use pivot_scenarios::host::Host;

use crate::stage::{HOSTILE, Plugins, Stage, as_before, cluster, decent, host, says};

const NAMESPACE: &str = "load";
const STEADY: &str = "
[plugins.steady]
hooks = ['relate', 'check', 'hold', 'adapt', 'restore', 'settle']
kinds = ['Host.test.io', 'Secret']
changes = [
    { hook = 'hold', kind = 'Host.test.io', side = 'source' },
    { hook = 'adapt', kind = 'Host.test.io', side = 'target' },
    { hook = 'restore', kind = 'Host.test.io', side = 'target' },
    { hook = 'settle', kind = 'Host.test.io', side = 'target' },
]
reads = [
    { side = 'target', kind = 'Host.test.io' },
    { side = 'source', kind = 'Secret', namespace = 'ironic' },
]
probes = ['10.0.0.0/8:6385']
";

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

/// In a directory of its own, where the lock makes no difference.
async fn file(stage: &Stage, what: &str, bytes: &[u8], words: &[&str]) {
    let plugins = stage.empty(what, HOSTILE);
    plugins.put("it.wasm", bytes);
    refused(stage, what, &stage.between(&plugins).with(&["--unlocked"]), words).await;
}

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
    let whole = stage.guest("hostile");
    file(stage, "empty", b"", &["it.wasm", "is empty"]).await;
    file(stage, "text", b"(component)", &["it.wasm", "is text, not a WebAssembly component"]).await;
    file(stage, "malformed", b"\0asm\x0d\0\x01\0\xff", &["it.wasm", "is not a valid component"]).await;
    file(stage, "truncated", &whole[..whole.len() / 2], &["it.wasm", "is not a valid component"]).await;
    file(stage, "core-module", b"\0asm\x01\0\0\0", &["it.wasm", "a core module", "wasm-tools component new"])
        .await;
    file(stage, "precompiled", b"\x7fELF\x02\x01\x01\0native", &["it.wasm", "compiled native code"]).await;
    file(stage, "networked", &stage.guest("networked"), &["imports what no plugin gets: wasi:sockets/tcp"])
        .await;
    file(
        stage,
        "greedy",
        &stage.guest("greedy"),
        &["plugin greedy", "imports `objects` and declares no reads"],
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
        &["plugins.toml has no [plugins.secretive]", "plugin lock"],
    )
    .await;

    let plugins = stage.empty("huge", HOSTILE);
    std::fs::File::create(plugins.dir.join("it.wasm")).unwrap().set_len((64 << 20) + 1).unwrap();
    refused(
        stage,
        "huge",
        &stage.between(&plugins).with(&["--unlocked"]),
        &["it.wasm", "a plugin has at most"],
    )
    .await;
}

async fn directories(stage: &Stage) {
    let nowhere = Plugins { dir: "/nonexistent/plugins".into() };
    refused(stage, "no-directory", &stage.between(&nowhere), &["/nonexistent/plugins", "can't be read"])
        .await;

    let elsewhere = stage.empty("elsewhere", HOSTILE);
    elsewhere.put("hostile.wasm", &stage.guest("hostile"));
    let link = async |what: &str, file: &str, to: &std::path::Path, words: &[&str]| {
        let plugins = stage.empty(what, HOSTILE);
        let _ = std::fs::remove_file(plugins.dir.join(file));
        symlink(to, plugins.dir.join(file)).unwrap();
        refused(stage, what, &stage.between(&plugins).with(&["--unlocked"]), words).await;
    };
    let outside = "leads nowhere, or outside";
    link("link-out", "it.wasm", &elsewhere.dir.join("hostile.wasm"), &["it.wasm", outside]).await;
    link("link-up", "it.wasm", "../elsewhere/hostile.wasm".as_ref(), &["it.wasm", outside]).await;
    link("link-nowhere", "it.wasm", "nothing".as_ref(), &["it.wasm", outside]).await;
    link("link-grants", "plugins.toml", &elsewhere.dir.join("plugins.toml"), &["plugins.toml", outside])
        .await;
    link("link-lock", "plugins.lock", &elsewhere.dir.join("plugins.toml"), &["plugins.lock", outside]).await;

    let plugins = stage.empty("pipe", HOSTILE);
    let made = Command::new("mkfifo").arg(plugins.dir.join("it.wasm")).status().unwrap();
    assert!(made.success());
    refused(stage, "pipe", &stage.between(&plugins).with(&["--unlocked"]), &["it.wasm", "neither a file"])
        .await;

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
    let words = ["hostile.wasm", "is not in plugins.lock", "pivot-host plugin lock"];
    refused(stage, "not-admitted", &stage.between(&plugins), &words).await;

    let plugins = stage.hostile("changed", "never/").await;
    // A custom section, which changes only the digest.
    let changed = [&stage.guest("hostile")[..], b"\0\x02\x01x"].concat();
    plugins.put("hostile.wasm", &changed);
    let words = ["hostile.wasm", "has changed since it was admitted", "pivot-host plugin lock"];
    refused(stage, "changed", &stage.between(&plugins), &words).await;

    let plugins = stage.hostile("gone", "never/").await;
    std::fs::remove_file(plugins.dir.join("hostile.wasm")).unwrap();
    refused(stage, "gone", &stage.between(&plugins), &["plugin hostile", "no file is this plugin"]).await;

    let plugins = stage.hostile("as-another", "never/").await;
    let lock = std::fs::read_to_string(plugins.dir.join("plugins.lock")).unwrap();
    plugins.put("plugins.lock", lock.replace("\"hostile\"", "\"trusted\"").as_bytes());
    let words = ["plugin hostile", "plugins.lock has it as trusted 0.1.0", "pivot-host plugin lock"];
    refused(stage, "as-another", &stage.between(&plugins), &words).await;

    // The second file with a name replaces the first in the lock; without a lock both are seen.
    let plugins = stage.plugins("liar", &["steady", "liar"], STEADY).await;
    refused(stage, "liar", &stage.between(&plugins), &["steady.wasm", "has changed since it was admitted"])
        .await;
    refused(
        stage,
        "liar-unlocked",
        &stage.between(&plugins).with(&["--unlocked"]),
        &["has the name of liar.wasm too", "a name belongs to one plugin"],
    )
    .await;

    for (what, from, to, words) in [
        ("too-little", "'settle']", "]", &["plugin hostile", "is not granted", "the hook settle"][..]),
        (
            "other-kind",
            "'adapt', kind = 'Host",
            "'adapt', kind = 'Most",
            &["to change Host.test.io of the target"],
        ),
        ("misspelt", "probes =", "probe =", &["plugins.toml: can't be understood", "expected one of"]),
        (
            "disorder",
            "\n[plugins",
            "order = ['nobody']\n[plugins",
            &["order names `nobody`; there is hostile"],
        ),
    ] {
        let plugins = stage.hostile(what, "never/").await;
        let text = std::fs::read_to_string(plugins.dir.join("plugins.toml")).unwrap();
        assert!(text.contains(from), "{what}");
        plugins.put("plugins.toml", text.replacen(from, to, 1).as_bytes());
        refused(stage, what, &stage.between(&plugins), words).await;
    }

    let plugins = stage.plugins("no-secrets", &["secretive"], "").await;
    let text = std::fs::read_to_string(plugins.dir.join("plugins.toml")).unwrap();
    plugins.put("plugins.toml", text.replace("secret-data = true", "").as_bytes());
    refused(stage, "no-secrets", &stage.between(&plugins), &["plugin secretive", "the data of Secrets"])
        .await;
}
