//! Reads a side: ConfigMaps, Deployments, and the Ironic objects of ironic-standalone-operator.
//!
//! Names differ from installation to installation (prefixes, hashes); the settings don't. So every object with one of the
//! settings counts, unless the configuration names the ConfigMaps.

use pivot_sdk::objects::{self, Query};
use pivot_sdk::prelude::*;
use serde_json::Value;

use crate::Metal3Endpoints;
use crate::operator::{Operator, WATCH_NAMESPACE};
use crate::setup::{Ironic, KEYS, Setup};
use crate::state::State;

/// The kind that makes a move concern Metal3.
pub(crate) const HOST: Kind = Kind::new("metal3.io", "BareMetalHost");
pub(crate) const CONFIG_MAP: Kind = Kind::core("ConfigMap");
pub(crate) const DEPLOYMENT: Kind = Kind::new("apps", "Deployment");
pub(crate) const IRONIC: Kind = Kind::new("ironic.metal3.io", "Ironic");

/// Containers that run Ironic itself.
const CONTAINERS: [&str; 3] = ["ironic", "ironic-api", "ironic-conductor"];

/// Reads both sides, source first.
pub(crate) fn read_both_sides(config: &Metal3Endpoints) -> Result<(Setup, Setup)> {
    Ok((read_side(config, Side::Source)?, read_side(config, Side::Target)?))
}

fn read_side(config: &Metal3Endpoints, side: Side) -> Result<Setup> {
    // The Ironic object comes first: if there is one, the operator reads nothing else.
    let kinds = [IRONIC, CONFIG_MAP, DEPLOYMENT];
    let queries: Vec<Query> = kinds
        .iter()
        .flat_map(|kind| {
            config.namespaces.iter().map(move |namespace| Query::for_kind(side, kind).in_namespace(namespace))
        })
        .collect();
    let mut setup = Setup::default();
    for (query, answer) in queries.iter().zip(objects::read_all(&queries)) {
        let found = match answer {
            Ok(found) => found,
            // The namespace or the kind doesn't exist.
            Err(error) if error.is_not_found() => continue,
            Err(error) => {
                return Err(error.with_context(format!("reading {} of the {}", query.kind, side.as_str())));
            }
        };
        for object in found {
            match () {
                () if query.kind == IRONIC => add_ironic_object(&mut setup, &object),
                () if query.kind == CONFIG_MAP => add_config_map(&mut setup, &object, config),
                () => add_deployment(&mut setup, &object),
            }
        }
    }
    Ok(setup)
}

fn add_config_map(setup: &mut Setup, map: &Object, config: &Metal3Endpoints) {
    if let Some(namespaces) = map.text(&format!("/data/{WATCH_NAMESPACE}")) {
        setup.limits.insert(map.key(), namespaces.to_owned());
    }
    if !config.config_maps.is_empty() && !config.config_maps.iter().any(|name| name == map.name()) {
        return;
    }
    for key in KEYS {
        setup.add_setting(key, map.text(&format!("/data/{key}")).unwrap_or_default(), &map.key());
    }
}

fn add_deployment(setup: &mut Setup, deployment: &Object) {
    let key = deployment.key();
    let name =
        |container: &Value| container.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let containers: Vec<&Value> = deployment.items("/spec/template/spec/containers").collect();
    if containers.iter().any(|container| CONTAINERS.contains(&&*name(container))) {
        setup.keepalived |= containers.iter().any(|container| name(container).contains("keepalived"));
        setup.ironics.push(Ironic { key: key.clone(), state: State::from_deployment(deployment) });
    }
    setup.operators.extend(Operator::from_deployment(deployment, &setup.limits));
    for container in containers {
        for variable in container.get("env").and_then(Value::as_array).into_iter().flatten() {
            let text = |field: &str| variable.get(field).and_then(Value::as_str);
            let known = KEYS.into_iter().find(|key| text("name") == Some(key));
            if let (Some(known), Some(value)) = (known, text("value")) {
                setup.add_setting(known, value, &key);
            }
        }
    }
}

fn add_ironic_object(setup: &mut Setup, ironic: &Object) {
    let key = ironic.key();
    let state = if ironic.has_condition("Ready") { State::Up } else { State::Starting };
    setup.ironics.push(Ironic { key: key.clone(), state });
    setup.keepalived |= ironic.text("/spec/networking/ipAddressManager") == Some("keepalived");
    let text = |field: &str| ironic.text(&format!("/spec/networking/{field}")).unwrap_or_default();
    setup.add_setting("PROVISIONING_IP", text("ipAddress"), &key);
    setup.add_setting("PROVISIONING_INTERFACE", text("interface"), &key);
    if let Some(address) = ironic.text("/spec/networking/ipAddress") {
        let scheme = if ironic.text("/spec/tls/certificateName").is_some() { "https" } else { "http" };
        let port = ironic.get("/spec/networking/apiPort").and_then(Value::as_u64).unwrap_or(6385);
        let address = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
        setup.add_setting("IRONIC_ENDPOINT", &format!("{scheme}://{address}:{port}/v1/"), &key);
    }
}
