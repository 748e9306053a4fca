//! The host's functions, as a component imports them.

use super::bindings::describe::pivot::provider::{
    config as wit_config, context, endpoints, log as wit_log, objects as wit_objects,
};
use super::convert;
use crate::level::Level;
use crate::probe::{Answer, Probe, Service, Target};
use crate::provider::Provider;
use crate::query::Query;
use crate::{Key, Namespace, Result, Side};

pub(crate) fn run_word() -> String {
    context::run()
}

pub(crate) fn move_id() -> String {
    context::move_id()
}

pub(crate) fn place_type(side: Side) -> String {
    context::place(convert::side_to_wit(side))
}

pub(crate) fn target_namespace(source: &str) -> String {
    context::target_namespace(source)
}

pub(crate) fn list_providers(side: Side) -> Result<Vec<Provider>> {
    let answer = context::providers(convert::side_to_wit(side)).map_err(convert::error_from_wit)?;
    let providers = answer.into_iter().map(|provider| {
        let context::Provider { name, provider_type, version, namespace, extra: _ } = provider;
        Provider { name, provider_type, version, namespace }
    });
    Ok(providers.collect())
}

pub(crate) fn written_since_commit() -> bool {
    context::written_since_commit()
}

pub(super) fn moving_namespaces() -> Vec<Namespace> {
    let namespaces = context::namespaces().into_iter().map(|namespace| {
        let context::MovingNamespace { source, target, extra: _ } = namespace;
        Namespace { source, target }
    });
    namespaces.collect()
}

pub(super) fn moving_objects() -> Vec<Key> {
    context::objects().into_iter().map(convert::key_from_wit).collect()
}

pub(crate) fn read_config() -> String {
    wit_config::get()
}

pub(crate) fn write_log(level: Level, message: &str) {
    let level = match level {
        Level::Error => wit_log::Level::Error,
        Level::Warn => wit_log::Level::Warn,
        Level::Info => wit_log::Level::Info,
        Level::Debug => wit_log::Level::Debug,
    };
    wit_log::write(level, message);
}

pub(crate) fn read_objects(queries: &[Query]) -> Vec<Result<Vec<String>>> {
    let wit_queries = queries.iter().map(|query| wit_objects::Query {
        side: convert::side_to_wit(query.side),
        kind: convert::kind_to_wit(query.kind.clone()),
        scope: convert::scope_to_wit(query.namespace.clone()),
        name: query.name.clone(),
        extra: Vec::new(),
    });
    let queries: Vec<wit_objects::Query> = wit_queries.collect();
    wit_objects::read(&queries).into_iter().map(|answer| answer.map_err(convert::error_from_wit)).collect()
}

pub(crate) fn probe_endpoints(probes: &[Probe]) -> Vec<Result<Answer>> {
    let target = |target: Target| match target {
        Target::Tcp(address) => endpoints::Target::Tcp(address),
        Target::HttpGet(url) => endpoints::Target::HttpGet(url),
        Target::Service(Service { side, namespace, name, port, path }) => {
            let side = convert::side_to_wit(side);
            endpoints::Target::Service(endpoints::Service { side, namespace, name, port, path })
        }
    };
    let wit_probes = probes.iter().map(|probe| endpoints::Endpoint {
        target: target(probe.target.clone()),
        timeout_ms: probe.timeout_ms,
        extra: Vec::new(),
    });
    let asked: Vec<endpoints::Endpoint> = wit_probes.collect();
    let answers = endpoints::probe(&asked).into_iter().map(|answer| {
        let endpoints::Answer { status, body, took_ms, extra: _ } =
            answer.map_err(convert::error_from_wit)?;
        Ok(Answer { status: status.unwrap_or_default(), body, took_ms })
    });
    answers.collect()
}
