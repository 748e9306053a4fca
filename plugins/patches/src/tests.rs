//! Tests every rule with the harness, which calls hooks as the host does.

mod configuration;
mod patches;

#[path = "../../scene.rs"]
mod scene;

#[test]
fn the_native_code_answers_as_the_component_must() {
    scene::answers_as_recorded::<crate::Patches>(concat!(env!("CARGO_MANIFEST_DIR"), "/scene.json"));
}
