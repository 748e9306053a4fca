//! Compares the table with the fields that pivot-host checks, and records answers for the component.

use crate::Azure;

#[path = "../../rows.rs"]
mod rows;
#[path = "../../scene.rs"]
mod scene;

#[test]
fn relations_match_the_checked_fields() {
    rows::assert_rows_related::<Azure>(&[]);
}

#[test]
fn recorded_answers_match_the_native_code() {
    scene::answers_as_recorded::<Azure>(concat!(env!("CARGO_MANIFEST_DIR"), "/scene.json"));
}
