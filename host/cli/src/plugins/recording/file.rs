//! The file of a recording: created before anything begins, and written call by call, so that it is complete as far as a run came.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::format::{
    KIND, MAX_LINE_BYTES, MAX_LINES, MAX_RECORDING_BYTES, OmittedCall, RecordingEntry, RecordingHeader,
};
use crate::output::Output;
use crate::plugins::scene_file::API_VERSION;
use crate::private_file::owner_only;

/// Space that is kept for the line about a call that no longer fits.
const RESERVED_BYTES: u64 = 4 << 10;

/// A file that gets the calls of plugins. A failure to write is reported and ends the recording, never the move.
pub(crate) struct RecordingFile {
    path: PathBuf,
    output: Arc<Output>,
    state: Mutex<RecordingState>,
}

#[derive(Default)]
struct RecordingState {
    /// None after a failure, or once the recording is full.
    file: Option<File>,
    bytes: u64,
    lines: u64,
    calls: u64,
    omitted: u64,
    /// Hashes of the calls of this run. A plugin that waits is called again and again for the same object.
    seen: BTreeSet<u64>,
}

impl RecordingState {
    /// Returns true for a file that has no call.
    fn is_empty(&self) -> bool {
        self.file.is_some() && self.calls == 0 && self.omitted == 0
    }
}

impl RecordingFile {
    /// Creates the file for its owner alone. Fails if there is a file.
    pub(crate) fn create(path: &Path, output: &Arc<Output>) -> Result<Arc<Self>, String> {
        let because = |error| format!("the recording can't be written to {}: {error}", path.display());
        let file = owner_only(OpenOptions::new().append(true).create_new(true)).open(path);
        let mut file = file.map_err(because)?;
        let header = RecordingHeader {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        file.write_all(&encode(&header)).map_err(because)?;
        Ok(Self::new(file, path, output))
    }

    pub(super) fn new(file: File, path: &Path, output: &Arc<Output>) -> Arc<Self> {
        let state = RecordingState { file: Some(file), ..RecordingState::default() };
        Arc::new(Self { path: path.to_owned(), output: output.clone(), state: Mutex::new(state) })
    }

    /// Writes an entry. Equal calls of a run are written once.
    pub(super) fn write(&self, entry: &RecordingEntry) {
        let line = encode(entry);
        let mut state = self.lock();
        let omitted = match entry {
            RecordingEntry::Plugin(_) => {
                state.seen.clear();
                return self.append_line(&mut state, &line);
            }
            RecordingEntry::Call(_) if !state.seen.insert(hash_line(&line)) => return,
            RecordingEntry::Call(call) => OmittedCall { plugin: call.plugin.clone(), hook: call.hook },
            RecordingEntry::Omitted(omitted) => omitted.clone(),
        };
        if state.file.is_none() {
            state.omitted += 1;
            return;
        }
        // The header is a line, too, and so is the one about an omitted call.
        let is_full = state.bytes + line.len() as u64 + RESERVED_BYTES > MAX_RECORDING_BYTES
            || state.lines + 2 >= MAX_LINES;
        let is_call = matches!(entry, RecordingEntry::Call(_));
        if is_call && !is_full && line.len() <= MAX_LINE_BYTES {
            state.calls += 1;
            self.append_line(&mut state, &line);
        } else {
            state.omitted += 1;
            self.append_line(&mut state, &encode(&RecordingEntry::Omitted(omitted)));
        }
        if is_full {
            state.file = None;
        }
    }

    /// Removes the file if it has no call, so that the same command can be repeated.
    pub(crate) fn remove_if_empty(&self) {
        let mut state = self.lock();
        if !state.is_empty() {
            return;
        }
        let Some(file) = state.file.take() else { return };
        // Never another file that took its place.
        let (created, there) =
            (file.metadata().map(identity), fs::symlink_metadata(&self.path).map(identity));
        if let (Ok(created), Ok(there)) = (created, there)
            && created == there
            && let Err(error) = fs::remove_file(&self.path)
        {
            let path = self.path.display();
            self.output.warn(format!("the empty recording {path} can't be removed: {error}"));
        }
    }

    /// Tells the user where the recording is.
    pub(crate) fn report_end(&self) {
        let (calls, omitted, is_empty) = {
            let state = self.lock();
            (state.calls, state.omitted, state.is_empty())
        };
        if is_empty {
            return self.output.note("no recording: no plugin was called");
        }
        let path = self.path.display();
        self.output.note(format!("recording: {path} ({calls} different calls of plugins)"));
        if omitted > 0 {
            self.output.warn(format!("{omitted} calls of plugins did not fit into the recording {path}"));
        }
    }

    fn append_line(&self, state: &mut RecordingState, line: &[u8]) {
        let Some(file) = &mut state.file else { return };
        match file.write_all(line) {
            Ok(()) => {
                state.bytes += line.len() as u64;
                state.lines += 1;
            }
            Err(error) => {
                state.file = None;
                let path = self.path.display();
                self.output.warn(format!("the recording in {path} ends here: {error}"));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, RecordingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the line of a value, with its end. Nothing that is recorded fails to be written as JSON.
fn encode(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value)
        .map(|mut line| {
            line.push(b'\n');
            line
        })
        .unwrap_or_default()
}

/// Returns the device and the number of a file.
#[cfg(unix)]
fn identity(metadata: Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Returns the time at which a file was created.
#[cfg(not(unix))]
fn identity(metadata: Metadata) -> Option<std::time::SystemTime> {
    metadata.created().ok()
}

fn hash_line(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    hasher.finish()
}
