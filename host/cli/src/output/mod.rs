//! The one place that writes: results to stdout, everything for people to stderr.
//!
//! Made from two writers, so that a test reads what a user would. A reader that goes away (`| head`) is no error: the
//! work goes on and what is written to it is dropped.

mod document;
mod events;
mod lines;
mod plan;
mod progress;
mod result;
mod stop;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anstyle::{AnsiColor, Style};
use indicatif::MultiProgress;
use pivot_engine::Event;
use serde::Serialize;

pub(crate) use document::{Document, ErrorDocument, PlanDocument, ReportDocument, StatusDocument};
pub(crate) use progress::Progress;
pub(crate) use result::{copied, moved, status, taken_back};
pub(crate) use stop::Told;

use self::events::Level;
use crate::args::{LogFormat, OutputFormat};

const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const STRONG: Style = Style::new().bold();

/// How to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub(crate) format: OutputFormat,
    pub(crate) log: LogFormat,
    pub(crate) verbose: u8,
    /// Whether stderr is a terminal that can take bars.
    pub(crate) bars: bool,
}

/// stdout and stderr.
pub(crate) struct Output {
    manner: Manner,
    out: Mutex<Box<dyn Write + Send>>,
    err: Mutex<Box<dyn Write + Send>>,
    bars: MultiProgress,
}

impl Output {
    pub(crate) fn new(manner: Manner, out: Box<dyn Write + Send>, err: Box<dyn Write + Send>) -> Arc<Self> {
        Arc::new(Self { manner, out: Mutex::new(out), err: Mutex::new(err), bars: MultiProgress::new() })
    }

    pub(crate) fn manner(&self) -> Manner {
        self.manner
    }

    /// A result: the text for people, or the document for programs.
    pub(crate) fn result(&self, text: impl FnOnce() -> String, document: &impl Serialize) {
        let text = match self.manner.format {
            OutputFormat::Text => lines::tame(&text()).into_owned(),
            OutputFormat::Json => match serde_json::to_string_pretty(document) {
                Ok(json) => json + "\n",
                Err(error) => return self.fail(&format!("the result can't be written as JSON: {error}")),
            },
            OutputFormat::Yaml => match serde_saphyr::to_string(document) {
                Ok(yaml) => yaml,
                Err(error) => return self.fail(&format!("the result can't be written as YAML: {error}")),
            },
        };
        self.text(&text);
    }

    /// Text to stdout as it is.
    pub(crate) fn text(&self, text: &str) {
        let mut out = lock(&self.out);
        // Whoever read us has gone.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// A line of progress, or a note.
    pub(crate) fn say(&self, text: &str) {
        self.line(Level::Info, text);
    }

    /// A line worth attention.
    pub(crate) fn warn(&self, text: &str) {
        self.line(Level::Warn, text);
    }

    /// What went wrong.
    pub(crate) fn fail(&self, text: &str) {
        self.line(Level::Error, text);
    }

    /// A message of the command line's parser, with its own colours.
    pub(crate) fn usage(&self, error: &clap::Error) {
        let text = error.render().ansi().to_string();
        if error.use_stderr() { self.raw(&text) } else { self.text(&text) }
    }

    /// An event for programs.
    fn json_event(&self, event: &Event, message: &str) {
        self.tamed("", &events::json(event, message));
    }

    fn line(&self, level: Level, text: &str) {
        match (self.manner.log, level) {
            (LogFormat::Json, _) => self.tamed("", &events::json_words(level, text)),
            (LogFormat::Text, Level::Info) => self.tamed("", text),
            (LogFormat::Text, Level::Warn) => self.tamed(&format!("{WARNING}warning:{WARNING:#} "), text),
            (LogFormat::Text, Level::Error) => self.tamed(&format!("{ERROR}error:{ERROR:#} "), text),
        }
    }

    /// Where words of others leave the program.
    fn tamed(&self, prefix: &str, text: &str) {
        self.above_bars(&format!("{prefix}{}\n", lines::tame(text)));
    }

    /// Text to stderr as it is, without tearing a bar up.
    fn above_bars(&self, text: &str) {
        if self.manner.bars { self.bars.suspend(|| self.raw(text)) } else { self.raw(text) }
    }

    fn raw(&self, text: &str) {
        let mut err = lock(&self.err);
        // There is no third place to say that the second is closed.
        let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
    }
}

/// Takes log lines to where everything for people goes.
pub(crate) struct LogLines(pub(crate) Arc<Output>);

impl Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.above_bars(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(crate) mod testing {
    //! Writers that a test can read.

    use super::*;

    /// What was written.
    #[derive(Clone, Default)]
    pub(crate) struct Written(Arc<Mutex<Vec<u8>>>);

    impl Written {
        pub(crate) fn text(&self) -> String {
            let plain = anstream::adapter::strip_bytes(&lock(&self.0)).into_vec();
            String::from_utf8(plain).unwrap()
        }
    }

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            lock(&self.0).write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// An output, and what goes to stdout and stderr.
    pub(crate) fn output(verbose: u8, log: LogFormat) -> (Arc<Output>, Written, Written) {
        let manner = Manner { format: OutputFormat::Text, log, verbose, bars: false };
        let (out, err) = (Written::default(), Written::default());
        (Output::new(manner, Box::new(out.clone()), Box::new(err.clone())), out, err)
    }
}
