//! Fails tests in whose events, documents, records or objects the content of a Secret shows.

use std::sync::atomic::{AtomicBool, Ordering};

use pivot_engine::{Event, Watcher};
use pivot_worlds::{SECRET_CONTENT, SECRET_DATA, has_secret};
use serde_json::json;

use crate::stage::Stage;

/// Sees all events of the runs of a stage. Once it goes, it panics if one of them showed a Secret: a run may catch a panic before.
#[derive(Default)]
pub(crate) struct SecretWatcher(AtomicBool);

impl Watcher for SecretWatcher {
    fn event(&self, event: Event) {
        self.0.fetch_or(has_secret(&format!("{event:?}")), Ordering::SeqCst);
    }
}

impl Drop for SecretWatcher {
    fn drop(&mut self) {
        assert!(!*self.0.get_mut() || std::thread::panicking(), "an event shows the content of a Secret");
    }
}

/// Fails if one of these texts, or an object on either side that is no Secret, has the content of a Secret.
pub(crate) fn ensure_no_secret(stage: &Stage, texts: &[String]) -> Result<(), String> {
    if texts.iter().any(|text| has_secret(text)) {
        return Err("a text shows the content of a Secret".to_owned());
    }
    for place in [&stage.source, &stage.target] {
        for key in place.keys().into_iter().filter(|key| key.group_kind.kind != "Secret") {
            if place.body(&key).is_some_and(|body| has_secret(&body.to_string())) {
                return Err(format!("{key} has the content of a Secret"));
            }
        }
    }
    Ok(())
}

#[test]
fn secrets_in_events_texts_and_objects_are_found() {
    let sees = |text: &str| {
        let watcher = SecretWatcher::default();
        watcher.event(Event::Note {
            code: "lab".to_owned(),
            object: None,
            text: text.to_owned(),
            remedies: Vec::new(),
        });
        std::panic::catch_unwind(move || drop(watcher)).is_err()
    };
    assert!(sees(SECRET_DATA) && !sees("the Secret c-ca"));
    let stage = Stage::new();
    assert_eq!(ensure_no_secret(&stage, &["the Secret c-ca".to_owned()]), Ok(()));
    assert!(ensure_no_secret(&stage, &[SECRET_CONTENT.to_owned()]).is_err());
    let cluster = crate::restored::cluster();
    stage.source.edit(&cluster, |body| body["metadata"]["labels"]["lab"] = json!(SECRET_DATA)).unwrap();
    assert!(ensure_no_secret(&stage, &[]).is_err());
}
