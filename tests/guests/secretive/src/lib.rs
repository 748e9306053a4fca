//! Sees the data of Secrets and tries every way to leak it.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "package test:guest; world guest { include pivot:provider/plugin@0.1.0; export pivot:provider/relate@0.1.0; }",
    world: "test:guest/guest",
    generate_all,
});

use exports::pivot::provider::{describe, relate};
use pivot::provider::log;
use pivot::provider::types::{Error, Kind, ObjectKey};

struct Secretive;
export!(Secretive);

impl describe::Guest for Secretive {
    fn plugin() -> describe::Description {
        describe::Description {
            name: "secretive".into(),
            version: "0.1.0".into(),
            summary: "Passes on what it sees.".into(),
            kinds: [Kind { group: String::new(), name: "Secret".into() }]
                .map(|kind| describe::SeenKind { kind, versions: vec![] })
                .into(),
            reach: vec![],
            changes: vec![],
            reads: vec![],
            probes: vec![],
            secret_data: true,
            codes: vec![],
            extra: vec![],
        }
    }
}

impl relate::Guest for Secretive {
    fn relations(object: String) -> Result<Vec<relate::Relation>, Error> {
        log::write(log::Level::Error, &object);
        if object.contains("\"way\":\"name\"") {
            let key = ObjectKey {
                kind: Kind { group: String::new(), name: "Secret".into() },
                namespace: None,
                name: "hunter2".into(),
            };
            return Ok(vec![relate::Relation::Need(key)]);
        }
        if object.contains("\"way\":\"error\"") {
            return Err(Error { code: "hunter2 is the word".into(), message: object });
        }
        if object.contains("\"way\":\"panic\"") {
            panic!("{object}");
        }
        Ok(vec![relate::Relation::Leave(object)])
    }
}
