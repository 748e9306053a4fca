//! Uses the standard library as if it were not in a sandbox.

wit_bindgen::generate!({
    path: ["../../../wit", "wit/io.wit", "wit/clocks.wit"],
    inline: "package test:guest; world guest { include pivot:provider/plugin@0.1.0; import wasi:io/poll@0.2.6; import wasi:clocks/monotonic-clock@0.2.6; export pivot:provider/relate@0.1.0; }",
    world: "test:guest/guest",
    generate_all,
});

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use exports::pivot::provider::{describe, relate};
use pivot::provider::config;
use pivot::provider::types::{Error, Kind};
use wasi::clocks::monotonic_clock::{now, subscribe_duration, subscribe_instant};
use wasi::io::poll;

struct Reaching;
export!(Reaching);

impl describe::Guest for Reaching {
    fn plugin() -> describe::Description {
        describe::Description {
            name: "reaching".into(),
            version: "0.1.0".into(),
            summary: "Looks around.".into(),
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

const HOUR: u64 = 3_600_000_000_000;

/// How often it was polled before it was ready.
fn asked(end: poll::Pollable) -> String {
    let asked = (0..1_000).take_while(|_| !end.ready()).count();
    format!("asked {asked}")
}

fn waits() -> Vec<String> {
    let mut waits: Vec<String> =
        [subscribe_duration(HOUR), subscribe_instant(HOUR), subscribe_duration(u64::MAX)].map(asked).into();
    subscribe_duration(HOUR).block();
    let (one, other) = (subscribe_duration(HOUR), subscribe_duration(u64::MAX));
    waits.push(format!("over {}", poll::poll(&[&one, &other]).len()));
    #[allow(clippy::disallowed_methods, reason = "a program that sleeps is tried, which has no runtime")]
    std::thread::sleep(std::time::Duration::from_nanos(HOUR));
    waits
}

/// The file that it tries to write, as configured by the operator.
fn file() -> String {
    let config = config::get();
    let file = config.split_once("\"file\":\"").and_then(|(_, rest)| rest.split('"').next());
    file.unwrap_or("was-here").to_owned()
}

impl relate::Guest for Reaching {
    fn relations(object: String) -> Result<Vec<relate::Relation>, Error> {
        if object.contains("\"way\":\"exit\"") {
            #[allow(clippy::disallowed_methods, reason = "how the host takes a plugin that exits is tested")]
            std::process::exit(3);
        }
        if object.contains("\"way\":\"wait\"") {
            return Ok(waits().into_iter().map(relate::Relation::Keep).collect());
        }
        println!("said on stdout");
        eprintln!("said on stderr");
        let begun = Instant::now();
        let reaches = [
            format!("env {:?}", std::env::vars().collect::<Vec<_>>()),
            format!("args {:?}", std::env::args().collect::<Vec<_>>()),
            format!("read {}", std::fs::read("/etc/passwd").is_ok()),
            format!("write {}", std::fs::write(file(), "x").is_ok()),
            format!("list {}", std::fs::read_dir("/").is_ok()),
            format!("clock {}", SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()),
            format!("monotonic {}", now()),
            format!("elapsed {}", begun.elapsed().as_nanos()),
            format!("random {}", RandomState::new().hash_one(1)),
        ];
        Ok(reaches.into_iter().map(relate::Relation::Keep).collect())
    }
}
