//! How long things take, printed and not judged: `cargo test -p pivot-runtime --release -- --nocapture how_long`.

use std::time::Instant;

use serde_json::json;

use crate::support::{Place, grants, host};

#[tokio::test]
async fn how_long_a_call_takes() {
    let place = Place::with(&["steady"], &grants("steady")).await;
    let begun = Instant::now();
    let plugin = place.plugin().await;
    println!("load of one plugin: {:?}", begun.elapsed());
    let object = host(json!({"fill": "x".repeat(5_000), "note": "test.io/held"}));
    let many = 200;
    let begun = Instant::now();
    for _ in 0..many {
        plugin.hold(&object).await.unwrap();
    }
    println!("a call that scans 5 KB, fresh instance: {:?}", begun.elapsed() / many);
}
