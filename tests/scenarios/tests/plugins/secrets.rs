//! The data of Secrets, and what a plugin that is granted it can do with it: nothing that anybody sees.

use pivot_lab::say;
use pivot_scenarios::host::Host;
use pivot_scenarios::secrets::{ENCODED, MARKER};

use crate::stage::{Stage, cluster, decent, says};

/// Secrets may contain it; nothing else on either side, and no log.
async fn nowhere_else(stage: &Stage) {
    for server in [&stage.pair.source, &stage.pair.target] {
        for (key, object) in server.dump(&[]).await.unwrap().iter().filter(|(key, _)| key.kind != "Secret") {
            let text = object.to_string();
            assert!(!text.contains(ENCODED) && !text.contains(MARKER), "{key} on the {}", server.name());
        }
    }
}

// proves: I8, T6, T128
#[tokio::test(flavor = "multi_thread")]
async fn secret_data_leaks_nowhere() {
    let stage = Stage::start().await;
    let plugins = stage.plugins("secretive", &["secretive"], "").await;
    let grants = std::fs::read_to_string(plugins.dir.join("plugins.toml")).unwrap();
    assert!(grants.contains("secret-data = true"), "{grants}");
    for (way, exit, words) in [
        ("leave", 0, &[][..]),
        ("name", 3, &["plugin secretive failed in relate for Secret", "withheld"]),
        ("error", 3, &["plugin secretive failed in relate for Secret", "invalid-code", "withheld"]),
        ("panic", 3, &["plugin secretive failed in relate for Secret", "withheld"]),
    ] {
        let mut objects = cluster(way, "", "");
        objects[1]["metadata"]["annotations"]["way"] = way.into();
        stage.fill(objects).await;
        let host: Host = stage.between(&plugins);
        let seen = host.run(&["plan", "-n", way, "-vvv"]).await.unwrap();
        decent(&seen).unwrap_or_else(|why| panic!("plan {way}: {why}\n{}", seen.stderr));
        let ended = host.run(&["move", "-n", way, "-vvv"]).await.unwrap();
        say(format_args!("secretive: {way:17} exit {:?}", ended.code));
        decent(&ended).and_then(|()| says(&ended, words)).unwrap_or_else(|why| {
            panic!("{way}: {why}\n{}", ended.stderr);
        });
        ended.ends_with(exit).unwrap();
        nowhere_else(&stage).await;
    }
}

/// A component's standard library tries to use the machine.
// proves: T3
#[tokio::test(flavor = "multi_thread")]
async fn a_program_without_a_machine() {
    let stage = Stage::start().await;
    let elsewhere = tempfile::TempDir::new().unwrap();
    let written = elsewhere.path().join("was-here");
    let grants = format!(
        "[plugins.reaching]\nhooks = ['relate']\nkinds = ['Secret']\nconfig = {{ file = '{}' }}\n",
        written.display()
    );
    let plugins = stage.plugins("reaching", &["reaching"], &grants).await;
    // Kept objects must have no owner: it would take them along.
    let mut objects = cluster("reach", "", "");
    objects[1]["metadata"]["ownerReferences"] = serde_json::json!([]);
    stage.fill(objects).await;
    let host = stage.between(&plugins).with_variable("HUNTER", MARKER);
    let plan = host.run(&["plan", "-n", "reach"]).await.unwrap();
    decent(&plan).unwrap();
    let told = plan.done().unwrap().to_string();
    assert!(told.contains("env []"), "{told}");
    let moved = host.run(&["move", "-n", "reach"]).await.unwrap();
    decent(&moved).unwrap();
    moved.done().unwrap();
    assert!(!written.exists());

    let mut objects = cluster("exits", "", "");
    // A label: a plugin sees only the names of a Secret's annotations.
    objects[1]["metadata"]["labels"]["way"] = "exit".into();
    stage.fill(objects).await;
    let ended = host.run(&["move", "-n", "exits"]).await.unwrap().ends_with(3).unwrap();
    says(&ended, &["plugin reaching failed in relate for Secret exits/c-ca", "it exited with status"])
        .unwrap();
}
