//! Admission webhooks that refuse, are slow, choose misleading codes, or change objects.

use std::time::{Duration, Instant};

use pivot_lab::ScriptedWebhook;
use pivot_lab::observer::Side;
use pivot_lab::webhooks::Verdict;
use pivot_scenarios::shape;
use serde_json::{Value, json};

use super::stage::{Stage, all};

const NAMESPACE: &str = "shop";
/// Longer than a server waits for a webhook.
const TOO_LATE: Duration = Duration::from_millis(1500);
/// Shorter than a refused delete is repeated.
const REFUSING: Duration = Duration::from_secs(2);

fn is_create(request: &Value) -> bool {
    request["operation"] == "CREATE"
}

fn is_delete(request: &Value) -> bool {
    request["operation"] == "DELETE"
}

/// Refuses some requests with a code.
fn refuse(
    code: u16,
    which: impl Fn(&Value) -> bool + Send + 'static,
) -> impl FnMut(&Value) -> Verdict + Send {
    move |request| if which(request) { Verdict::Refuse(code) } else { Verdict::Allow }
}

/// Refuses deletes for a while.
fn refuse_for_a_while(code: u16) -> impl FnMut(&Value) -> Verdict + Send {
    let mut first = None;
    move |request| {
        let is_early = is_delete(request) && first.get_or_insert_with(Instant::now).elapsed() < REFUSING;
        if is_early { Verdict::Refuse(code) } else { Verdict::Allow }
    }
}

/// Answers two creates too late, and annotates what is created later.
fn delay_then_annotate() -> impl FnMut(&Value) -> Verdict + Send {
    let mut creates = 0;
    let annotation =
        json!([{"op": "add", "path": "/metadata/annotations/webhook.example.com~1seen", "value": "yes"}]);
    move |request| {
        creates += usize::from(is_create(request));
        match creates {
            1 | 2 => Verdict::Delay(TOO_LATE),
            _ if is_create(request) => Verdict::Mutate(annotation.clone()),
            _ => Verdict::Allow,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_webhooks_lose_no_object() {
    let stage = Stage::start().await;
    let hook = async |side: Side| {
        let server = if side == Side::Source { &stage.pair.source } else { &stage.pair.target };
        ScriptedWebhook::start(server, "cluster.x-k8s.io", "clusters").await.unwrap()
    };
    let (of_source, of_target) = tokio::join!(hook(Side::Source), hook(Side::Target));
    let words = [&["move", "-n", NAMESPACE][..], &shape::WITHOUT_PLUGIN].concat();
    let before = stage.fill(NAMESPACE, 1).await;
    // Otherwise a rollback deletes it, and the next move is refused until it is gone.
    stage.pair.target.apply("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}").await.unwrap();

    // A webhook that says "not found" refuses, too.
    of_target.decide(refuse(404, is_create));
    let refused = stage.host.run_as_text(&words).await.unwrap().ends_with(3).unwrap();
    assert!(refused.stderr.contains("the target would refuse to create"), "{}", refused.stderr);
    assert!(refused.stderr.contains("the script says so"), "{}", refused.stderr);

    of_target.decide(refuse(409, |request| is_create(request) && request["dryRun"] == false));
    let stopped = stage.host.run_as_text(&words).await.unwrap().ends_with(4).unwrap();
    assert!(stopped.stderr.contains("the source is authoritative"), "{}", stopped.stderr);
    stage.host.run(&["rollback"]).await.unwrap().done().unwrap();
    assert_eq!(all(&stage.pair.source, &[NAMESPACE]).await.len(), before.len());
    assert!(all(&stage.pair.target, &[NAMESPACE]).await.is_empty());

    // The source's webhook says "not found" about what is there.
    of_target.decide(delay_then_annotate());
    of_source.decide(refuse_for_a_while(404));
    stage.host.run(&words).await.unwrap().done().unwrap();
    assert!(all(&stage.pair.source, &[NAMESPACE]).await.is_empty());
    let after = all(&stage.pair.target, &[NAMESPACE]).await;
    assert_eq!(after.len(), before.len());
    let annotated = after
        .values()
        .filter(|object| object["metadata"]["annotations"]["webhook.example.com/seen"] == "yes");
    assert_eq!(annotated.count(), 1);

    of_source.decide(|_| Verdict::Allow);
    of_target.decide(refuse(422, is_delete));
    let back = stage.back();
    // No controller runs that could provision it again.
    let words = [&words[..], &["--accept", "unprovisioned"]].concat();
    let stopped = back.run_as_text(&words).await.unwrap().ends_with(5).unwrap();
    assert!(stopped.stderr.contains("do what the webhook's message asks for"), "{}", stopped.stderr);
    of_target.decide(|_| Verdict::Allow);
    back.run(&["resume"]).await.unwrap().done().unwrap();
    assert_eq!(all(&stage.pair.source, &[NAMESPACE]).await.len(), before.len());
    stage.tidy(&[NAMESPACE]).await;
}
