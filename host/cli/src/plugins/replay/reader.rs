//! Reads a recording line by line. Anyone may have written it: its size, and the size of each line, are limited.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use pivot_places::open_regular_file;
use serde::de::DeserializeOwned;

use super::super::recording::format::{
    KIND, MAX_LINE_BYTES, MAX_LINES, MAX_RECORDING_BYTES, RecordingEntry, RecordingHeader,
};
use super::super::scene_file::API_VERSION;

/// A recording that is being read.
pub(super) struct RecordingReader {
    file: BufReader<File>,
    line: u64,
    is_complete: bool,
}

impl RecordingReader {
    /// Opens a recording, and checks its first line.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let file = open_regular_file(path).map_err(|error| error.to_string())?;
        let size = file.metadata().map_err(|error| error.to_string())?.len();
        if size > MAX_RECORDING_BYTES {
            return Err("it is larger than 1 GiB".to_owned());
        }
        let mut reader = Self { file: BufReader::new(file), line: 0, is_complete: true };
        let header: Option<RecordingHeader> = reader.next_line()?;
        let is_recording =
            |header: &RecordingHeader| header.api_version == API_VERSION && header.kind == KIND;
        if !header.as_ref().is_some_and(is_recording) {
            return Err(format!("its first line must have the apiVersion {API_VERSION} and the kind {KIND}"));
        }
        Ok(reader)
    }

    /// Returns the next entry and the number of its line; none at the end.
    pub(super) fn next_entry(&mut self) -> Result<Option<(u64, RecordingEntry)>, String> {
        Ok(self.next_line()?.map(|entry| (self.line, entry)))
    }

    /// Returns false if the last line was cut off, as a killed run leaves it.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    fn next_line<T: DeserializeOwned>(&mut self) -> Result<Option<T>, String> {
        let mut bytes = Vec::new();
        self.line += 1;
        let line = self.line;
        let limit = MAX_LINE_BYTES as u64 + 1;
        let read = self.file.by_ref().take(limit).read_until(b'\n', &mut bytes);
        read.map_err(|error| format!("line {line}: {error}"))?;
        match bytes.last() {
            None => Ok(None),
            Some(_) if line > MAX_LINES => Err("it has more than 1,000,000 lines".to_owned()),
            Some(b'\n') => serde_json::from_slice(&bytes).map(Some).map_err(|error| {
                let column = error.column();
                format!("line {line}: it is not a line of a recording (column {column})")
            }),
            Some(_) if bytes.len() > MAX_LINE_BYTES => Err(format!("line {line}: it is longer than 16 MiB")),
            Some(_) => {
                self.is_complete = false;
                Ok(None)
            }
        }
    }
}
