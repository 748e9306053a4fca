//! A plugin's questions to the host.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pivot_core::plugins::hooks::{Finding, Point};
use pivot_core::{Object, Side};
use pivot_runtime::{Answer, Probe, Query, ServiceError, Services};

use crate::log::log;
use crate::support::{Asked, Place, grants, moving, run};

async fn ask(services: &Arc<Asked>) -> Vec<Finding> {
    let text = format!("{}\n[plugins.steady.config]\nb = 2\na = 'x'", grants("steady"));
    let plugin = Place::with(&["steady"], &text).await.plugin().await;
    plugin.check(Point::BeforePause, &moving(), services.clone()).await.unwrap()
}

#[tokio::test]
async fn only_granted_queries_are_answered() {
    let services = Arc::new(Asked::default());
    let findings = ask(&services).await;
    let said: Vec<String> = findings.iter().map(|f| format!("{}: {}", f.code, f.message)).collect();
    let host = r#"read: {"apiVersion":"test.io/v1","kind":"Host","metadata":{"name":"h","namespace":"n"}}"#;
    assert_eq!(
        said,
        [
            "context: trial a-trial cluster cluster n=n",
            r#"config: {"a":"x","b":2}"#,
            host,
            host,
            "denied: reading Host.test.io of the source was not declared",
            "denied: reading Host.test.io of the target in namespace * was not declared",
            r#"read: {"apiVersion":"v1","data":{"k":null},"kind":"Secret","metadata":{"name":"s","namespace":"ironic"}}"#,
            "probed: 50",
            "denied: probing 192.168.0.1:6385 was not granted",
            "denied: probing 10.0.0.1:22 was not declared",
        ]
    );
    let log = log().text();
    for asked in [
        r#"question="read Host.test.io of the target in moving namespaces" reply="1 object""#,
        r#"question="read Host.test.io of the source in moving namespaces" reply="denied: reading Host.test.io of the source was not declared""#,
        r#"question="probe 192.168.0.1:6385" reply="denied: probing 192.168.0.1:6385 was not granted""#,
    ] {
        assert!(log.contains(asked), "{asked}\n{log}");
    }
    let queries = services.queries.lock().unwrap();
    // In the namespaces that move: the answering side must check that "elsewhere" is one.
    let seen: Vec<_> = queries.iter().map(|q| (q.side, q.namespace.as_deref(), q.confined)).collect();
    assert_eq!(
        seen,
        [
            (Side::Target, None, true),
            (Side::Target, Some("elsewhere"), true),
            (Side::Source, Some("ironic"), false)
        ]
    );
    assert_eq!(services.probes.lock().unwrap()[0].timeout, Duration::from_secs(1));
}

#[tokio::test]
async fn fifty_probes_are_one_wait() {
    let services = Arc::new(Asked { slow: Duration::from_millis(100), ..Asked::default() });
    let plugin = Place::with(&["steady"], &grants("steady")).await.plugin().await;
    let begun = Instant::now();
    plugin.check(Point::BeforePause, &moving(), services.clone()).await.unwrap();
    assert_eq!(services.probes.lock().unwrap().len(), 50);
    // Sequentially they would take five seconds.
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

/// Reports failed probes when their time is over.
struct ReportsLate;

#[async_trait]
impl Services for ReportsLate {
    async fn read(&self, plugin: &str, query: Query) -> Result<Vec<Object>, ServiceError> {
        Asked::default().read(plugin, query).await
    }

    async fn probe(&self, _plugin: &str, probe: Probe) -> Result<Answer, ServiceError> {
        tokio::time::sleep(probe.timeout + Duration::from_millis(50)).await;
        Err(ServiceError::new("unreachable", "the same for all"))
    }
}

/// The services may give all failures the same text after the same time, which a text from elsewhere would undo.
#[tokio::test]
async fn late_failures_keep_the_services_words() {
    let plugin = Place::with(&["steady"], &grants("steady")).await.plugin().await;
    let findings = plugin.check(Point::BeforePause, &moving(), Arc::new(ReportsLate)).await.unwrap();
    let failed = findings.iter().filter(|finding| finding.code == "unreachable");
    assert_eq!(failed.filter(|finding| finding.message == "the same for all").count(), 50, "{findings:?}");
}

#[tokio::test]
async fn slow_host_is_a_timeout() {
    let text = format!("{}\nlimits = {{ time = '200ms' }}", grants("steady"));
    let plugin = Place::with(&["steady"], &text).await.plugin().await;
    let services = Arc::new(Asked { slow: Duration::from_secs(60), ..Asked::default() });
    let error = plugin.check(Point::BeforePause, &moving(), services).await.unwrap_err();
    assert_eq!(error.code, "timeout");
}

#[tokio::test]
async fn input_limit_is_an_error_for_plugins() {
    let text = format!("{}\nlimits = {{ input = '1KiB' }}", grants("steady"));
    let plugin = Place::with(&["steady"], &text).await.plugin().await;
    let large = async |bytes| {
        let services = Arc::new(Asked { fill: "x".repeat(bytes), ..Asked::default() });
        let findings = plugin.check(Point::BeforePause, &moving(), services).await.unwrap();
        findings.iter().filter(|finding| finding.code == "too-large").count()
    };
    assert_eq!(large(100).await, 0);
    // The second host exceeds the limit; after it neither the Secret nor the fifty endpoints are requested.
    assert_eq!(large(600).await, 52);
}

/// What `hostile` received in a check of this mode, if each host has this size and its input limit is 10 KiB.
async fn heard(mode: &str, bytes: usize) -> (Vec<String>, Arc<Asked>) {
    let text = format!("{}\nlimits = {{ input = '10KiB' }}", grants("hostile"));
    let plugin = Place::with(&["hostile"], &text).await.plugin().await;
    let services = Arc::new(Asked { fill: "x".repeat(bytes), ..Asked::default() });
    let findings =
        plugin.for_run(run(mode)).check(Point::BeforePause, &moving(), services.clone()).await.unwrap();
    (findings.into_iter().map(|finding| finding.message).collect(), services)
}

#[tokio::test]
async fn equal_queries_are_sent_once() {
    let (heard_of, services) = heard("same", 1).await;
    assert_eq!(heard_of, ["40 answers, 0 too large", "1 answers, 0 too large", "1 answers, 0 too large"]);
    assert_eq!(services.queries.lock().unwrap().len(), 1);
    let (heard_of, services) = heard("probes", 1).await;
    assert_eq!(heard_of, ["90 answers, 0 too large", "9 answers, 0 too large"]);
    assert_eq!(services.probes.lock().unwrap().len(), 90);
}

/// Each copy of an answer is in the component's memory, whichever question it belongs to.
#[tokio::test]
async fn a_shared_answer_counts_each_time() {
    let (heard_of, services) = heard("same", 1_000).await;
    assert_eq!(heard_of, ["9 answers, 31 too large", "0 answers, 1 too large", "0 answers, 1 too large"]);
    assert_eq!(services.queries.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn input_limit_stops_further_queries() {
    let (heard_of, services) = heard("each", 1_000).await;
    assert_eq!(heard_of, ["9 answers, 81 too large", "0 answers, 1 too large"]);
    // The tenth exceeded the limit; a few more were in flight.
    let asked = services.queries.lock().unwrap().len();
    assert!((10..=14).contains(&asked), "{asked}");
    let (heard_of, services) = heard("each", 1).await;
    assert_eq!(heard_of, ["90 answers, 0 too large", "1 answers, 0 too large"]);
    assert_eq!(services.queries.lock().unwrap().len(), 91);
}
