//! Watches: one JSON event per line, however the network splits them.

use std::sync::Arc;

use ::kube::client::Body;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http_body_util::BodyExt;
use pivot_core::Kind;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::list::{self, parse_json};
use super::status::KubeStatus;
use super::transport::{self, KubeRequest, Transport};
use super::url;
use crate::budget::Share;
use crate::place::{Event, PlaceError, Result};

/// The longest line that is read. An object has 1.5 MiB at most, and its texts may take twice as much in an answer. The limit is low
/// because a move has a watch open for each kind and namespace.
const LINE_LIMIT: usize = 8 << 20;

#[derive(Deserialize)]
struct Line<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// Opens a watch starting at a version.
pub(super) async fn open_watch(
    transport: &Transport,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
    resource_version: &str,
) -> Result<BoxStream<'static, Result<Event>>> {
    let path = format!(
        "{}?watch=true&allowWatchBookmarks=true&resourceVersion={}",
        url::collection_path(kind, namespace),
        url::escape_segment(resource_version)
    );
    let about = format!("watch {}", kind.group_kind);
    let ask = KubeRequest::get(path, about.clone());
    let response = transport.open_response(ask).await?;
    Ok(event_stream(response.into_body(), transport.share(), Arc::clone(kind), about))
}

struct Reader {
    body: Option<Body>,
    lines: Lines,
    /// The share of the budget for the bytes that are read ahead, and for the last event.
    share: Option<Share>,
    kind: Arc<Kind>,
    about: String,
}

fn event_stream(
    body: Body,
    share: Option<Share>,
    kind: Arc<Kind>,
    about: String,
) -> BoxStream<'static, Result<Event>> {
    let reader = Reader { body: Some(body), lines: Lines::default(), share, kind, about };
    stream::unfold(reader, |mut reader| async move {
        let next = reader.next().await?;
        if next.is_err() {
            reader.body = None;
        }
        Some((next, reader))
    })
    .boxed()
}

impl Reader {
    /// Returns the next event; none at the end. An error is the last item.
    async fn next(&mut self) -> Option<Result<Event>> {
        loop {
            let body = self.body.as_mut()?;
            if let Some(share) = &mut self.share {
                share.shrink_to(self.lines.buffer.len());
            }
            if let Some(line) = self.lines.next() {
                match self.parse_event(&line).transpose() {
                    None => continue,
                    some => return some,
                }
            }
            match body.frame().await {
                // Servers end watches after a while; an incomplete line means that the connection broke.
                None if self.lines.is_empty() => return None,
                None => {
                    return Some(Err(PlaceError::Unavailable(format!("{}: cut off", self.about))));
                }
                Some(Err(error)) => return Some(Err(transport::connection_error(&error, &self.about))),
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else { continue };
                    if let Some(share) = &mut self.share
                        && let Err(refused) = share.grow(data.len(), &self.about)
                    {
                        return Some(Err(refused));
                    }
                    if self.lines.push(&data).is_err() {
                        let text = format!("{}: an event larger than {LINE_LIMIT} bytes", self.about);
                        return Some(Err(PlaceError::Unreadable(text)));
                    }
                }
            }
        }
    }

    fn parse_event(&self, line: &Bytes) -> Result<Option<Event>> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let Line { r#type, object } = parse_json(line, &self.about)?;
        let raw = line.slice_ref(object.get().as_bytes());
        match r#type {
            "ADDED" | "MODIFIED" => Ok(Some(Event::Applied(list::parse_object(&self.kind, raw)?))),
            "DELETED" => Ok(Some(Event::Deleted(list::parse_object(&self.kind, raw)?))),
            "BOOKMARK" => Ok(None),
            "ERROR" => {
                let status: KubeStatus = parse_json(object.get().as_bytes(), &self.about)?;
                Err(transport::event_error(&status, &self.about))
            }
            other => Err(PlaceError::Unreadable(format!("{}: an event called {other:?}", self.about))),
        }
    }
}

/// Splits a stream of pieces at line ends. Nothing is searched twice, so that a long line in many small pieces costs no more than
/// one in a single piece.
#[derive(Default)]
struct Lines {
    buffer: BytesMut,
    searched: usize,
}

impl Lines {
    fn push(&mut self, data: &[u8]) -> Result<(), ()> {
        if self.buffer.len() + data.len() > LINE_LIMIT {
            return Err(());
        }
        self.buffer.extend_from_slice(data);
        Ok(())
    }

    fn next(&mut self) -> Option<Bytes> {
        let fresh = self.buffer.get(self.searched..)?;
        match fresh.iter().position(|byte| *byte == b'\n') {
            None => {
                self.searched = self.buffer.len();
                None
            }
            Some(offset) => {
                let line = self.buffer.split_to(self.searched + offset + 1).freeze();
                self.searched = 0;
                // Otherwise the memory of a long line is kept for as long as the watch.
                if line.len() >= self.buffer.len() {
                    self.buffer = BytesMut::from(&*self.buffer);
                }
                Some(line)
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.buffer.iter().all(u8::is_ascii_whitespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_in_any_chunks() {
        let text = b"{\"a\":1}\n{\"b\":2}\n\n{\"c\"";
        for size in 1..text.len() {
            let mut lines = Lines::default();
            let mut seen = Vec::new();
            for piece in text.chunks(size) {
                lines.push(piece).unwrap();
                while let Some(line) = lines.next() {
                    seen.push(line);
                }
            }
            assert_eq!(seen, ["{\"a\":1}\n", "{\"b\":2}\n", "\n"], "pieces of {size}");
            assert!(!lines.is_empty());
        }
    }

    // proves: T105
    #[test]
    fn endless_line_is_refused() {
        let mut lines = Lines::default();
        assert!(lines.push(&vec![b'x'; 8 << 20]).is_ok());
        assert!(lines.next().is_none());
        assert!(lines.push(b"x").is_err());
    }

    // proves: T147
    #[test]
    fn long_lines_leave_no_memory_behind() {
        let mut lines = Lines::default();
        lines.push(&vec![b'x'; 7 << 20]).unwrap();
        lines.push(b"\n{").unwrap();
        assert_eq!(lines.next().unwrap().len(), (7 << 20) + 1);
        lines.push(b"}\n").unwrap();
        assert_eq!(lines.next().unwrap(), "{}\n");
        assert!(lines.buffer.capacity() < 1 << 10, "{}", lines.buffer.capacity());
    }
}
