//! Release lists: in the record of a move, or in pieces next to it.

use futures::FutureExt;
use futures::future::try_join_all;
use futures::stream::{self, StreamExt, TryStreamExt};
use pivot_core::Key;
use pivot_core::records::record::{Record, piece_name, pieces_prefix};
use pivot_core::records::release::{self, ReleaseList};
use pivot_places::PlaceError;
use serde_json::json;

use super::{CHUNK_BYTES, LIST, Records, Stored};
use crate::base::outcome::failure::Failure;
use crate::base::requests::side_by_side::LISTS;

/// The longest piece that is read: a single line may be longer than a piece should be.
const MAX_PIECE_BYTES: usize = 2 * CHUNK_BYTES;
/// Bytes that a line of a list takes in memory in addition to its text, at most: its kind may have a group of 253 bytes.
const MAX_LINE_OVERHEAD: usize = 1 << 10;

impl Records {
    /// Writes the pieces of a release list next to the record.
    pub(crate) async fn write_list(&self, chunks: &[String], move_id: &str) -> Result<(), Failure> {
        let writes = chunks.iter().enumerate().map(|(number, chunk)| async move {
            let name = piece_name(move_id, number);
            let body = self.config_map_body(&name, json!({}), json!({LIST: chunk}));
            let result = match self.namespace.create_in(&self.kind, &body).await? {
                Err(PlaceError::AlreadyExists(_)) => {
                    self.handle.patch(&self.kind, &self.key(&name), &json!({"data": {LIST: chunk}})).await
                }
                other => other,
            };
            result.map_err(|error| self.handle.request_failure("writing", Some(&self.key(&name)), error))
        });
        try_join_all(writes).await.map(drop)
    }

    /// Reads the list, in the record or next to it; `None` if a piece of it is gone.
    pub(crate) async fn read_list(&self, stored: &Stored) -> Result<Option<ReleaseList>, Failure> {
        self.read_committed_list(stored, None).await
    }

    /// Reads the list that has the digest that was committed. Any other list is an error.
    pub(crate) async fn read_committed_list(
        &self,
        stored: &Stored,
        digest: Option<&str>,
    ) -> Result<Option<ReleaseList>, Failure> {
        let Record { move_id, release_chunks, .. } = &stored.record;
        if *release_chunks == 0 {
            let Some(list) = stored.list.as_deref() else { return Ok(None) };
            return self.parse_list(move_id, &[list], digest).map(Some);
        }
        let reads = (0..*release_chunks).map(|number| self.read_piece(piece_name(move_id, number)).boxed());
        // Those on their way are not counted yet.
        let at_once = (self.list_limit / MAX_PIECE_BYTES).clamp(1, LISTS);
        let mut pieces = stream::iter(reads.collect::<Vec<_>>()).buffered(at_once);
        let (mut texts, mut bytes) = (Vec::new(), 0);
        // If one is gone, the others are not read: anyone with write access could have raised their number in the record.
        while let Some(piece) = pieces.try_next().await? {
            let Some(text) = piece else { return Ok(None) };
            bytes += text.len();
            self.check_size(move_id, bytes, 0)?;
            texts.push(text);
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.parse_list(move_id, &texts, digest).map(Some)
    }

    /// A piece of a list; `None` if it is gone.
    async fn read_piece(&self, name: String) -> Result<Option<String>, Failure> {
        let Some(object) = self.handle.get(&self.kind, &self.key(&name)).await? else { return Ok(None) };
        match self.read_entry(&object, LIST)? {
            text if text.len() > MAX_PIECE_BYTES => {
                Err(self.unreadable_failure(&name, &"it is longer than any that a move writes"))
            }
            text => Ok(Some(text)),
        }
    }

    /// Fails if a list is longer than those that are read.
    fn check_size(&self, move_id: &str, bytes: usize, lines: usize) -> Result<(), Failure> {
        match self.describe_excess(bytes, lines) {
            Some(excess) => {
                let why = format!("its release list has {excess}");
                Err(self.unreadable_failure(&self.name(move_id), &why))
            }
            None => Ok(()),
        }
    }

    /// Refuses a list that no other attempt with this limit could read.
    pub(crate) fn refuse_long_list<T: AsRef<str>>(&self, texts: &[T]) -> Result<(), Failure> {
        let (bytes, lines) = measure_list(texts);
        match self.describe_excess(bytes, lines) {
            Some(excess) => {
                Err(Failure::Record(format!("the release list of this move would have {excess}")))
            }
            None => Ok(()),
        }
    }

    /// Describes by how much a list exceeds the limits; `None` if it does not.
    fn describe_excess(&self, bytes: usize, lines: usize) -> Option<String> {
        let (limit, most) = (self.list_limit, self.list_limit / MAX_LINE_OVERHEAD);
        let excess = match () {
            () if bytes > limit => format!("more than {limit} bytes"),
            () if lines > most => format!("more than {most} lines"),
            () => return None,
        };
        Some(format!("{excess}, which are the most here: run fewer moves at once, or resume at a terminal"))
    }

    fn parse_list(
        &self,
        move_id: &str,
        texts: &[&str],
        digest: Option<&str>,
    ) -> Result<ReleaseList, Failure> {
        let (bytes, lines) = measure_list(texts);
        self.check_size(move_id, bytes, lines)?;
        // Before the text takes memory as a list.
        if digest.is_some_and(|digest| digest != release::digest_of_text(texts.iter().copied())) {
            return Err(self.another_list(move_id));
        }
        let list = ReleaseList::parse(texts.iter().copied());
        list.map_err(|error| self.unreadable_failure(&self.name(move_id), &error))
    }

    fn another_list(&self, move_id: &str) -> Failure {
        let why =
            "its release list is not the one that the source committed: nothing is deleted by another list";
        self.unreadable_failure(&self.name(move_id), &why)
    }

    pub(crate) fn list_has_others(&self, move_id: &str, key: &Key) -> Failure {
        let why =
            format!("it deletes {key}, which is in none of the namespaces that the source's record has");
        self.unreadable_failure(&self.name(move_id), &why)
    }

    pub(crate) fn list_missing(&self, move_id: &str) -> Failure {
        let why = "its release list is missing";
        self.unreadable_failure(&self.name(move_id), &why)
    }

    /// Removes a move's list. It is removed before its record: while that exists, the move is not closed.
    pub(crate) async fn remove_list(&self, move_id: &str, chunks: usize) -> Result<(), Failure> {
        let pieces = (0..chunks).map(|number| self.remove_named(piece_name(move_id, number)));
        try_join_all(pieces).await.map(drop)
    }

    /// Removes every piece of a list that an uncompleted commit may have written; their number is unknown.
    pub(crate) async fn remove_lists(&self, move_id: &str) -> Result<(), Failure> {
        let prefix = pieces_prefix(move_id);
        let metas = self.handle.list_meta(&self.kind, Some(self.namespace.name())).await?;
        let piece = |name: &str| {
            let number = name.strip_prefix(&prefix);
            number.is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
        };
        let pieces = metas.into_iter().filter(|meta| piece(&meta.name));
        try_join_all(pieces.map(|meta| self.remove_named(meta.name))).await.map(drop)
    }
}

/// Returns the bytes and lines of a list.
fn measure_list<T: AsRef<str>>(texts: &[T]) -> (usize, usize) {
    let texts = || texts.iter().map(AsRef::as_ref);
    (texts().map(str::len).sum(), texts().map(|text| text.lines().count()).sum())
}
