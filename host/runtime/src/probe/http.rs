//! One GET over an open connection.

use http::{HeaderValue, Request, header};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::probe::Endpoint;
use crate::services::ServiceError;

/// Most bytes of a body that are read. Longer bodies are cut rather than refused, because probes look at the beginning.
const LONGEST_BODY: usize = 256 << 10;

/// The status and the body. A redirect is an answer: it is not followed.
pub(crate) async fn get<S>(endpoint: &Endpoint, stream: S) -> Result<(u16, String), ServiceError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let failed = |error: hyper::Error| ServiceError::new("unreachable", format!("HTTP failed: {error}"));
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let host = if endpoint.host.contains(':') {
        format!("[{}]:{}", endpoint.host, endpoint.port)
    } else {
        format!("{}:{}", endpoint.host, endpoint.port)
    };
    let request = Request::get(&endpoint.path)
        .header(header::HOST, host)
        .header(header::USER_AGENT, HeaderValue::from_static("pivot-host"))
        .header(header::ACCEPT, HeaderValue::from_static("*/*"))
        .header(header::CONNECTION, HeaderValue::from_static("close"))
        .body(Empty::<bytes::Bytes>::new())
        .map_err(|_| ServiceError::new("invalid", "its address makes no request"))?;
    let ask = async {
        let response = sender.send_request(request).await.map_err(failed)?;
        let status = response.status().as_u16();
        let mut body = response.into_body();
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(failed)?.into_data() else { continue };
            let room = LONGEST_BODY.saturating_sub(bytes.len());
            bytes.extend_from_slice(data.get(..room).unwrap_or(&data));
            if bytes.len() >= LONGEST_BODY {
                break;
            }
        }
        Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
    };
    // The connection is driven alongside the request and dropped with it.
    tokio::pin!(ask);
    tokio::select! {
        answer = &mut ask => answer,
        ended = connection => match ended {
            Ok(()) => ask.await,
            Err(error) => Err(failed(error)),
        },
    }
}
