//! The lock, the grants and the gates.

use pivot_core::plugins::hooks::{Point, Relation};
use pivot_runtime::LoadOptions;
use serde_json::json;

use crate::support::{Place, asked, granted, granting, grants, guest, host, moving, object};

// proves: T17
#[tokio::test]
async fn unlocked_plugin_refusal_names_the_command() {
    let place = Place::new();
    place.operator(&grants("steady"));
    place.put("steady.wasm", &guest("steady"));
    let refused = place.refused().await;
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].0, "not-locked");
    let command = format!("`pivot-host plugin add {}`", place.path("steady.wasm").display());
    assert!(refused[0].1.ends_with(&command), "{}", refused[0].1);
    let unlocked =
        place.runtime.load(place.dir.path(), LoadOptions { unlocked: true, ..LoadOptions::default() }).await;
    assert_eq!(unlocked.unwrap().plugins.len(), 1);
}

// proves: T14
#[tokio::test]
async fn changed_byte_is_noticed_when_loading() {
    let place = Place::with(&["steady"], &grants("steady")).await;
    place.plugin().await;
    let mut bytes = guest("steady");
    // A custom section that nothing reads: the same program, but not the admitted file.
    bytes.extend_from_slice(b"\x00\x03\x01xx");
    place.put("steady.wasm", &bytes);
    let refused = place.refused().await;
    assert_eq!(refused[0].0, "changed");
    assert!(refused[0].1.contains("has changed since it was admitted (as sha256 "), "{}", refused[0].1);
}

// proves: T14
#[tokio::test]
async fn the_size_in_the_lock_counts_too() {
    let place = Place::with(&["older"], "").await;
    let lock = std::fs::read_to_string(place.path("plugins.lock")).unwrap();
    let line = lock.lines().find(|line| line.starts_with("size")).unwrap();
    place.put("plugins.lock", lock.replace(line, "size = 1").as_bytes());
    assert_eq!(place.refused().await[0].0, "changed");
}

#[tokio::test]
async fn a_hand_edited_lock_is_detected() {
    let place = Place::with(&["older"], "").await;
    let lock = std::fs::read_to_string(place.path("plugins.lock")).unwrap();
    place.put("plugins.lock", lock.replace("\"older\"", "\"younger\"").as_bytes());
    let refused = place.refused().await;
    assert_eq!(refused[0].0, "locked-as");
    assert!(
        refused[0].1.contains("has it as younger 0.1.0, but it calls itself older 0.1.0"),
        "{}",
        refused[0].1
    );
}

// proves: T18
#[tokio::test]
async fn admission_grants_nothing_and_keeps_grants() {
    let place = Place::new();
    place.operator("# mine\n[limits]\ntime = '1s'\n");
    place.put("older.wasm", &guest("older"));
    let admitted = place.runtime.admit(&place.path("older.wasm"), &granting(false)).await.unwrap();
    assert_eq!((admitted.enabled, admitted.missing), (false, vec![]));
    let text = std::fs::read_to_string(place.path("plugins.toml")).unwrap();
    let head = "# mine\n[limits]\ntime = '1s'\n\n# The vendor says: \"From before.\"\n";
    assert!(text.starts_with(head), "{text}");
    let section = "[plugins.older]\nenabled = false # no move calls it until this is true\nhooks = [\"relate\"]\nkinds = [\n    \"Secret\",\n]\n";
    assert!(text.contains(section), "{text}");
    // It is there, in order, and not called.
    let loaded = place.runtime.load(place.dir.path(), LoadOptions::default()).await.unwrap();
    let disabled: Vec<_> =
        loaded.disabled.iter().map(|one| (one.name.as_str(), one.version.as_str())).collect();
    assert_eq!((loaded.plugins.len(), disabled), (0, vec![("older", "0.1.0")]));

    // Existing sections are the operator's.
    for grant in [false, true] {
        let again = place.runtime.admit(&place.path("older.wasm"), &granting(grant)).await.unwrap();
        assert_eq!((again.added, again.enabled, again.missing), (None, false, vec![]));
        assert_eq!(std::fs::read_to_string(place.path("plugins.toml")).unwrap(), text);
    }
    place.operator("[plugins.older]\n");
    let lacking = place.runtime.admit(&place.path("older.wasm"), &granting(false)).await.unwrap();
    assert_eq!((lacking.added, lacking.enabled), (None, true));
    assert_eq!(lacking.missing, ["the hook relate", "to see Secret (kinds)"]);
}

/// A file can call itself anything. The name of a reviewed plugin would have given it that plugin's grants.
// proves: T15
#[tokio::test]
async fn admission_does_not_transfer_grants() {
    let place = Place::with(&["older"], "").await;
    let mut other = guest("older");
    other.extend_from_slice(b"\x00\x03\x01xx");
    place.put("other.wasm", &other);
    let file = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    let (lock, grants) = (file("plugins.lock"), file("plugins.toml"));
    let path = place.path("other.wasm");
    let admit = async |grant| place.runtime.admit(&path, &granting(grant)).await;

    let error = admit(false).await.unwrap_err();
    assert_eq!(error.code(), "name-granted");
    let locked = lock.lines().find_map(|line| line.strip_prefix("sha256 = \"")?.strip_suffix('"')).unwrap();
    let said = error.to_string();
    assert!(said.starts_with("plugin older 0.1.0 (other.wasm, sha256 "), "{said}");
    assert!(said.contains(&format!("for the file that was locked as sha256 {}…;", &locked[..12])), "{said}");
    assert!(said.ends_with(&format!("`pivot-host plugin add --grant {}`", path.display())), "{said}");
    assert_eq!((file("plugins.lock"), file("plugins.toml")), (lock.clone(), grants.clone()));

    // An enabled section without a locked file is protected in the same way.
    std::fs::remove_file(place.path("plugins.lock")).unwrap();
    let said = admit(false).await.unwrap_err().to_string();
    assert!(
        said.contains("for a plugin that isn't locked yet;") && !place.path("plugins.lock").exists(),
        "{said}"
    );

    // The same file again is no change; an intended replacement must be named as such; a disabled plugin has no grants to pass
    // on.
    assert_eq!(admit(true).await.unwrap().replaced, None);
    assert!(admit(false).await.unwrap().enabled);
    place.operator(&grants.replace("[plugins.older]", "[plugins.older]\nenabled = false"));
    let back = place.runtime.admit(&place.path("older.wasm"), &granting(false)).await.unwrap();
    assert!(!back.enabled && back.replaced.is_some_and(|there| there.sha256 != locked));
    place.operator(&grants);
    assert_eq!(admit(true).await.unwrap().replaced.map(|there| there.sha256).as_deref(), Some(locked));
}

/// A lock that was edited by hand may have the digest under a name that sorts first.
#[tokio::test]
async fn a_file_is_locked_under_one_name() {
    let place = Place::with(&["older"], "").await;
    let lock = std::fs::read_to_string(place.path("plugins.lock")).unwrap();
    place.put("plugins.lock", lock.replace("\"older\"", "\"elder\"").as_bytes());
    assert_eq!(place.refused().await[0].0, "locked-as");
    place.runtime.admit(&place.path("older.wasm"), &granted()).await.unwrap();
    assert_eq!(std::fs::read_to_string(place.path("plugins.lock")).unwrap(), lock);
    place.plugin().await;
}

#[tokio::test]
async fn admission_with_grant_enables_calls() {
    let place = Place::with(&["older"], "").await;
    assert_eq!(place.plugin().await.description().name, "older");
    assert!(!std::fs::read_to_string(place.path("plugins.toml")).unwrap().contains("enabled"));
}

/// What could be done counts, not what is said; and the grants, if it is called with them.
// proves: T16
#[tokio::test]
async fn inspection_lists_the_risks() {
    let place = Place::new();
    place.put("wide.wasm", &guest("wide"));
    let inspect = async || place.runtime.inspect(&place.path("wide.wasm")).await.unwrap();
    let all = inspect().await;
    assert!(
        !all.as_granted && all.worst.iter().any(|line| line.contains("in every namespace of")),
        "{:#?}",
        all.worst
    );
    assert!(all.worst[0].starts_with("probe "), "{:#?}", all.worst);
    assert!(all.worst[0].contains("(any host), and send there what it reads"), "{:#?}", all.worst);
    let narrow = "[plugins.wide]
        hooks = ['relate', 'check']
        kinds = ['*', '*.test.io']
        reads = [
            { side = 'source', kind = 'Host.test.io' },
            { side = 'target', kind = 'Host.test.io', namespace = 'metal3' },
        ]
        probes = ['10.0.0.0/8:6385', 'metal3/ironic:6385']";
    place.operator(narrow);
    let granted = inspect().await;
    assert!(granted.as_granted);
    let told = granted.worst.join("\n");
    assert!(told.contains("probe 10.0.0.0/8:6385 and metal3/ironic:6385, and send"), "{told}");
    assert!(
        told.contains("in namespace metal3 of the target") && !told.contains("every namespace"),
        "{told}"
    );
    // None of that counts while it is disabled, or asks for more.
    for other in [format!("{narrow}\nenabled = false"), narrow.replace(", 'check'", "")] {
        place.operator(&other);
        let asked = inspect().await;
        assert_eq!((asked.as_granted, asked.worst), (false, all.worst.clone()));
    }
}

// proves: T18
#[tokio::test]
async fn without_a_section_it_is_refused() {
    let place = Place::with(&["older"], "").await;
    place.operator("");
    let refused = place.refused().await;
    assert_eq!(refused[0].0, "no-grants");
    assert!(
        refused[0].1.contains("plugins.toml has no [plugins.older]; `pivot-host plugin add "),
        "{}",
        refused[0].1
    );
}

// proves: T4
#[tokio::test]
async fn ungranted_hook_refuses_the_plugin() {
    let text = grants("steady").replace("'settle']", "]").replace("'relate', ", "");
    let place = Place::with(&["steady"], &text).await;
    let refused = place.refused().await;
    assert_eq!(refused[0].0, "not-granted");
    let said = &refused[0].1;
    assert!(said.starts_with("plugin steady 0.1.0 (steady.wasm, sha256 "), "{said}");
    assert!(
        said.contains("is not granted all it asks for: the hook relate; the hook settle; grant it"),
        "{said}"
    );
}

// proves: T4
#[tokio::test]
async fn undeclared_imports_are_answered_with_denied() {
    let all = "[plugins.greedy]
        hooks = ['check']
        kinds = ['Secret']
        reads = [{ side = 'source', kind = 'Secret' }]
        probes = ['*:*']";
    let place = Place::with(&["greedy"], all).await;
    let inspection = place.runtime.inspect(&place.path("greedy.wasm")).await.unwrap();
    assert_eq!(inspection.denied_imports, ["objects", "endpoints"]);
    let services = asked();
    let plugin = place.plugin().await;
    let findings = plugin.check(Point::BeforePause, &moving(), services.clone()).await.unwrap();
    let codes: Vec<_> = findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["denied", "denied"], "a grant doesn't replace a declaration");
    assert!(services.queries.lock().unwrap().is_empty() && services.probes.lock().unwrap().is_empty());
}

// proves: T9
#[tokio::test]
async fn a_name_belongs_to_one_plugin() {
    let place = Place::with(&["steady"], &grants("steady")).await;
    let mut twin = guest("steady");
    twin.extend_from_slice(b"\x00\x03\x01xx");
    place.put("twin.wasm", &twin);
    // Locked, the second was never admitted; unlocked, the name decides.
    assert_eq!(place.refused().await[0].0, "not-locked");
    let errors = place
        .runtime
        .load(place.dir.path(), LoadOptions { unlocked: true, ..LoadOptions::default() })
        .await
        .unwrap_err();
    assert_eq!(errors[0].code(), "name-taken");
    assert!(errors[0].to_string().contains("has the name of steady.wasm too"), "{}", errors[0]);
}

// proves: T20
#[tokio::test]
async fn a_missing_plugin_file_is_reported() {
    let place = Place::with(&["older", "steady"], &grants("steady")).await;
    std::fs::remove_file(place.path("older.wasm")).unwrap();
    let refused = place.refused().await;
    let codes: Vec<_> = refused.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, ["missing", "missing"]);
    assert!(refused[0].1.starts_with("plugin older: is named in plugins.toml, but"), "{}", refused[0].1);
}

#[tokio::test]
async fn all_plugins_problems_are_reported_together() {
    let place = Place::with(&["steady"], &grants("steady").replace("'relate', ", "")).await;
    place.put("broken.wasm", b"\0asm\x0d\0\x01\0\xff");
    let mut codes: Vec<_> = place.refused().await.into_iter().map(|(code, _)| code).collect();
    codes.sort_unstable();
    assert_eq!(codes, ["not-granted", "not-locked"]);
}

#[tokio::test]
async fn they_are_called_in_the_operators_order() {
    let order = |order: &str| format!("order = [{order}]\n{}{}", grants("steady"), grants("hostile"));
    let place = Place::with(&["hostile", "older", "steady"], &order("")).await;
    let names = async || -> Vec<String> {
        place.load().await.unwrap().iter().map(|plugin| plugin.description().name.clone()).collect()
    };
    assert_eq!(names().await, ["hostile", "older", "steady"]);
    let text = std::fs::read_to_string(place.path("plugins.toml")).unwrap();
    place.operator(&text.replacen("order = []", "order = ['steady', 'older']", 1));
    assert_eq!(names().await, ["steady", "older", "hostile"]);
    place.operator(&format!("{text}\nenabled = false"));
    assert_eq!(names().await, ["hostile", "steady"]);
}

// proves: T22
#[tokio::test]
async fn the_digest_covers_the_configuration() {
    let place = Place::with(&["steady"], &grants("steady")).await;
    let one = place.plugin().await.description().digest.clone();
    assert_eq!(place.plugin().await.description().digest, one);
    place.operator(&format!("{}\nconfig = {{ a = 1 }}", grants("steady")));
    assert_ne!(place.plugin().await.description().digest, one);
}

/// An author declares what any site may need; the operator decides what this site grants, question by question.
#[tokio::test]
async fn wide_declaration_gets_only_its_grants() {
    let narrow = "[plugins.wide]
        hooks = ['relate', 'check']
        kinds = ['Host.test.io']
        reads = [
            { side = 'source', kind = 'Host.test.io' },
            { side = 'target', kind = 'Host.test.io', namespace = 'metal3' },
        ]
        probes = ['10.0.0.0/8:6385', 'metal3/ironic:6385']";
    let plugin = Place::with(&["wide"], narrow).await.plugin().await;
    assert_eq!(plugin.relate(&host(json!({}))).await.unwrap(), [Relation::Keep("it was shown".into())]);
    let rack = object("test.io", "Rack", json!({"metadata": {"name": "r", "namespace": "n"}}));
    assert_eq!(
        plugin.relate(&rack).await.unwrap(),
        [],
        "it sees all kinds of the group, and was granted one"
    );
    let services = asked();
    let findings = plugin.check(Point::BeforePause, &moving(), services.clone()).await.unwrap();
    let (answered, refused): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| finding.code == "answered");
    let answered: Vec<_> = answered.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        answered,
        [
            "source Host moving",
            // Confined: whoever answers knows that these don't move.
            "source Host metal3",
            "source Host other",
            "target Host metal3",
            "10.0.0.1:6385",
        ]
    );
    assert_eq!(refused.len(), 14);
    assert!(refused.iter().all(|finding| finding.code == "denied"), "{refused:?}");
    let queries = services.queries.lock().unwrap();
    let confined: Vec<_> = queries.iter().map(|query| (query.namespace.as_deref(), query.confined)).collect();
    assert_eq!(
        confined,
        [(None, true), (Some("metal3"), true), (Some("other"), true), (Some("metal3"), false)]
    );
    assert_eq!(services.probes.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn undeclared_grant_grants_nothing() {
    let elsewhere = "[plugins.wide]
        hooks = ['relate']
        kinds = ['Host.other.io']
        reads = [{ side = 'source', kind = 'Host.other.io' }]
        probes = ['10.0.0.0/8:6385']";
    let refused = Place::with(&["wide"], elsewhere).await.refused().await;
    assert_eq!(refused[0].0, "not-granted");
    for missing in [
        "the hook check",
        "to see *.test.io (kinds)",
        "to read *.test.io of the source",
        "to read *.test.io of the target",
        "*/*:*",
    ] {
        assert!(refused[0].1.contains(missing), "{}", refused[0].1);
    }
}
