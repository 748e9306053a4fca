//! Chooses the proxy through which a server is reached.
//!
//! The rules are kubectl's: a kubeconfig's own proxy, otherwise the environment's, except for servers on this machine and those that
//! `NO_PROXY` exempts. kube's own choice isn't used: it compares `NO_PROXY` with the address of the proxy, and fails if an element of
//! it is empty.

use std::net::IpAddr;

use http::Uri;
use http::uri::{InvalidUri, Scheme};
use hyper_util::client::proxy::matcher::Matcher;

/// Chooses the proxy for a server. `own` is the kubeconfig's, and `variable` reads the environment.
pub fn choose_proxy(
    server: &Uri,
    own: Option<&str>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Uri>, InvalidUri> {
    if let Some(own) = own.filter(|own| !own.is_empty()) {
        return own.parse().map(Some);
    }
    let first =
        |names: [&str; 2]| names.into_iter().find_map(|name| variable(name).filter(|text| !text.is_empty()));
    let proxy = match server.scheme() == Some(&Scheme::HTTP) {
        true => first(["HTTP_PROXY", "http_proxy"]),
        false => first(["HTTPS_PROXY", "https_proxy"]),
    };
    let no_proxy = first(["NO_PROXY", "no_proxy"]).unwrap_or_default();
    match proxy.filter(|_| !is_local(server) && !is_exempt(server, &no_proxy)) {
        Some(proxy) if proxy.contains("://") => proxy.parse().map(Some),
        Some(proxy) => format!("http://{proxy}").parse().map(Some),
        None => Ok(None),
    }
}

fn is_local(server: &Uri) -> bool {
    let host = server.host().map(trim_brackets).unwrap_or_default();
    host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// Returns true if an element of `NO_PROXY` matches a server: `*`, a domain, an address, or a network in CIDR notation. Elements
/// are separated by commas or blanks, and may have a port.
fn is_exempt(server: &Uri, no_proxy: &str) -> bool {
    let usual = if server.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 };
    let port = server.port_u16().unwrap_or(usual);
    let mut hosts = Vec::new();
    for element in no_proxy.split(|c: char| c == ',' || c.is_whitespace()) {
        match split_port(element) {
            (_, Some(other)) if other != port => {}
            ("*", _) => return true,
            (host, _) => hosts.push(host.strip_prefix('*').unwrap_or(host)),
        }
    }
    let others = Matcher::builder().all("http://proxy.invalid").no(hosts.join(",")).build();
    others.intercept(server).is_none()
}

/// Splits an element into a host without brackets and a port. An IPv6 address without brackets has no port.
fn split_port(element: &str) -> (&str, Option<u16>) {
    match element.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => match port.parse() {
            Ok(port) => (trim_brackets(host), Some(port)),
            Err(_) => (element, None),
        },
        _ => (trim_brackets(element), None),
    }
}

fn trim_brackets(host: &str) -> &str {
    host.trim_matches(['[', ']'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: &str = "http://10.0.0.9:3128";

    fn chosen(server: &str, own: Option<&str>, environment: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            environment.iter().find(|(there, _)| *there == name).map(|(_, value)| (*value).to_owned())
        };
        choose_proxy(&server.parse().unwrap(), own, variable).unwrap().map(|proxy| proxy.to_string())
    }

    #[test]
    fn no_proxy_exempts_listed_servers() {
        for (server, no_proxy, exempt) in [
            ("https://api.example.com:6443", "", false),
            // Empty elements, and blanks.
            ("https://api.example.com:6443", "localhost,", false),
            ("https://api.example.com:6443", "a,,b", false),
            ("https://192.0.2.2:6443", "localhost 192.0.2.2", true),
            ("https://192.0.2.2:6443", "localhost, 192.0.2.2", true),
            // The list doesn't affect the proxy's own address.
            ("https://192.0.2.2:6443", "10.0.0.0/8", false),
            ("https://192.0.2.2:6443", "10.0.0.9", false),
            ("https://192.0.2.2:6443", "*", true),
            ("https://api.example.com:6443", "a, *", true),
            // Domains.
            ("https://api.example.com:6443", "example.com", true),
            ("https://api.example.com:6443", ".example.com", true),
            ("https://api.example.com:6443", "*.example.com", true),
            ("https://API.example.com:6443", "EXAMPLE.com", true),
            ("https://api.example.com:6443", "api.example.com", true),
            ("https://api.example.com:6443", "ple.com", false),
            ("https://example.com:6443", "api.example.com", false),
            // Networks.
            ("https://192.0.2.2:6443", "192.0.2.0/24", true),
            ("https://192.0.2.2:6443", "192.0.2.128/25", false),
            ("https://[2001:db8::1]:6443", "2001:db8::/32", true),
            ("https://[2001:db8::1]:6443", "2001:db8::1", true),
            ("https://[2001:db8::1]:6443", "[2001:db8::1]", true),
            ("https://[2001:db8::1]:6443", "2001:db8::2", false),
            // Ports.
            ("https://api.example.com:6443", "example.com:6443", true),
            ("https://api.example.com:6443", "example.com:443", false),
            ("https://api.example.com", "example.com:443", true),
            ("https://api.example.com:6443", "example.com:https", false),
            ("https://192.0.2.2:6443", "192.0.2.2:6443", true),
            ("https://[2001:db8::1]:6443", "[2001:db8::1]:6443", true),
            ("https://[2001:db8::1]:6443", "[2001:db8::1]:443", false),
        ] {
            let expected = (!exempt).then(|| format!("{PROXY}/"));
            let upper = [("HTTPS_PROXY", PROXY), ("NO_PROXY", no_proxy)];
            assert_eq!(chosen(server, None, &upper), expected, "{server} {no_proxy:?}");
            let lower = [("https_proxy", PROXY), ("no_proxy", no_proxy)];
            assert_eq!(chosen(server, None, &lower), expected, "{server} {no_proxy:?}");
        }
    }

    #[test]
    fn servers_on_this_machine_have_no_proxy() {
        for server in ["https://localhost:6443", "https://127.0.0.1:6443", "https://[::1]:6443"] {
            assert_eq!(chosen(server, None, &[("HTTPS_PROXY", PROXY)]), None, "{server}");
        }
    }

    #[test]
    fn proxy_of_a_kubeconfig_outweighs_exemptions() {
        let environment = [("HTTPS_PROXY", PROXY), ("NO_PROXY", "*")];
        for server in ["https://192.0.2.2:6443", "https://127.0.0.1:6443"] {
            let own = Some("socks5://10.0.0.8:1080");
            assert_eq!(chosen(server, own, &environment).as_deref(), Some("socks5://10.0.0.8:1080/"));
            assert_eq!(chosen(server, Some(""), &environment), None);
        }
    }

    #[test]
    fn scheme_of_the_server_selects_the_variable() {
        let both = [("HTTPS_PROXY", "10.0.0.9:3128"), ("http_proxy", "http://u:p@10.0.0.7:1")];
        let chosen = |server: &str| chosen(server, None, &both);
        assert_eq!(chosen("https://192.0.2.2").as_deref(), Some("http://10.0.0.9:3128/"));
        assert_eq!(chosen("http://192.0.2.2").as_deref(), Some("http://u:p@10.0.0.7:1/"));
    }
}
