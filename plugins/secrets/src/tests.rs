//! Tests every rule with the harness, which calls hooks as the host does.

mod configuration;
mod rules;

#[path = "../../scene.rs"]
mod scene;

#[test]
fn recorded_answers_match_the_native_code() {
    scene::answers_as_recorded::<crate::Secrets>(concat!(env!("CARGO_MANIFEST_DIR"), "/scene.json"));
}
