//! Traps in `describe`.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "package test:guest; world guest { include pivot:provider/plugin@0.1.0; }",
    world: "test:guest/guest",
    generate_all,
});

use exports::pivot::provider::describe;

struct Mute;
export!(Mute);

impl describe::Guest for Mute {
    fn plugin() -> describe::Description {
        panic!("no comment")
    }
}
