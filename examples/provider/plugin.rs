//! Hosts are frozen before a move and thawed after it. Their status and credentials come along, and an endpoint must answer.

use pivot_sdk::prelude::*;
use serde::Deserialize;

const HOST: Kind = Kind::new("infra.example.com", "ExampleHost");
const SECRET: Kind = Kind::core("Secret");
const PAUSED: &str = "infra.example.com/paused";

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Hosts {
    /// `host:port` that must answer. Empty: none.
    endpoint: String,
}

impl Plugin for Hosts {
    fn about() -> About {
        About::new("example-hosts", "0.1.0", "ExampleHosts move frozen, with status and credentials.")
            .holds(HOST)
            .restores(HOST)
            .settles(HOST)
            .probes("*:*")
    }

    fn configure() -> Result<Self> {
        config::get()
    }

    fn relate(&self, host: &Object) -> Result<Vec<Relation>> {
        // Hosts that stay may use the credentials, too.
        Ok(host
            .local_reference_at(&SECRET, "/spec/credentials/name")
            .map(Relation::share)
            .into_iter()
            .collect())
    }

    fn check(&self, point: Point, _: &Move) -> Result<Vec<Finding>> {
        if self.endpoint.is_empty() || !matches!(point, Point::BeforePause | Point::BeforeCommit) {
            return Ok(vec![]);
        }
        Ok(match endpoints::probe(Probe::tcp(&self.endpoint)) {
            Ok(_) => vec![],
            Err(error) => vec![
                Finding::wait("endpoint-down", format!("{} does not answer ({})", self.endpoint, error.code))
                    .with_remedy("start it, or correct `endpoint` in plugins.toml"),
            ],
        })
    }

    fn hold(&self, host: &Object) -> Result<Patch> {
        Ok(match host.annotation(PAUSED) {
            Some(_) => Patch::empty(),
            None => host.patch().set_annotation(PAUSED, "moving"),
        })
    }

    fn restore(&self, _: &Object, _: &Object) -> Result<Restoration> {
        Ok(Restoration::copy_field("/status"))
    }

    fn settle(&self, host: &Object) -> Result<Settlement> {
        match host.annotation(PAUSED) {
            Some("moving") => return Ok(host.patch().remove_annotation(PAUSED).into()),
            // A user's pause stays, and the controller does nothing.
            Some(_) => return Ok(Settlement::Done),
            None => {}
        }
        if context::was_written_since_commit() && host.has_condition("Ready") {
            return Ok(Settlement::Done);
        }
        let problem = Problem::new("not-ready", "its controller has not reported it ready");
        Ok(Settlement::wait(
            problem.on_object(host).with_remedy("look at the controller's log in the target"),
        ))
    }
}

pivot_sdk::export!(Hosts, hooks = [relate, check, hold, restore, settle]);
