//! Querying the endpoint and the images as the operator does.

use pivot_sdk::endpoints::{Answer, Probe};
use pivot_sdk::test::codes;
use pivot_sdk::{Error, Point, Side};
use serde_json::json;

use super::{DRIVERS, Host, KERNEL, URL, VERSION};
use crate::endpoint::{normalize_url, url_host};

#[test]
fn answering_endpoint_ends_the_wait() {
    let mut host = Host::new();
    host.0.set_answer(&Probe::get(URL), Err(Error::new("unreachable", "connection refused")));
    host.0.set_answer(&Probe::get(DRIVERS), Err(Error::new("unreachable", "connection refused")));
    let found = host.check(Point::BeforePause);
    assert_eq!(codes(&found), ["endpoint-silent"], "once, not once for each question");
    assert_eq!(found[0].message, format!("Ironic does not answer at {URL}: connection refused"));
    host.0.set_http_answer(URL, 503, "");
    assert_eq!(host.found(), ["wait endpoint-unwell"]);
    host.0.set_http_answer(URL, 200, VERSION).set_http_answer(DRIVERS, 500, "");
    assert_eq!(host.found(), ["wait drivers-unwell"]);
    host.0.set_http_answer(DRIVERS, 200, r#"{"drivers": []}"#);
    assert_eq!(host.found(), ["wait no-drivers"]);
    host.0.set_http_answer(DRIVERS, 200, r#"{"drivers": [{"name": "redfish"}]}"#);
    assert_eq!(host.found(), [""; 0]);
}

#[test]
fn endpoint_with_credentials_proves_nothing() {
    let mut host = Host::new();
    host.0.set_http_answer(DRIVERS, 401, "");
    assert_eq!(host.found(), ["note drivers-locked"]);
    host.0.set_http_answer(URL, 401, "");
    assert_eq!(host.found(), ["note endpoint-locked", "note drivers-locked"]);
}

#[test]
fn too_old_ironic_stops_the_move() {
    let versions = |text: &str| format!(r#"{{"default_version": {{"version": "{text}"}}}}"#);
    let mut host = Host::new();
    for (version, found) in
        [("1.81", vec![]), ("1.80", vec!["stop ironic-too-old"]), ("2.0", vec!["stop ironic-too-old"])]
    {
        host.0.set_http_answer(URL, 200, versions(version));
        assert_eq!(host.found(), found, "{version}");
    }
    host.0.set_http_answer(URL, 200, VERSION);
    assert_eq!(host.set_config(json!({"min-microversion": 110})).found(), ["stop ironic-too-old"]);
}

#[test]
fn answers_of_other_servers_are_rejected() {
    let mut host = Host::new();
    for body in ["<html>", "{}", r#"{"version": {"version": "one"}}"#] {
        host.0.set_http_answer(URL, 200, body);
        assert_eq!(host.found(), ["wait not-ironic"], "{body}");
    }
}

#[test]
fn images_must_be_served() {
    let mut host = Host::new();
    host.0.set_http_answer(KERNEL, 404, "");
    let found = host.check(Point::BeforePause);
    assert_eq!(found[0].message, format!("{KERNEL} is not served (status 404)"));
    host.0.set_answer(&Probe::get(KERNEL), Err(Error::new("timeout", "no answer in 3 s")));
    assert_eq!(host.found(), ["wait images-silent"]);
    host.map(Side::Target, json!({"DEPLOY_KERNEL_URL": "file:///shared/html/images/kernel"}));
    assert_eq!(host.found(), [""; 0], "a file of Ironic's own");
}

#[test]
fn denied_probe_names_the_missing_grant() {
    let mut host = Host::new();
    host.0.set_answer(&Probe::get(KERNEL), Err(Error::new("denied", "not granted")));
    let found = host.check(Point::BeforePause);
    assert_eq!(codes(&found), ["probe-not-granted"]);
    assert!(found[0].remedy.contains("plugins.toml"));
}

#[test]
fn vantage_selects_target_service_or_no_probe() {
    let mut host = Host::new();
    for url in [URL, DRIVERS, KERNEL] {
        host.0.set_answer(&Probe::get(url), Err(Error::new("unreachable", "no route")));
    }
    assert_eq!(host.found(), ["wait endpoint-silent", "wait images-silent"]);
    assert_eq!(host.set_config(json!({"vantage": "nowhere"})).found(), [""; 0]);
    let service = |port, path| Probe::service(Side::Target, "bmo", "ironic", port, path);
    let answer = |body: &str| Ok(Answer { status: 200, body: body.to_owned(), took_ms: 0 });
    host.0.set_answer(&service(6385, "/v1/"), answer(VERSION));
    host.0.set_answer(&service(6385, "/v1/drivers"), answer(r#"{"drivers": [{"name": "redfish"}]}"#));
    host.0.set_answer(&service(6180, "/images/ironic-python-agent.kernel"), answer(""));
    assert_eq!(host.set_config(json!({"vantage": "target", "service": "bmo/ironic"})).found(), [""; 0]);
}

#[test]
fn invalid_configuration_is_refused() {
    for (config, said) in [
        (json!({"vantage": "target"}), "needs service"),
        (json!({"vantage": "target", "service": "ironic"}), "needs service"),
        (json!({"namespaces": []}), "namespaces is empty"),
        (json!({"vantage": "there"}), "vantage"),
        (json!({"upp": "after-pause"}), "unknown field `upp`"),
    ] {
        let mut host = Host::new();
        let error = host.set_config(config).0.check(Point::BeforePause).unwrap_err();
        assert!(error.message.contains(said), "{error}");
    }
}

#[test]
fn endpoints_are_parsed_in_all_spellings() {
    for endpoint in ["http://a:6385", "http://a:6385/", "http://a:6385/v1", "http://a:6385/v1/"] {
        assert_eq!(normalize_url(endpoint), "http://a:6385/v1/");
    }
    for (url, means) in [
        ("http://a:6385/v1/", "a"),
        ("https://[fd00::2]:6385/v1/", "fd00::2"),
        ("http://10.0.0.1/", "10.0.0.1"),
    ] {
        assert_eq!(url_host(url), means);
    }
}
