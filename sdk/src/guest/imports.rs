//! The host's functions, as a component imports them.

use super::bindings::describe::pivot::provider::{config as wit_config, endpoints, log as wit_log, objects};
use super::convert;
use crate::Result;
use crate::level::Level;
use crate::probe::{Answer, Probe};
use crate::query::Query;

pub(crate) fn config() -> String {
    wit_config::get()
}

pub(crate) fn log(level: Level, message: &str) {
    wit_log::log(level.as_str(), message);
}

pub(crate) fn read(queries: &[Query]) -> Vec<Result<Vec<String>>> {
    let query = |query: &Query| objects::Query {
        side: query.side.as_str().to_owned(),
        kind: convert::kind(query.kind.clone()),
        namespace: query.namespace.clone(),
        name: query.name.clone(),
    };
    let queries: Vec<objects::Query> = queries.iter().map(query).collect();
    objects::read(&queries).into_iter().map(|answer| answer.map_err(convert::error_from)).collect()
}

pub(crate) fn probe(probes: &[Probe]) -> Vec<Result<Answer>> {
    let endpoint = |probe: &Probe| endpoints::Endpoint {
        method: if probe.http { "http-get" } else { "tcp" }.to_owned(),
        vantage: probe.vantage.as_str().to_owned(),
        address: probe.address.clone(),
        timeout_ms: probe.timeout_ms,
    };
    let asked: Vec<endpoints::Endpoint> = probes.iter().map(endpoint).collect();
    let answer = |answer: endpoints::Answer| {
        let endpoints::Answer { status, body, took_ms } = answer;
        Answer { status, body, took_ms }
    };
    endpoints::probe(&asked).into_iter().map(|a| a.map(answer).map_err(convert::error_from)).collect()
}
