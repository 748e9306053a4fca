//! A plugin that sees the data of Secrets, and every way out that it tries.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use pivot_core::Object;
use pivot_core::hooks::Relation;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::support::{Place, object};

const GRANTS: &str = "[plugins.secretive]\nhooks = ['relate']\nsecret-data = true";

fn secret(way: &str) -> Object {
    let annotations = json!({"way": way});
    object(
        "",
        "Secret",
        json!({"metadata": {"name": "s", "namespace": "n", "annotations": annotations}, "data": {"k": "hunter2"}}),
    )
}

#[tokio::test]
async fn secret_data_gets_out_by_no_way() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let plugin = Place::with(&["secretive"], GRANTS).await.plugin().await;
    let leave = plugin.relate(&secret("reason")).await.unwrap();
    assert!(matches!(&leave[..], [Relation::Leave(reason)] if reason.contains("withheld")), "{leave:?}");
    for way in ["name", "error", "panic"] {
        let error = plugin.relate(&secret(way)).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        assert!(error.message.contains("withheld"));
    }
    let log = log.0.lock().unwrap();
    assert!(log.contains("outcome") && !log.contains("hunter2"), "{log}");
}

#[tokio::test]
async fn without_the_grant_it_is_refused() {
    let place = Place::with(&["secretive"], "[plugins.secretive]\nhooks = ['relate']").await;
    let refused = place.refused().await;
    assert_eq!(refused[0].0, "not-granted");
    assert!(refused[0].1.contains("the data of Secrets (secret-data)"), "{}", refused[0].1);
}

/// Everything that is traced, as text.
#[derive(Clone, Default)]
pub struct Log(pub Arc<Mutex<String>>);

struct Words<'a>(&'a mut String);

impl Visit for Words<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "plugin" || metadata.target().starts_with("pivot")
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut Words(&mut self.0.lock().unwrap()));
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Words(&mut self.0.lock().unwrap()));
    }
    fn event(&self, event: &Event<'_>) {
        event.record(&mut Words(&mut self.0.lock().unwrap()));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
