//! The file `NAME.wasm.intoto.jsonl` next to a component, with one envelope per line.
//!
//! Lines that say something else (another payload or predicate type, such as SLSA provenance) are carried along, and so are lines
//! that can't be read: claims only add, so a line that isn't understood takes nothing away from the others. The limits of the whole
//! are checked before anything is parsed, since anyone with write access to the directory may have written the file.

use crate::signatures::envelope::{Envelope, EnvelopeError, SIZE};

/// Suffix of the file's name, after the name of the component's file.
pub const ENDING: &str = ".intoto.jsonl";
/// The most lines of a file, not counting blank ones.
pub const LINES: usize = 64;

/// Reasons to refuse a signature file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Too large.
    #[error("it has {0} bytes; {SIZE} at most are read")]
    Size(usize),
    /// Not text.
    #[error("line {0}: it is not UTF-8")]
    NotText(usize),
    /// Too many lines.
    #[error("line {0}: it is the {n}th; {LINES} at most are read", n = LINES + 1)]
    Lines(usize),
}

impl LineError {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Size(_) => "too-large",
            Self::NotText(_) => "not-text",
            Self::Lines(_) => "too-many-lines",
        }
    }
}

/// A line that isn't blank.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    Read(Envelope),
    /// Kept as it is, byte for byte: another program may read it.
    Unread(String, EnvelopeError),
}

impl Line {
    fn text(&self) -> &str {
        match self {
            Self::Read(envelope) => envelope.line(),
            Self::Unread(text, _) => text,
        }
    }
}

/// The envelopes about one file, with the numbers of their lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignatureFile {
    lines: Vec<(usize, Line)>,
}

impl SignatureFile {
    /// Reads a file's bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, LineError> {
        if bytes.len() > SIZE {
            return Err(LineError::Size(bytes.len()));
        }
        let text = str::from_utf8(bytes).map_err(|error| {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            LineError::NotText(before.iter().filter(|byte| **byte == b'\n').count() + 1)
        })?;
        let lines = || text.split('\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
        if let Some((n, _)) = lines().nth(LINES) {
            return Err(LineError::Lines(n + 1));
        }
        let read = lines().map(|(n, line)| {
            let read = Envelope::parse(line).map(Line::Read);
            (n + 1, read.unwrap_or_else(|why| Line::Unread(line.to_owned(), why)))
        });
        Ok(Self { lines: read.collect() })
    }

    /// All lines that aren't blank, with their numbers from 1: the envelope of each, or why it can't be read.
    pub fn lines(&self) -> impl Iterator<Item = (usize, Result<&Envelope, &EnvelopeError>)> {
        self.lines.iter().map(|(n, line)| match line {
            Line::Read(envelope) => (*n, Ok(envelope)),
            Line::Unread(_, why) => (*n, Err(why)),
        })
    }

    /// The envelopes, with the numbers of their lines from 1.
    pub fn envelopes(&self) -> impl Iterator<Item = (usize, &Envelope)> {
        self.lines().filter_map(|(n, line)| line.ok().map(|envelope| (n, envelope)))
    }

    /// Returns true if the file has no lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Adds an envelope after the others; one that is there already isn't added again.
    pub fn add(&mut self, envelope: Envelope) -> Result<(), LineError> {
        if self.envelopes().any(|(_, there)| there.has_same_content(&envelope)) {
            return Ok(());
        }
        let line = self.lines.last().map_or(0, |(line, _)| *line) + 1;
        if self.lines.len() >= LINES {
            return Err(LineError::Lines(line));
        }
        let size = self.to_text().len() + envelope.line().len() + 1;
        if size > SIZE {
            return Err(LineError::Size(size));
        }
        self.lines.push((line, Line::Read(envelope)));
        Ok(())
    }

    /// The file's text, without blank lines.
    pub fn to_text(&self) -> String {
        self.lines.iter().fold(String::new(), |text, (_, line)| text + line.text() + "\n")
    }
}
