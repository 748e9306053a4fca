//! A connection through an HTTP proxy, by CONNECT.

use std::io::{self, ErrorKind};

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use pivot_core::messages::safe_text::to_line;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The longest answer of a proxy, in bytes.
const LONGEST: usize = 8 << 10;
/// Most bytes of the first line that an error quotes.
const QUOTED: usize = 200;

/// Returns the proxy that the environment names for a server, by the rules for API servers, or why it can't be used.
pub(crate) fn choose_proxy(
    server: &Uri,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Uri>, &'static str> {
    match pivot_places::choose_proxy(server, None, variable) {
        Ok(Some(proxy)) if proxy.scheme_str() != Some("http") => {
            Err("an agent calls only through a proxy whose URL begins with http://")
        }
        Ok(proxy) => Ok(proxy),
        // The text could quote a password.
        Err(_) => Err("not a URL"),
    }
}

/// Connects to `HOST:PORT` through a proxy.
pub(crate) async fn connect_through(proxy: &Uri, address: &str) -> io::Result<TcpStream> {
    let host = proxy.host().unwrap_or_default();
    let named = format!("{host}:{}", proxy.port_u16().unwrap_or(80));
    let failed =
        |why: String| io::Error::new(ErrorKind::ConnectionRefused, format!("the proxy {named}: {why}"));
    let mut stream = TcpStream::connect(&named).await.map_err(|error| failed(error.to_string()))?;
    let mut request = format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n").into_bytes();
    if let Some(credentials) = basic_credentials(proxy) {
        request.extend(b"Proxy-Authorization: ");
        request.extend(credentials);
        request.extend(b"\r\n");
    }
    request.extend(b"\r\n");
    stream.write_all(&request).await?;
    let mut answer = Vec::new();
    // Reads no byte after the answer: TLS follows.
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= LONGEST {
            return Err(failed("its answer is too long".to_owned()));
        }
        answer.push(stream.read_u8().await.map_err(|error| failed(error.to_string()))?);
    }
    let answer = String::from_utf8_lossy(&answer);
    let first = answer.lines().next().unwrap_or_default();
    let code = first.split(' ').nth(1).and_then(|code| code.parse::<u16>().ok());
    match code {
        Some(200..=299) if first.starts_with("HTTP/1.") => Ok(stream),
        _ => Err(failed(format!("it answers {}", to_line(first, QUOTED)))),
    }
}

/// Returns the user and password in a proxy's URL, as a header's value.
fn basic_credentials(proxy: &Uri) -> Option<Vec<u8>> {
    let matcher = Matcher::builder().all(proxy.to_string()).build();
    let intercept = matcher.intercept(&Uri::from_static("https://any.invalid"))?;
    Some(intercept.basic_auth()?.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;

    use super::*;

    /// A proxy for one request; returns its URL with these credentials, and the request.
    async fn proxy(credentials: &str, answer: &'static [u8]) -> (Uri, JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{credentials}{}", listener.local_addr().unwrap()).parse().unwrap();
        let asked = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(answer).await.unwrap();
            String::from_utf8(request).unwrap()
        });
        (uri, asked)
    }

    #[tokio::test]
    async fn agent_calls_through_the_proxy() {
        let (uri, asked) =
            proxy("u:p%40ss@", b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\nhi").await;
        let mut stream = connect_through(&uri, "pivot.example.com:8443").await.unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "hi", "what follows the proxy's answer is the controller's");
        let request = asked.await.unwrap();
        assert!(
            request
                .starts_with("CONNECT pivot.example.com:8443 HTTP/1.1\r\nHost: pivot.example.com:8443\r\n")
        );
        // u:p@ss
        assert!(request.contains("\r\nProxy-Authorization: Basic dTpwQHNz\r\n"), "{request}");
    }

    #[tokio::test]
    async fn refusal_of_the_proxy_is_named() {
        let (uri, _asked) = proxy("u:secret@", b"HTTP/1.1 407 Who are you?\r\n\r\n").await;
        let error = connect_through(&uri, "a.example.com:1").await.unwrap_err().to_string();
        assert!(error.contains("HTTP/1.1 407 Who are you?") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn environment_chooses_the_proxy() {
        let chosen = |address: &str, proxy: &str, no_proxy: &str| {
            let variables = [("HTTPS_PROXY", proxy), ("NO_PROXY", no_proxy)];
            let variable = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            choose_proxy(&format!("https://{address}").parse().unwrap(), variable)
                .map(|proxy| proxy.map(|proxy| proxy.to_string()))
        };
        let proxy = "http://10.0.0.9:3128/";
        assert_eq!(chosen("pivot.example.com:8443", "10.0.0.9:3128", "").unwrap().as_deref(), Some(proxy));
        for (address, no_proxy) in
            [("pivot.example.com:8443", "x,.example.com"), ("localhost:1", ""), ("[::1]:1", "")]
        {
            assert_eq!(chosen(address, proxy, no_proxy).unwrap(), None, "{address}");
        }
        let refused = chosen("pivot.example.com:1", "socks5://u:secret@10.0.0.9:1", "").unwrap_err();
        assert!(refused.contains("http://") && !refused.contains("secret"), "{refused}");
    }
}
