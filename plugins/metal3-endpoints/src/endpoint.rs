//! Queries Ironic as the operator does: its API version, and its drivers, which only a live conductor lists.

use pivot_sdk::prelude::*;
use serde_json::Value;

use crate::Metal3Endpoints;
use crate::config::Vantage;

/// Returns the endpoint with the version that the operator speaks, and a trailing slash.
pub(crate) fn normalize_url(endpoint: &str) -> String {
    let bare = endpoint.trim_end_matches('/');
    if bare.ends_with("/v1") { format!("{bare}/") } else { format!("{bare}/v1/") }
}

/// Returns the probe of a URL, from the configured vantage.
pub(crate) fn build_probe(config: &Metal3Endpoints, url: &str) -> Option<Probe> {
    if config.vantage != Vantage::Target {
        return Some(Probe::get(url));
    }
    let (namespace, service) = config.service.as_deref()?.split_once('/')?;
    let (scheme, rest) = url.split_once("://")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let default = if scheme == "https" { 443 } else { 80 };
    let port = match authority.rsplit_once(':') {
        Some((_, port)) if !port.ends_with(']') => port.parse().ok()?,
        _ => default,
    };
    Some(Probe::service(Side::Target, namespace, service, port, path))
}

/// Returns the host of a URL: a name or an address.
pub(crate) fn url_host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    }
}

/// Returns the finding for an answer from the endpoint itself.
pub(crate) fn check_version(config: &Metal3Endpoints, url: &str, answer: &Result<Answer>) -> Option<Finding> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return Some(missing_answer_finding("endpoint-silent", "Ironic", url, error)),
    };
    match answer.status {
        401 | 403 => Some(Finding::note(
            "endpoint-locked",
            format!("{url} wants credentials: it is up, but whether it serves is not known"),
        )),
        _ if !answer.is_success() => Some(error_status_finding("endpoint-unwell", url, answer)),
        _ => match parse_microversion(&answer.body) {
            None => Some(
                Finding::wait("not-ironic", format!("{url} answers, but not as Ironic does"))
                    .with_remedy("is IRONIC_ENDPOINT right? it ends in /v1/"),
            ),
            Some((major, minor)) if major != 1 || minor < config.min_microversion => Some(
                Finding::stop(
                    "ironic-too-old",
                    format!(
                        "{url} speaks API version {major}.{minor}; the operator wants 1.{} or newer",
                        config.min_microversion
                    ),
                )
                .with_remedy("upgrade Ironic in the target"),
            ),
            Some(_) => None,
        },
    }
}

/// Returns the finding for an answer to the list of drivers. A missing answer adds nothing to the endpoint's own finding.
pub(crate) fn check_drivers(url: &str, answer: &Result<Answer>) -> Option<Finding> {
    let Ok(answer) = answer else { return None };
    let listed = || {
        let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        body.get("drivers").and_then(Value::as_array).map_or(0, Vec::len)
    };
    match answer.status {
        401 | 403 => Some(Finding::note(
            "drivers-locked",
            format!(
                "{url} wants credentials, which plugins do not have: the API is up, whether a conductor runs is not known"
            ),
        )),
        _ if !answer.is_success() => Some(error_status_finding("drivers-unwell", url, answer)),
        _ if listed() == 0 => Some(
            Finding::wait("no-drivers", format!("{url} lists no drivers: no conductor is running yet"))
                .with_remedy("the logs of the target's Ironic say why; it takes a minute after a start"),
        ),
        _ => None,
    }
}

/// Returns the newest API version, from the document of one version or the list of them.
fn parse_microversion(body: &str) -> Option<(u32, u32)> {
    let body: Value = serde_json::from_str(body).ok()?;
    let text =
        ["/version/version", "/default_version/version"].iter().find_map(|at| body.pointer(at)?.as_str())?;
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns the finding for an endpoint that did not answer.
pub(crate) fn missing_answer_finding(code: &'static str, what: &str, url: &str, error: &Error) -> Finding {
    if error.is_denied() {
        return Finding::stop("probe-not-granted", format!("{url} must not be probed"))
            .with_remedy("grant its host and port to metal3-endpoints (probes in plugins.toml), or do without: vantage = \"nowhere\"");
    }
    Finding::wait(code, format!("{what} does not answer at {url}: {}", error.message)).with_remedy(
        "start it in the target; if it runs and can't be reached from here: vantage = \"target\" with a service, or \"nowhere\"",
    )
}

fn error_status_finding(code: &'static str, url: &str, answer: &Answer) -> Finding {
    Finding::wait(code, format!("{url} answers with status {}", answer.status))
        .with_remedy("the logs of the target's Ironic say why")
}
