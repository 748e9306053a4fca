//! Opens a socket, but not through the standard library: Debian's C library for wasm has no sockets.

wit_bindgen::generate!({
    path: ["../../../wit", "wit"],
    inline: "package test:guest; world guest { include pivot:provider/plugin@0.1.0; import wasi:sockets/tcp@0.2.6; export pivot:provider/relate@0.1.0; }",
    world: "test:guest/guest",
    generate_all,
});

use exports::pivot::provider::{describe, relate};
use pivot::provider::types::{Error, Kind};

struct Networked;
export!(Networked);

impl describe::Guest for Networked {
    fn plugin() -> describe::Description {
        describe::Description {
            name: "networked".into(),
            version: "0.1.0".into(),
            summary: "Calls home.".into(),
            kinds: [Kind { group: String::new(), name: "Secret".into() }]
                .map(|kind| describe::SeenKind { kind, versions: vec![] })
                .into(),
            reach: vec![],
            changes: vec![],
            reads: vec![],
            probes: vec![],
            secret_data: false,
            codes: vec![],
            extra: vec![],
        }
    }
}

impl relate::Guest for Networked {
    fn relations(_: String) -> Result<Vec<relate::Relation>, Error> {
        let home = wasi::sockets::tcp::connect("127.0.0.1:80");
        Ok(vec![relate::Relation::Leave(format!("connected: {home}"))])
    }
}
