//! Matches probes with declared `host:port` patterns, as the host does.

use std::net::IpAddr;

use crate::endpoints::{Probe, Service, Target};

/// Returns true if a text is a valid pattern.
pub(super) fn is_valid_pattern(pattern: &str) -> bool {
    let Some((host, port)) = pattern.rsplit_once(':') else { return false };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    !host.is_empty() && !host.contains("://") && (port == "*" || port.parse::<u16>().is_ok())
}

/// Returns true if a pattern allows a probe.
pub(super) fn matches_probe(pattern: &str, probe: &Probe) -> bool {
    let Some((host, port)) = host_and_port(probe) else { return false };
    let Some((wanted, wanted_port)) = pattern.rsplit_once(':') else { return false };
    if wanted_port != "*" && wanted_port.parse() != Ok(port) {
        return false;
    }
    let wanted = wanted.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    if let Some((namespace, service)) = host.split_once('/') {
        return wanted
            .split_once('/')
            .is_some_and(|(ns, svc)| (ns == "*" || ns == namespace) && (svc == "*" || svc == service));
    }
    match (wanted.as_str(), wanted.strip_prefix('*')) {
        ("*", _) => true,
        (_, Some(suffix)) if suffix.starts_with('.') => host.ends_with(suffix) && host.len() > suffix.len(),
        _ => wanted == host || is_in_network(&host, &wanted),
    }
}

/// Returns the host and port of a probe.
fn host_and_port(probe: &Probe) -> Option<(String, u16)> {
    let (address, default) = match &probe.target {
        Target::Service(Service { namespace, name, port, .. }) => {
            return Some((format!("{namespace}/{name}"), *port));
        }
        Target::HttpGet(url) => {
            let (scheme, rest) = url.split_once("://")?;
            let authority = rest.split(['/', '?', '#']).next()?;
            (authority.to_owned(), Some(if scheme == "https" { 443 } else { 80 }))
        }
        Target::Tcp(address) => (address.clone(), None),
    };
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host.to_owned(), port.parse().ok()?),
        _ => (address, default?),
    };
    Some((host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase(), port))
}

fn is_in_network(host: &str, network: &str) -> bool {
    let Some((net, bits)) = network.split_once('/') else { return false };
    let bits: u32 = bits.parse().unwrap_or(u32::MAX);
    match (host.parse(), net.parse()) {
        (Ok(IpAddr::V4(host)), Ok(IpAddr::V4(net))) if bits <= 32 => {
            let shift = 32 - bits;
            host.to_bits().checked_shr(shift).unwrap_or(0) == net.to_bits().checked_shr(shift).unwrap_or(0)
        }
        (Ok(IpAddr::V6(host)), Ok(IpAddr::V6(net))) if bits <= 128 => {
            let shift = 128 - bits;
            host.to_bits().checked_shr(shift).unwrap_or(0) == net.to_bits().checked_shr(shift).unwrap_or(0)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Side;

    #[test]
    fn patterns_match_probes_as_in_the_host() {
        let api = Probe::get("https://172.22.0.2:6385/v1/");
        for pattern in ["172.22.0.2:6385", "*:6385", "172.22.0.0/24:6385", "172.22.0.2:*", "*:*"] {
            assert!(matches_probe(pattern, &api), "{pattern}");
        }
        for pattern in ["172.22.0.2:80", "10.0.0.0/8:6385", "*.2:80", "a/b:6385", "172.22.0.2"] {
            assert!(!matches_probe(pattern, &api), "{pattern}");
        }
        assert!(matches_probe("*.example.com:443", &Probe::get("https://a.example.com/x")));
        assert!(!matches_probe("*.example.com:443", &Probe::get("https://example.com/x")));
        assert!(matches_probe("[fd00::/8]:53", &Probe::tcp("[fd00::1]:53")));
        let service = Probe::service(Side::Target, "capi-system", "webhook", 443, "healthz");
        assert!(matches_probe("capi-system/webhook:443", &service) && matches_probe("*/webhook:*", &service));
        assert!(!matches_probe("*:443", &service));
    }
}
