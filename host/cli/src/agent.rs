//! Runs an agent, or prints what to install for one.

use std::sync::{Arc, Mutex, PoisonError};

use pivot_controller::{AgentInstallation, agent_manifests};
use pivot_engine::{Exit, Halter};
use pivot_link::{Agent, DialError, Guard, Papers};
use pivot_places::{ConnectOptions, KubePlace};
use serde_json::json;

use crate::args::{AgentVerb, Answering, Called};
use crate::exit;
use crate::output::{self, Output};
use crate::signals::{self, Interrupted};

/// Runs it, and returns the exit code.
pub(crate) async fn run(typed: &Answering, output: &Arc<Output>) -> u8 {
    if let Some(AgentVerb::Manifests { image, namespace, secret, called }) = &typed.verb {
        let installation = AgentInstallation {
            image: image.clone(),
            namespace: namespace.clone(),
            secret: secret.clone(),
            arguments: arguments(called),
        };
        let objects = agent_manifests(&installation);
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        output.result(|| output::manifests(&objects), &list);
        return exit::DONE;
    }
    match answering(typed, output).await {
        Ok(code) => code,
        Err((code, why)) => {
            output.fail(why);
            exit::code(code)
        }
    }
}

async fn answering(typed: &Answering, output: &Arc<Output>) -> Result<u8, (Exit, String)> {
    let refused = |why: String| (Exit::Refused, why);
    let called = &typed.called;
    // Both are required where nothing is printed.
    let (address, tls) = (called.call.clone().unwrap_or_default(), typed.tls.clone().unwrap_or_default());
    let options = ConnectOptions {
        kubeconfig: typed.kubeconfig.clone(),
        context: typed.kubeconfig_context.clone(),
        ..ConnectOptions::default()
    };
    let place = KubePlace::connect(options).await.map_err(|error| refused(error.to_string()))?;
    let guard = Guard {
        namespaces: (!called.allow_all_namespaces).then(|| called.allow_namespace.iter().cloned().collect()),
        record_namespace: typed.record_namespace.clone(),
        keep_answering: called.keep_answering,
    };
    let agent = Agent::new(address.clone(), Papers::of(tls), Arc::new(place), guard);
    let agent = agent.map_err(|error| refused(error.to_string()))?;
    let interrupted = signals::listen(Halter::default(), output.clone(), false)
        .map_err(|error| (Exit::Unexpected, format!("can't listen for signals: {error}")))?;
    // The same reason again and again is said once.
    let last = Mutex::new(None);
    let tell = |link: Result<(), &DialError>| {
        let why = link.err().map(ToString::to_string);
        let before = last.lock().unwrap_or_else(PoisonError::into_inner).replace(why.clone());
        match why {
            None => output.say(format!("linked to {address}")),
            Some(why) if before != Some(Some(why.clone())) => {
                output.warn(format!("no link: {why}; it is tried again"))
            }
            Some(_) => {}
        }
    };
    tokio::select! {
        never = agent.keep(tell) => match never {},
        interrupted = interrupted => Ok(match interrupted {
            // It was asked to stop, and has.
            Ok(Interrupted::Reading(_)) => exit::DONE,
            Ok(Interrupted::Forced) | Err(_) => exit::code(Exit::Unexpected),
        }),
    }
}

/// The flags of an agent that is installed.
fn arguments(called: &Called) -> Vec<String> {
    let pair = |flag: &str, value: &String| [flag.to_owned(), value.clone()];
    let all = called.allow_all_namespaces.then(|| "--allow-all-namespaces".to_owned());
    let keep = called.keep_answering.then(|| "--keep-answering".to_owned());
    called
        .call
        .iter()
        .flat_map(|address| pair("--call", address))
        .chain(called.allow_namespace.iter().flat_map(|namespace| pair("--allow-namespace", namespace)))
        .chain(all)
        .chain(keep)
        .collect()
}
