//! Components of the stock `wasm32-wasip2` target: the standard library expects a machine and finds none.

use pivot_core::Object;
use pivot_core::plugins::hooks::Relation;
use serde_json::json;

use crate::log::log;
use crate::support::{Place, guest, object};

fn secret(way: &str) -> Object {
    object("", "Secret", json!({"metadata": {"name": "s"}, "way": way}))
}

fn said(relations: &[Relation]) -> Vec<&str> {
    relations.iter().map(|r| if let Relation::Keep(said) = r { said.as_str() } else { "" }).collect()
}

// proves: T3
#[tokio::test]
async fn files_environment_clock_and_randomness_are_unavailable() {
    let elsewhere = tempfile::TempDir::new().unwrap();
    let file = elsewhere.path().join("was-here");
    let grants = format!(
        "[plugins.reaching]\nhooks = ['relate']\nkinds = ['Secret']\nconfig = {{ file = '{}' }}",
        file.display()
    );
    let plugin = Place::with(&["reaching"], &grants).await.plugin().await;
    let once = plugin.relate(&secret("")).await.unwrap();
    assert_eq!(
        said(&once)[..8],
        [
            "env []",
            "args []",
            "read false",
            "write false",
            "list false",
            "clock 1767225600",
            "monotonic 1",
            "elapsed 0"
        ]
    );
    // The same input gives the same output, whatever produces it.
    assert_eq!(plugin.relate(&secret("")).await.unwrap(), once);
    assert!(!file.exists());
    let log = log().text();
    assert!(log.contains("said on stdout") && log.contains("said on stderr"), "{log}");
}

/// A plugin that can measure time can learn what it is not told.
#[tokio::test]
async fn every_wait_ends_at_once() {
    let plugin = Place::with(&["reaching"], "").await.plugin().await;
    let waited = plugin.relate(&secret("wait")).await.unwrap();
    assert_eq!(said(&waited), ["asked 0", "asked 0", "asked 0", "over 2"]);
}

#[tokio::test]
async fn exiting_is_an_error_of_the_call() {
    let plugin = Place::with(&["reaching"], "").await.plugin().await;
    let error = plugin.relate(&secret("exit")).await.unwrap_err();
    assert_eq!(error.code, "exit");
    assert!(plugin.relate(&secret("")).await.is_ok());
}

#[tokio::test]
async fn inspecting_lists_what_is_inert() {
    let place = Place::with(&["reaching"], "").await;
    let inspection = place.runtime.inspect(&place.path("reaching.wasm")).await.unwrap();
    assert!(inspection.inert.iter().any(|import| import.starts_with("wasi:filesystem/")));
    assert!(inspection.inert.iter().all(|import| import.starts_with("wasi:")));
}

// proves: T3
#[tokio::test]
async fn sockets_are_refused_by_name() {
    let place = Place::new();
    place.put("networked.wasm", &guest("networked"));
    let error = place.runtime.inspect(&place.path("networked.wasm")).await.unwrap_err();
    assert_eq!(error.code(), "foreign-imports");
    assert!(error.to_string().contains("wasi:sockets/tcp@0.2"), "{error}");
}
