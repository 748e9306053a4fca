//! Probes of servers that a test starts on this machine.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// Answers every connection with the same bytes.
async fn server(answer: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut request = [0; 1024];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    port
}

fn probe(http: bool, address: String) -> Probe {
    let named = vec!["127.0.0.1".parse().unwrap()];
    Probe { http, vantage: Vantage::Here, address, timeout: Duration::from_secs(5), named }
}

async fn ask(probe: Probe) -> Result<(u16, String), String> {
    let answer = Here::new().unwrap().probe(&probe).await;
    answer.map(|answer| (answer.status, answer.body)).map_err(|error| error.code)
}

#[tokio::test]
async fn a_port_is_open_or_not() {
    let port = server(String::new()).await;
    assert_eq!(ask(probe(false, format!("127.0.0.1:{port}"))).await, Ok((0, String::new())));
    assert_eq!(ask(probe(false, "127.0.0.1:1".into())).await, Err("unreachable".into()));
}

// proves: T7
#[tokio::test]
async fn a_redirect_is_returned_and_not_followed() {
    let there = "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 2\r\n\r\nhi";
    let port = server(there.into()).await;
    assert_eq!(ask(probe(true, format!("http://127.0.0.1:{port}/v1"))).await, Ok((302, "hi".into())));
}

#[tokio::test]
async fn an_endless_body_is_truncated() {
    let port = server(format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", "x".repeat(1 << 20))).await;
    let (status, body) = ask(probe(true, format!("http://127.0.0.1:{port}/"))).await.unwrap();
    assert_eq!((status, body.len()), (200, 256 << 10));
}

#[tokio::test]
async fn probe_of_silent_server_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let slow =
        Probe { timeout: Duration::from_millis(100), ..probe(true, format!("http://127.0.0.1:{port}/")) };
    assert_eq!(ask(slow).await, Err("unreachable".into()));
}

// proves: T7
#[tokio::test]
async fn special_addresses_are_denied() {
    let port = server(String::new()).await;
    for host in ["127.0.0.1", "localhost", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]"] {
        let unnamed = Probe { named: vec![], ..probe(false, format!("{host}:{port}")) };
        assert_eq!(ask(unnamed).await, Err("denied".into()), "{host}");
    }
}

#[tokio::test]
async fn an_untrusted_certificate_fails_the_probe() {
    let port = server("not TLS at all".into()).await;
    assert_eq!(ask(probe(true, format!("https://127.0.0.1:{port}/"))).await, Err("unreachable".into()));
}
