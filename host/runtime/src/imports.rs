//! The host functions for components. Each question is checked against the declaration and the grants before it is sent. The
//! questions of one list are asked concurrently. Equal questions are asked once, and none is asked once the input limit is
//! reached.

mod wasi;

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use pivot_core::checks::providers::Provider;
use pivot_core::request::network::Network;
use pivot_core::{GroupKind, Key, Object};
use pivot_vetting::permissions::{self, Extent, Pattern, Read};
use tokio::sync::Semaphore;
use tracing::Level;
use wasmtime::component::{HasSelf, Linker};

use crate::context::{Ctx, PluginAccess};
use crate::contract::pivot::provider::{config, context, endpoints, log, objects, types};
use crate::describe::{self, side_from};
use crate::meter::Meter;
use crate::parse::BinaryDeclarations;
use crate::probe::Endpoint;
use crate::questions::input_limit_error;
use crate::services::{Answer, Denied, Probe, Query, ServiceError, Vantage};
use crate::{text, trace};

/// Most questions in flight at once.
const SIDE_BY_SIDE: usize = 64;
/// Most lists among them. Each list may return all objects of a kind.
const LISTS_SIDE_BY_SIDE: usize = 4;
/// The longest a probe waits, whatever it asks for.
const LONGEST_PROBE: Duration = Duration::from_secs(10);
/// Time after the timeout of a probe in which the services can still report the failure in their own words.
const PROBE_GRACE: Duration = Duration::from_secs(1);
/// The resolution of reported durations: anything finer would be a clock.
const STEP_MS: u128 = 10;
/// The most of a body that is returned, in bytes.
const LONGEST_BODY: usize = 256 << 10;

/// Links a component's imports and nothing else.
pub(crate) fn link_imports(linker: &mut Linker<Ctx>, seen: &BinaryDeclarations) -> wasmtime::Result<()> {
    types::add_to_linker::<Ctx, HasSelf<Ctx>>(linker, |ctx| ctx)?;
    context::add_to_linker::<Ctx, HasSelf<Ctx>>(linker, |ctx| ctx)?;
    objects::add_to_linker::<Ctx, HasSelf<Ctx>>(linker, |ctx| ctx)?;
    endpoints::add_to_linker::<Ctx, HasSelf<Ctx>>(linker, |ctx| ctx)?;
    config::add_to_linker::<Ctx, HasSelf<Ctx>>(linker, |ctx| ctx)?;
    log::add_to_linker::<Ctx, HasSelf<Ctx>>(linker, |ctx| ctx)?;
    if seen.inert.is_empty() { Ok(()) } else { wasi::link_wasi(linker) }
}

impl types::Host for Ctx {}

impl context::Host for Ctx {
    fn run(&mut self) -> wasmtime::Result<String> {
        self.meter.count_questions(1)?;
        Ok(self.run.kind.as_str().to_owned())
    }

    fn move_id(&mut self) -> wasmtime::Result<String> {
        self.meter.count_questions(1)?;
        Ok(self.run.move_id.clone())
    }

    fn place(&mut self, side: types::Side) -> wasmtime::Result<String> {
        self.meter.count_questions(1)?;
        let is_cluster = self.run.kubectl.get(side_from(side)).is_some();
        Ok(if is_cluster { "cluster" } else { "directory" }.to_owned())
    }

    fn target_namespace(&mut self, source: String) -> wasmtime::Result<String> {
        self.meter.count_questions(1)?;
        Ok(self.run.namespace_map.in_target(&source).to_owned())
    }

    fn namespaces(&mut self) -> wasmtime::Result<Vec<context::MovingNamespace>> {
        self.meter.count_questions(1)?;
        let namespaces = self.moving.iter().flat_map(|moving| &moving.namespaces).map(|(source, target)| {
            context::MovingNamespace { source: source.clone(), target: target.clone(), extra: Vec::new() }
        });
        Ok(namespaces.collect())
    }

    fn objects(&mut self) -> wasmtime::Result<Vec<types::ObjectKey>> {
        self.meter.count_questions(1)?;
        Ok(self.moving.iter().flat_map(|moving| &moving.objects).map(to_wit_key).collect())
    }

    async fn providers(
        &mut self,
        side: types::Side,
    ) -> wasmtime::Result<Result<Vec<context::Provider>, types::Error>> {
        self.meter.count_questions(1)?;
        let (card, services) = (Arc::clone(&self.card), self.services.clone());
        let asked = trace::describe_questions(&card, &[side], |side| {
            format!("providers of the {}", side_from(*side))
        });
        let answer = match services {
            Some(services) => services.providers(&card.name, side_from(side)).await,
            None => Err(pure_hook_error()),
        };
        let answer = answer.and_then(|all| to_wit_providers(&mut self.meter, all));
        let answer = answer.map_err(|error| to_wit_error(&card, error));
        trace::log_answers(&card, &asked, std::slice::from_ref(&answer), |all| {
            format!("{} providers", all.len())
        });
        Ok(answer)
    }

    fn written_since_commit(&mut self) -> wasmtime::Result<bool> {
        self.meter.count_questions(1)?;
        Ok(self.written_since_commit)
    }
}

/// The fields of providers that any plugin may see.
fn to_wit_providers(meter: &mut Meter, found: Vec<Provider>) -> Result<Vec<context::Provider>, ServiceError> {
    let mut all = Vec::new();
    for Provider { name, kind_of: provider_type, version, namespace, .. } in found {
        if !meter.charge_answer(name.len() + provider_type.len() + version.len() + namespace.len()) {
            return Err(input_limit_error());
        }
        all.push(context::Provider { name, provider_type, version, namespace, extra: Vec::new() });
    }
    Ok(all)
}

/// A key in the contract's types.
fn to_wit_key(key: &Key) -> types::ObjectKey {
    let Key { group_kind: GroupKind { group, kind }, namespace, name } = key.clone();
    types::ObjectKey { kind: types::Kind { group, name: kind }, namespace, name }
}

impl objects::Host for Ctx {
    async fn read(
        &mut self,
        queries: Vec<objects::Query>,
    ) -> wasmtime::Result<Vec<Result<Vec<String>, types::Error>>> {
        self.meter.count_questions(queries.len())?;
        let asked = trace::describe_questions(&self.card, &queries, trace::describe_query);
        let questions = queries.into_iter().map(|said| {
            if self.services.is_some() { permitted_query(&self.card, said) } else { Err(pure_hook_error()) }
        });
        let questions: Vec<_> = questions.collect();
        let lists = Arc::new(Semaphore::new(LISTS_SIDE_BY_SIDE));
        let (card, services) = (Arc::clone(&self.card), self.services.clone());
        let fresh = self.reads.not_yet_asked(&questions, &self.meter);
        let answers = stream::iter(fresh).map(|query| {
            let (card, services, lists) = (Arc::clone(&card), services.clone(), Arc::clone(&lists));
            async move {
                // LimitEnforcement until the list is handed in: answers that wait for their turn use memory, too.
                let turn = if may_list(&query_for_servers(&card, &query)) {
                    lists.acquire_owned().await.ok()
                } else {
                    None
                };
                let answer = match services {
                    Some(services) => {
                        let read = services.read(&card.name, query_for_servers(&card, &query)).await;
                        read.map(|mut objects| {
                            objects.retain(|o| query.name.as_deref().is_none_or(|name| o.meta.name == name));
                            objects
                        })
                    }
                    None => Err(pure_hook_error()),
                };
                (answer, query, turn)
            }
        });
        let mut answers = answers.buffered(SIDE_BY_SIDE);
        while let Some((answer, query, _turn)) = answers.next().await {
            let answer = hand_in_objects(&self.card, &mut self.meter, answer);
            self.reads.store_answer(query, answer);
            if self.meter.is_exceeded() {
                break;
            }
        }
        let mut answer = |question| {
            self.reads.take_answer(&question, &mut self.meter, |texts| texts.iter().map(String::len).sum())
        };
        let answers = questions.into_iter().map(|asked| asked.and_then(&mut answer));
        let answers: Vec<_> =
            answers.map(|answer| answer.map_err(|error| to_wit_error(&card, error))).collect();
        trace::log_answers(&card, &asked, &answers, |texts| trace::describe_objects(texts));
        Ok(answers)
    }
}

impl endpoints::Host for Ctx {
    async fn probe(
        &mut self,
        probes: Vec<endpoints::Endpoint>,
    ) -> wasmtime::Result<Vec<Result<endpoints::Answer, types::Error>>> {
        self.meter.count_questions(probes.len())?;
        let asked = trace::describe_questions(&self.card, &probes, trace::describe_probe);
        let questions = probes.into_iter().map(|said| {
            if self.services.is_some() { permitted_probe(&self.card, said) } else { Err(pure_hook_error()) }
        });
        let questions: Vec<_> = questions.collect();
        let (card, services) = (Arc::clone(&self.card), self.services.clone());
        let fresh = self.probes.not_yet_asked(&questions, &self.meter);
        let answers = stream::iter(fresh).map(|probe| {
            let (card, services) = (Arc::clone(&card), services.clone());
            async move {
                let Some(services) = services else { return (Err(pure_hook_error()), probe) };
                let longest = probe.timeout + PROBE_GRACE;
                let asked = tokio::time::timeout(longest, services.probe(&card.name, probe.clone()));
                let late = Err(ServiceError::new("unreachable", "no answer in time"));
                (asked.await.unwrap_or(late), probe)
            }
        });
        let mut answers = answers.buffered(SIDE_BY_SIDE);
        while let Some((answer, probe)) = answers.next().await {
            let answer = hand_in_answer(&mut self.meter, answer);
            self.probes.store_answer(probe, answer);
            if self.meter.is_exceeded() {
                break;
            }
        }
        let mut answer =
            |question| self.probes.take_answer(&question, &mut self.meter, |answer| answer.body.len());
        let answers = questions.into_iter().map(|asked| asked.and_then(&mut answer));
        let answers: Vec<_> =
            answers.map(|answer| answer.map_err(|error| to_wit_error(&card, error))).collect();
        trace::log_answers(&card, &asked, &answers, trace::describe_reply);
        Ok(answers)
    }
}

impl config::Host for Ctx {
    fn get(&mut self) -> wasmtime::Result<String> {
        self.meter.count_questions(1)?;
        self.card.tally.update_used(|used| used.reads_config = true);
        // Before the plugin is described, it isn't known whose configuration to return.
        let config = self.card.admitted.as_ref().map(|(_, grants)| grants.config.clone());
        Ok(config.unwrap_or_else(|| "{}".to_owned()))
    }
}

impl log::Host for Ctx {
    fn write(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        self.meter.count_questions(1)?;
        let level = match level {
            log::Level::Error => Level::ERROR,
            log::Level::Warn => Level::WARN,
            log::Level::Info => Level::INFO,
            log::Level::Debug => Level::DEBUG,
        };
        self.log(level, &message);
        Ok(())
    }
}

/// The question as servers see it. For a plugin that sees the data of Secrets it contains no name: the plugin could send data out
/// in it, into the servers' logs and ours.
fn query_for_servers(card: &PluginAccess, query: &Query) -> Query {
    let name = query.name.clone().filter(|_| !card.sees_secret_data());
    Query { name, ..query.clone() }
}

/// Counts and converts objects for the component.
fn hand_in_objects(
    card: &PluginAccess,
    meter: &mut Meter,
    answer: Result<Vec<Object>, ServiceError>,
) -> Result<Vec<String>, ServiceError> {
    let secret_data = card.sees_secret_data();
    let mut texts = Vec::new();
    for object in &answer? {
        card.check_version(object)?;
        let text = text::object_for_plugin(object, &card.name, secret_data)
            .map_err(|why| ServiceError::new("unreadable", why))?;
        if !meter.charge_answer(text.len()) {
            return Err(input_limit_error());
        }
        texts.push(text.into_owned());
    }
    Ok(texts)
}

fn hand_in_answer(
    meter: &mut Meter,
    answer: Result<Answer, ServiceError>,
) -> Result<endpoints::Answer, ServiceError> {
    let Answer { status, mut body, took } = answer?;
    body.truncate(body.floor_char_boundary(LONGEST_BODY));
    if !meter.charge_answer(body.len()) {
        return Err(input_limit_error());
    }
    let took_ms = u32::try_from(took.as_millis().div_ceil(STEP_MS) * STEP_MS).unwrap_or(u32::MAX);
    Ok(endpoints::Answer { status: (status > 0).then_some(status), body, took_ms, extra: Vec::new() })
}

fn to_wit_error(card: &PluginAccess, error: ServiceError) -> types::Error {
    if error.code == "denied" {
        card.tally.add_denied(if card.sees_secret_data() { text::WITHHELD } else { &error.message });
    }
    types::Error { code: error.code, message: error.message }
}

/// Fails if a question carries an extension, which only a later contract has: without it, the answer would be to another question.
fn refuse_extra(extra: &[(String, String)]) -> Result<(), ServiceError> {
    let Some((name, _)) = extra.first() else { return Ok(()) };
    let why = format!("this host doesn't know `{}`", text::to_line(name, 64));
    Err(ServiceError::new("unsupported", why))
}

fn pure_hook_error() -> ServiceError {
    ServiceError::new("denied", "this hook is pure: it can't ask questions")
}

/// A question for objects, if it was declared and granted.
fn permitted_query(card: &PluginAccess, said: objects::Query) -> Result<Query, ServiceError> {
    let objects::Query { side, kind, scope, name, extra } = said;
    refuse_extra(&extra)?;
    let (side, namespace) = (side_from(side), describe::namespace_of_scope(scope));
    let kind = GroupKind::new(kind.group, kind.name);
    let words = [Some(kind.kind.as_str()), namespace.as_deref().filter(|n| *n != "*"), name.as_deref()];
    if let Some(bad) = words.into_iter().flatten().find(|word| !text::is_object_name(word)) {
        return Err(ServiceError::new("invalid", format!("`{}` is no name", text::to_line(bad, 64))));
    }
    let Some((declared, grants)) = &card.admitted else { return Err(pure_hook_error()) };
    let extent = |reads: &[Read]| permissions::permitted_extent(reads, side, &kind, namespace.as_deref());
    // A wide declaration may be granted narrower, so both must allow it.
    let (declared, granted) = match (extent(&declared.reads), extent(&grants.reads)) {
        (Some(declared), Some(granted)) => (declared, granted),
        (declared, _) => {
            let place = namespace.map(|n| format!(" in namespace {n}")).unwrap_or_default();
            let missing = missing_step(declared.is_some());
            return Err(Denied(format!("reading {kind} of the {side}{place} was not {missing}")).into());
        }
    };
    // For a plugin that sees the data of Secrets, `*` covers only the namespaces that move, whose names it is given, and those
    // that the operator wrote: in any other name it could send data to a server.
    let reads = grants.reads.iter().filter(|read| read.side == side && read.kind.covers(&kind));
    let mut written = reads.filter_map(|read| read.namespace.as_ref());
    let own = card.sees_secret_data()
        && namespace.as_ref().is_some_and(|asked| !written.any(|namespace| namespace == asked));
    let confined = own || declared.min(granted) == Extent::Moving;
    Ok(Query { side, kind, namespace, name, confined })
}

/// The step without which a question is denied: the plugin declares it, or the operator grants it.
fn missing_step(is_declared: bool) -> &'static str {
    if is_declared { "granted" } else { "declared" }
}

/// Returns true if answering may take a list. A single object is requested by name and namespace.
fn may_list(query: &Query) -> bool {
    query.name.is_none() || query.namespace.as_deref().is_none_or(|namespace| namespace == "*")
}

/// A probe, if its endpoint was declared and granted.
fn permitted_probe(card: &PluginAccess, said: endpoints::Endpoint) -> Result<Probe, ServiceError> {
    let endpoints::Endpoint { target, timeout_ms, extra } = said;
    refuse_extra(&extra)?;
    let (http, vantage, address) = match target {
        endpoints::Target::Tcp(address) => (false, Vantage::Here, address),
        endpoints::Target::HttpGet(url) => (true, Vantage::Here, url),
        endpoints::Target::Service(service) => {
            let endpoints::Service { side, namespace, name, port, path } = service;
            let address = format!("{namespace}/{name}:{port}/{}", path.trim_start_matches('/'));
            (true, Vantage::Side(side_from(side)), address)
        }
    };
    let endpoint =
        Endpoint::parse(http, vantage, &address).map_err(|why| ServiceError::new("invalid", why))?;
    let Some((declared, grants)) = &card.admitted else { return Err(pure_hook_error()) };
    let among = |patterns: &[Pattern]| patterns.iter().any(|p| p.matches(&endpoint.host, endpoint.port));
    let is_declared = among(&declared.probes);
    if !is_declared || !among(&grants.probes) {
        let missing = missing_step(is_declared);
        let what = format!("probing {}:{} was not {missing}", endpoint.host, endpoint.port);
        return Err(Denied(what).into());
    }
    let named: Vec<Network> = grants.probes.iter().filter_map(|p| p.network_at(endpoint.port)).collect();
    let timeout = Duration::from_millis(timeout_ms.into()).min(LONGEST_PROBE).min(card.limits().time);
    Ok(Probe { http, vantage, address, timeout, named })
}

#[cfg(test)]
mod tests {
    use pivot_vetting::permissions::{Declaration, OperatorFile};

    use super::*;
    use crate::error::PluginIdentity;

    /// A plugin that declares to read all ConfigMaps of the target.
    fn card(secret_data: bool, grants: &str) -> PluginAccess {
        let kind = GroupKind::new("", "ConfigMap");
        let declaration = Declaration {
            name: "p".into(),
            version: "1.0.0".into(),
            summary: "S.".into(),
            kinds: vec![],
            versions: vec![],
            reach: vec![],
            changes: vec![],
            reads: vec![Read { kind, side: pivot_core::Side::Target, namespace: Some("*".into()) }],
            probes: vec![],
            secret_data: true,
            codes: vec![],
            extra: vec![],
        };
        let text = format!("[plugins.p]\nsecret-data = {secret_data}\n{grants}");
        let file = OperatorFile::parse(&text).unwrap();
        let admitted = Some((declaration, file.plugins["p"].clone()));
        PluginAccess { admitted, ..PluginAccess::undescribed(PluginIdentity::default()) }
    }

    // proves: T6
    #[test]
    fn secret_data_cannot_leave_in_a_namespace() {
        let all = "{ side = 'target', kind = '*', namespace = '*' }";
        let named = "{ side = 'target', kind = 'ConfigMap', namespace = 'ironic' }";
        let others = "{ side = 'source', kind = 'ConfigMap', namespace = '68756e74657232' }, \
                      { side = 'target', kind = 'Secret', namespace = '68756e74657232' }";
        let grants = format!("reads = [{all}, {named}, {others}]");
        for (secret_data, namespace, confined) in [
            (true, Some("68756e74657232"), true),
            (true, Some("ironic"), false),
            (true, Some("*"), false),
            (true, None, false),
            (false, Some("68756e74657232"), false),
        ] {
            let kind = types::Kind { group: String::new(), name: "ConfigMap".into() };
            let scope = match namespace {
                None => types::Scope::Moving,
                Some("*") => types::Scope::All,
                Some(one) => types::Scope::One(one.to_owned()),
            };
            let namespace = namespace.map(str::to_owned);
            let side = types::Side::Target;
            let said = objects::Query { side, kind, scope, name: None, extra: vec![] };
            let query = permitted_query(&card(secret_data, &grants), said).unwrap();
            assert_eq!((&query.namespace, query.confined), (&namespace, confined), "{secret_data}");
        }
    }

    #[test]
    fn unknown_extensions_of_questions_are_refused() {
        let kind = types::Kind { group: String::new(), name: "ConfigMap".into() };
        let extra = vec![("label-selector".to_owned(), "a=b".to_owned())];
        let (side, scope) = (types::Side::Target, types::Scope::All);
        let said = objects::Query { side, kind, scope, name: None, extra: extra.clone() };
        let refused = permitted_query(&card(false, ""), said).unwrap_err();
        assert_eq!(refused.to_string(), "unsupported: this host doesn't know `label-selector`");
        let target = endpoints::Target::Tcp("10.0.0.1:80".into());
        let said = endpoints::Endpoint { target, timeout_ms: 1, extra };
        assert_eq!(permitted_probe(&card(false, ""), said).unwrap_err().code, "unsupported");
    }

    // proves: T6
    #[test]
    fn secret_data_cannot_leave_in_a_name() {
        let name = || Some("68756e74657232".to_owned());
        let kind = GroupKind::new("", "ConfigMap");
        let query = Query {
            side: pivot_core::Side::Target,
            kind,
            namespace: Some("ns".into()),
            name: name(),
            confined: true,
        };
        for (granted, seen) in [(true, None), (false, name())] {
            let asked = query_for_servers(&card(granted, ""), &query);
            assert_eq!((asked.name.clone(), may_list(&asked)), (seen.clone(), seen.is_none()));
            let logged = trace::loggable_words(&card(granted, ""), || "68756e74657232".to_owned());
            assert_eq!(logged == "68756e74657232", !granted);
        }
    }
}
