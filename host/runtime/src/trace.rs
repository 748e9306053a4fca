//! Calls, questions and answers in the debug log. Words of a plugin that sees the data of Secrets are withheld.

use std::fmt::Debug;

use pivot_core::plugins::hooks::Hook;
use tracing::Level;

use crate::context::{CalledFunction, PluginAccess};
use crate::contract::pivot::provider::{endpoints, objects, types};
use crate::describe::{namespace_of_scope, side_from};
use crate::text::{WITHHELD, to_line};

/// The longest question or answer that is logged, in bytes.
const MAX_WORDS: usize = 300;

/// Returns the words for an answer. Hooks that change objects answer with values of fields, some of which are confidential: only the
/// form of their answers is logged.
pub(crate) fn describe_answer(card: &PluginAccess, called: CalledFunction, answer: &impl Debug) -> String {
    let mut words = format!("{answer:?}");
    if let CalledFunction::Hook(Hook::Hold | Hook::Adapt | Hook::Restore | Hook::Settle) = called {
        let end = words.find(|letter: char| !letter.is_alphanumeric());
        words.truncate(end.unwrap_or(words.len()));
    }
    loggable_words(card, || words)
}

/// Returns words that a plugin could have chosen, if they can't have the data of Secrets.
pub(crate) fn loggable_words(card: &PluginAccess, words: impl FnOnce() -> String) -> String {
    if card.sees_secret_data() { WITHHELD.to_owned() } else { to_line(&words(), MAX_WORDS) }
}

/// Returns the words for each question, or none if no log has them.
pub(crate) fn describe_questions<Q>(
    card: &PluginAccess,
    questions: &[Q],
    describe: fn(&Q) -> String,
) -> Vec<String> {
    let is_logged = tracing::enabled!(Level::DEBUG);
    let logged = questions.iter().filter(|_| is_logged);
    logged.map(|question| loggable_words(card, || describe(question))).collect()
}

/// Logs the answer to each question.
pub(crate) fn log_answers<A>(
    card: &PluginAccess,
    questions: &[String],
    answers: &[Result<A, types::Error>],
    describe: fn(&A) -> String,
) {
    for (question, answer) in questions.iter().zip(answers) {
        let reply = match answer {
            Ok(answer) => describe(answer),
            Err(error) => format!("{}: {}", error.code, loggable_words(card, || error.message.clone())),
        };
        tracing::debug!(question, reply, "asked");
    }
}

pub(crate) fn describe_query(query: &objects::Query) -> String {
    let objects::Query { side, kind, scope, name, extra: _ } = query;
    let group = if kind.group.is_empty() { String::new() } else { format!(".{}", kind.group) };
    let place = match namespace_of_scope(scope.clone()).as_deref() {
        None => " in moving namespaces".to_owned(),
        Some("*") => " in all namespaces".to_owned(),
        Some(one) => format!(" in namespace {one}"),
    };
    let name = name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    format!("read {}{group}{name} of the {}{place}", kind.name, side_from(*side))
}

pub(crate) fn describe_objects(texts: &[String]) -> String {
    match texts.len() {
        0 => "not found".to_owned(),
        1 => "1 object".to_owned(),
        many => format!("{many} objects"),
    }
}

pub(crate) fn describe_probe(probe: &endpoints::Endpoint) -> String {
    match &probe.target {
        endpoints::Target::Tcp(address) => format!("probe {address}"),
        endpoints::Target::HttpGet(url) => format!("get {url}"),
        endpoints::Target::Service(service) => {
            let endpoints::Service { side, namespace, name, port, path } = service;
            format!("get {namespace}/{name}:{port}/{path} through the {}", side_from(*side))
        }
    }
}

pub(crate) fn describe_reply(answer: &endpoints::Answer) -> String {
    let status = answer.status.map(|status| format!("status {status}, ")).unwrap_or_default();
    format!("{status}{} bytes after {} ms", answer.body.len(), answer.took_ms)
}
