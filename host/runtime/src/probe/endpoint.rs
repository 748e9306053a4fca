//! Parses a probe's address.

use http::Uri;
use pivot_vetting::permissions::valid_names::is_label;

use crate::services::Vantage;

/// The target of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// A name or an address; `namespace/service` through a service proxy.
    pub host: String,
    /// The port.
    pub port: u16,
    /// True for TLS.
    pub tls: bool,
    /// Path and query; `/` by default.
    pub path: String,
}

impl Endpoint {
    /// Parses an address as the contract defines it: `host:port` for TCP, a URL for HTTP, `namespace/service:port/path` through
    /// a service proxy. The error describes the fault.
    pub fn parse(http: bool, vantage: Vantage, address: &str) -> Result<Self, String> {
        if address.len() > 2_000 || address.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err("its address is too long, or has spaces".into());
        }
        match (vantage, http) {
            (Vantage::Side(_), true) => parse_service(address),
            (Vantage::Side(_), false) => {
                Err("a service proxy speaks HTTP; only http-get goes through it".into())
            }
            (Vantage::Here, true) => parse_url(address),
            (Vantage::Here, false) => {
                let (host, port) =
                    split_host_port(address).ok_or_else(|| format!("`{address}` is no host:port"))?;
                Ok(Self { host, port, tls: false, path: String::new() })
            }
        }
    }
}

fn split_host_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let fine = match bare {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => is_host(host),
    };
    fine.then(|| Some((bare.unwrap_or(host).to_ascii_lowercase(), port.parse().ok()?))).flatten()
}

fn is_host(host: &str) -> bool {
    !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
}

fn parse_url(text: &str) -> Result<Endpoint, String> {
    let wrong = || format!("`{text}` is no http or https URL");
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let tls = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return Err(wrong()),
    };
    let authority = uri.authority().ok_or_else(wrong)?.as_str();
    if authority.contains('@') {
        return Err("its URL carries a user; probes have no credentials".into());
    }
    let with_port = match uri.port() {
        Some(_) => authority.to_owned(),
        None => format!("{authority}:{}", if tls { 443 } else { 80 }),
    };
    let (host, port) = split_host_port(&with_port).ok_or_else(wrong)?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    Ok(Endpoint { host, port, tls, path })
}

fn parse_service(text: &str) -> Result<Endpoint, String> {
    let wrong = || format!("`{text}` is no namespace/service:port/path");
    let (namespace, rest) = text.split_once('/').ok_or_else(wrong)?;
    let (service, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (service, port) = split_host_port(service).ok_or_else(wrong)?;
    // What a proxy would resolve as `..`, out of the service.
    let steps = path
        .split(['/', '?'])
        .any(|step| matches!(step, ".." | ".") || step.contains('%') || step.contains('\\'));
    if !is_label(namespace) || !is_label(&service) || steps {
        return Err(wrong());
    }
    Ok(Endpoint { host: format!("{namespace}/{service}"), port, tls: false, path: format!("/{path}") })
}

#[cfg(test)]
mod tests {
    use pivot_core::Side;

    use super::*;

    #[test]
    fn addresses_are_parsed_as_the_contract_says() {
        let read = |http, vantage, text| {
            Endpoint::parse(http, vantage, text)
                .map(|e| format!("{} {} {} {}", e.host, e.port, e.tls, e.path))
        };
        let side = Vantage::Side(Side::Target);
        for (http, vantage, text, means) in [
            (false, Vantage::Here, "Ironic.example.com:6385", "ironic.example.com 6385 false "),
            (false, Vantage::Here, "[fd00::1]:6385", "fd00::1 6385 false "),
            (true, Vantage::Here, "http://10.0.0.1:6385/v1?a=b", "10.0.0.1 6385 false /v1?a=b"),
            (true, Vantage::Here, "https://[fd00::1]/", "fd00::1 443 true /"),
            (true, Vantage::Here, "http://host", "host 80 false /"),
            (true, side, "metal3/ironic:6385/v1", "metal3/ironic 6385 false /v1"),
        ] {
            assert_eq!(read(http, vantage, text).as_deref(), Ok(means));
        }
        for (http, vantage, text) in [
            (false, Vantage::Here, "host"),
            (false, Vantage::Here, "host:99999"),
            (false, Vantage::Here, "a/b:80"),
            (true, Vantage::Here, "ftp://host/"),
            (true, Vantage::Here, "http://user:word@host/"),
            (true, Vantage::Here, "http://host/\r\nX: y"),
            (true, side, "../ironic:6385/v1"),
            (true, side, "./ironic:6385/v1"),
            (true, side, "metal3/..:6385/v1"),
            (true, side, "metal3/.:6385/v1"),
            (true, side, "metal3/a.b:6385/v1"),
            (true, side, "metal_3/ironic:6385/v1"),
            (true, side, "-metal3/ironic:6385/v1"),
            (true, side, "metal3-/ironic:6385/v1"),
            (true, side, "Metal3/ironic:6385/v1"),
            (true, side, "metal3/[fd00::1]:6385/v1"),
            (true, side, "metal3/iron\u{3164}ic:6385/v1"),
            (true, side, "metal3/ironic:6385/../../secrets"),
            (true, side, "metal3/ironic:6385/%2e%2e/x"),
            (false, side, "metal3/ironic:6385"),
        ] {
            assert!(read(http, vantage, text).is_err(), "{text}");
        }
    }
}
