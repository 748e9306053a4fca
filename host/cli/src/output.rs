//! The one place that writes: results go to stdout, everything for people to stderr.
//!
//! All output contains text from other sources: [`text`] makes it harmless. The output is built on two writers, so that tests
//! read the same text as a user. A reader that goes away (`| head`) is no error: the work goes on and further output is dropped.

mod answer;
mod bundled_plugins;
mod clusters;
mod describe;
mod diagnosis;
mod document;
mod events;
mod foreseen;
mod happened;
mod lines;
mod messages;
mod move_report;
mod page;
mod phase_progress;
mod pictures;
mod plan;
mod progress;
mod remedies;
mod report;
mod reported;
mod result;
mod roles;
mod saved;
mod status;
mod stop;
#[cfg(test)]
mod tests;
mod text;
mod trees;
mod usage;
mod verdict;
mod verification;
mod width;
mod wrap;

use std::io::Write;
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anstyle::{AnsiColor, Style};
use clap::error::ErrorKind;
use indicatif::MultiProgress;
use pivot_engine::Event;
use serde::Serialize;

pub(crate) use answer::describe_pause;
pub(crate) use describe::{DescribeDocument, no_match_text, tree_text};
pub(crate) use diagnosis::{DiagnosisDocument, diagnosis_text};
pub(crate) use document::{Document, ErrorDocument, PlanDocument, ReportDocument, StatusDocument};
pub(crate) use page::{PlanPage, saved_plan_page};
pub(crate) use pictures::draw_plan;
pub(crate) use progress::{PlanUse, Progress};
pub(crate) use remedies::{name_kubeconfigs, remedies_sentence};
pub(crate) use report::{Ending, Recorder};
pub(crate) use reported::Reported;
pub(crate) use result::{copy_result, handed_over, move_result, rolled_back};
pub(crate) use roles::{build_roles, manifests_text, role_list, role_manifests, role_objects};
pub(crate) use saved::{ComparedPlans, differences_text, list_aspect_changes, saved_plan_text};
pub(crate) use status::{status_text, under_way};
pub(crate) use stop::{Advice, AlreadyShown, explain_stop, failure_lines, placeholder_flags, refusals_of};
pub(crate) use text::Text;
pub(crate) use verdict::{Outlook, judge_plan};
pub(crate) use verification::{altered_files_text, exposed_files_text, restored_text, verification_text};
pub(crate) use width::{display_width, pad_to_width};

use self::events::Level;
use crate::args::{LogFormat, OutputFormat};

const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Settings of the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputSettings {
    pub(crate) format: OutputFormat,
    pub(crate) log: LogFormat,
    pub(crate) verbose: u8,
    /// Only errors, warnings and the result.
    pub(crate) quiet: bool,
    /// True if stderr is a terminal that can show bars.
    pub(crate) bars: bool,
    /// Widths to wrap lines for.
    pub(crate) widths: Widths,
}

/// Characters that fit into a line of stdout and of stderr. None if lines must not be wrapped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Widths {
    pub(crate) out: Option<usize>,
    pub(crate) err: Option<usize>,
}

impl Widths {
    /// Returns the widths of terminals, or the value of `COLUMNS`. On Windows, only `COLUMNS` counts.
    pub(crate) fn of_terminals() -> Self {
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        #[cfg(unix)]
        let of = |file: BorrowedFd<'_>| match rustix::termios::tcgetwinsize(file) {
            Ok(size) => Some(size.ws_col.into()).filter(|columns| *columns > 0),
            Err(_) => columns,
        };
        #[cfg(unix)]
        let (out, err) = (of(std::io::stdout().as_fd()), of(std::io::stderr().as_fd()));
        #[cfg(not(unix))]
        let (out, err) = (columns, columns);
        Self { out, err }
    }
}

/// stdout and stderr.
pub(crate) struct Output {
    settings: OutputSettings,
    out: Mutex<Box<dyn Write + Send>>,
    err: Mutex<Box<dyn Write + Send>>,
    bars: MultiProgress,
}

impl Output {
    pub(crate) fn new(
        settings: OutputSettings,
        out: Box<dyn Write + Send>,
        err: Box<dyn Write + Send>,
    ) -> Arc<Self> {
        Arc::new(Self { settings, out: Mutex::new(out), err: Mutex::new(err), bars: MultiProgress::new() })
    }

    pub(crate) fn settings(&self) -> OutputSettings {
        self.settings
    }

    /// Writes a result: the text for people, or the document for programs.
    pub(crate) fn result(&self, document: &impl Serialize, text: impl FnOnce() -> Text) {
        let text = match self.settings.format {
            // Pictures and reports of tests are written elsewhere; other results are in words.
            OutputFormat::Text | OutputFormat::Junit | OutputFormat::Picture(_) => {
                text().wrap(self.settings.widths.out, 0).to_string()
            }
            OutputFormat::Json => match serde_json::to_string_pretty(document) {
                Ok(json) => text::escape_json(&json) + "\n",
                Err(error) => return self.fail(format!("the result can't be written as JSON: {error}")),
            },
            OutputFormat::Yaml => match text::to_yaml(document) {
                Ok(yaml) => yaml,
                Err(error) => return self.fail(format!("the result can't be written as YAML: {error}")),
            },
        };
        self.own(&text);
    }

    /// Writes text to stdout unchanged: all of it is our own.
    pub(crate) fn own(&self, text: &str) {
        let mut out = lock_mutex(&self.out);
        // An error means that the reader has gone away.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Writes a line of progress, or a note.
    pub(crate) fn say(&self, text: impl Into<Text>) {
        self.write_line(Level::Info, text);
    }

    /// Writes a note that `-q` leaves out.
    pub(crate) fn note(&self, text: impl Into<Text>) {
        if !self.settings.quiet {
            self.say(text);
        }
    }

    /// Writes a line that needs attention.
    pub(crate) fn warn(&self, text: impl Into<Text>) {
        self.write_line(Level::Warn, text);
    }

    /// Writes an error.
    pub(crate) fn fail(&self, text: impl Into<Text>) {
        self.write_line(Level::Error, text);
    }

    /// Writes a message of the command line's parser: help has colours, an error quotes typed words. The help for a command that
    /// was typed without its subcommand is no error by itself.
    pub(crate) fn usage(&self, error: clap::Error) {
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return self.above_bars(error.render().to_string().trim_end());
        }
        if !error.use_stderr() {
            return self.own(&error.render().ansi().to_string());
        }
        let text = usage::quoting_harmlessly(error).render().to_string();
        self.fail(Text::from_own_text(text.strip_prefix("error: ").unwrap_or(&text)));
    }

    /// Writes an event for programs.
    fn json_event(&self, event: &Event, message: &str) {
        self.above_bars(&text::escape_json(&events::event_json(event, &Text::from(message).message())));
    }

    fn write_line(&self, level: Level, text: impl Into<Text>) {
        let used = match level {
            Level::Info => 0,
            Level::Warn => "warning: ".len(),
            Level::Error => "error: ".len(),
        };
        let width = self.settings.widths.err.filter(|_| self.settings.log == LogFormat::Text);
        let message = text.into().wrap(width, used).message();
        match (self.settings.log, level) {
            (LogFormat::Json, _) => self.above_bars(&text::escape_json(&events::json_words(level, &message))),
            (LogFormat::Text, Level::Info) => self.above_bars(&message),
            (LogFormat::Text, Level::Warn) => {
                self.above_bars(&format!("{WARNING}warning:{WARNING:#} {message}"));
            }
            (LogFormat::Text, Level::Error) => self.above_bars(&format!("{ERROR}error:{ERROR:#} {message}")),
        }
    }

    /// Writes a line of a library's log.
    fn write_log_line(&self, line: &str) {
        match self.settings.log {
            LogFormat::Json => self.above_bars(&text::escape_json(line)),
            LogFormat::Text => self.above_bars(&text::one_line(line)),
        }
    }

    /// Writes lines that are already harmless to stderr, without garbling a bar.
    fn above_bars(&self, lines: &str) {
        let write = || {
            let mut err = lock_mutex(&self.err);
            // If stderr is closed, there is no third place to report that.
            let _ = err.write_all(format!("{lines}\n").as_bytes()).and_then(|()| err.flush());
        };
        if self.settings.bars { self.bars.suspend(write) } else { write() }
    }
}

/// Sends log lines where all output for people goes.
pub(crate) struct LogLines(pub(crate) Arc<Output>);

impl Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // One call is one line.
        let line = String::from_utf8_lossy(bytes);
        self.0.write_log_line(line.strip_suffix('\n').unwrap_or(&line));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The time now, to the second, as in records.
pub(crate) fn current_time() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(crate) mod testing {
    //! Writers that a test can read.

    use super::*;

    /// Collects written bytes.
    #[derive(Clone, Default)]
    pub(crate) struct Written(Arc<Mutex<Vec<u8>>>);

    impl Written {
        pub(crate) fn text(&self) -> String {
            let plain = anstream::adapter::strip_bytes(&lock_mutex(&self.0)).into_vec();
            String::from_utf8(plain).unwrap()
        }
    }

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            lock_mutex(&self.0).write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Returns an output with default settings, and the text that it writes to stdout and stderr.
    pub(crate) fn output(verbose: u8, log: LogFormat) -> (Arc<Output>, Written, Written) {
        written(OutputSettings {
            format: OutputFormat::Text,
            log,
            verbose,
            quiet: false,
            bars: false,
            widths: Widths::default(),
        })
    }

    /// Returns an output with these settings, and the text that it writes to stdout and stderr.
    pub(crate) fn written(settings: OutputSettings) -> (Arc<Output>, Written, Written) {
        let (out, err) = (Written::default(), Written::default());
        (Output::new(settings, Box::new(out.clone()), Box::new(err.clone())), out, err)
    }
}
