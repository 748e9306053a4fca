//! Records answers for the component. pivot-host checks none of the fields in the table.

use crate::IpamInCluster;

#[path = "../../scene.rs"]
mod scene;

#[test]
fn recorded_answers_match_the_native_code() {
    scene::answers_as_recorded::<IpamInCluster>(concat!(env!("CARGO_MANIFEST_DIR"), "/scene.json"));
}
