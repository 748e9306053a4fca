//! A plugin that sees the data of Secrets, and every way out that it tries.

use pivot_core::Object;
use pivot_core::hooks::Relation;
use serde_json::json;

use crate::log::log;
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
    let plugin = Place::with(&["secretive"], GRANTS).await.plugin().await;
    let leave = plugin.relate(&secret("reason")).await.unwrap();
    assert!(matches!(&leave[..], [Relation::Leave(reason)] if reason.contains("withheld")), "{leave:?}");
    for way in ["name", "error", "panic"] {
        let error = plugin.relate(&secret(way)).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        assert!(error.message.contains("withheld"));
    }
    let log = log().text();
    assert!(log.contains("secretive") && log.contains("outcome") && !log.contains("hunter2"), "{log}");
}

#[tokio::test]
async fn without_the_grant_it_is_refused() {
    let place = Place::with(&["secretive"], "[plugins.secretive]\nhooks = ['relate']").await;
    let refused = place.refused().await;
    assert_eq!(refused[0].0, "not-granted");
    assert!(refused[0].1.contains("the data of Secrets (secret-data)"), "{}", refused[0].1);
}
