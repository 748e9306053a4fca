//! Tests of successful runs: answers, journeys, and an invalid configuration.

use serde_json::json;

use super::*;

#[test]
fn check_reads_objects_and_probes_endpoints() {
    let mut harness = odd("");
    assert_eq!(harness.check(Point::BeforePause).unwrap()[0].message, "1 hosts, 0 endpoints");
    harness
        .set_http_answer("http://10.0.0.1/", 200, "")
        .set_answer(&Probe::tcp("10.0.0.1:80"), Ok(Answer::default()));
    harness.fail_reads(Side::Source, &HOST, Error::new("not-found", "no such object"));
    let findings = harness.check(Point::BeforePause).unwrap();
    assert_eq!((findings[0].message.as_str(), codes(&findings)), ("0 hosts, 2 endpoints", vec!["seen"]));
    harness.fail_reads(Side::Source, &HOST, Error::new("denied", "not granted"));
    assert!(harness.check(Point::BeforePause).unwrap_err().is_denied());
}

#[test]
fn secrets_come_without_data() {
    let mut harness = odd("");
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"password": "eA=="},
    });
    harness.relate(secret).unwrap();
    assert_eq!(harness.logged_lines(), [(Level::Info, "false".to_owned())]);
}

#[test]
fn journey_restores_labels_and_annotations() {
    let journey = odd("").journey(host()).unwrap();
    assert_eq!(journey.held.annotation(PAUSED), Some("odd"));
    assert_eq!(journey.held.stored_value::<Odd>("user"), Some(""));
    assert_eq!(journey.created.get("/status"), None);
    assert_eq!(journey.restored.text("/status/state"), Some("ready"));
    assert_eq!(journey.settled.annotation("mine"), Some("kept"));
    assert_eq!(journey.settled.annotations().count(), 1);
    let bare =
        json!({"apiVersion": "example.io/v1", "kind": "Host", "metadata": {"name": "b", "namespace": "n"}});
    odd("").journey(bare).unwrap();
    let mut paused = host();
    paused["metadata"]["annotations"][PAUSED] = json!("by the user");
    assert_eq!(odd("").journey(paused).unwrap().settled.annotation(PAUSED), Some("by the user"));
}

#[test]
fn journey_stops_with_the_plugin() {
    let mut harness = odd("waits");
    let journey = harness.journey(host()).unwrap();
    assert_eq!(journey.open.unwrap().code, "busy");
    assert_eq!(harness.get(Side::Target, &HOST.key_in("n", "a")).unwrap().annotation(PAUSED), Some("odd"));
    let message = broken("litters", |h| h.journey(host()));
    assert!(message.contains("after the move /metadata/labels is not what it was"), "{message}");
}

#[test]
fn configuration_error_names_the_field() {
    let mut harness = odd("");
    for (config, expected) in [
        (json!({"port": "x"}), "configuration: port: invalid type: string \"x\", expected u16"),
        (
            json!({"prot": 1}),
            "configuration: prot: unknown field `prot`, expected one of `way`, `port`, `nested`",
        ),
        (
            json!({"nested": {"hosts": [1, 300]}}),
            "configuration: nested.hosts[1]: invalid value: integer `300`",
        ),
    ] {
        let error = harness.set_config(config).hold(host()).unwrap_err();
        assert!(error.code == "invalid" && error.message.starts_with(expected), "{error}");
    }
    let view = Object::from(host()).deserialize_at::<Nested>("/status").map(|_| ()).unwrap_err();
    assert!(view.message.starts_with("Host.example.io n/a: status.ended: unknown field"), "{view}");
}
