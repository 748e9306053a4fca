//! The report of a run: begun before anything else, and written however the run ends.

use std::sync::{Arc, Mutex, PoisonError};

use pivot_engine::{Exit, Stop, Watcher};
use serde::Serialize;

use crate::args::Choices;
use crate::exit;
use crate::output::{self, Document, Ending, ErrorDocument, Output, Progress, Recorder, Text};
use crate::private_file::PrivateFile;

pub(crate) struct Reporting {
    command: &'static str,
    /// User who runs the command.
    by: String,
    /// True if a side is a directory.
    files: bool,
    output: Arc<Output>,
    recorder: Arc<Recorder>,
    /// None once it is written.
    file: Mutex<Option<PrivateFile>>,
}

impl Reporting {
    /// Reserves the file, if there is to be one.
    pub(crate) fn begin(
        command: &'static str,
        choices: &Choices,
        output: &Arc<Output>,
    ) -> Result<Option<Self>, String> {
        let Some(path) = &choices.report else { return Ok(None) };
        let file = Mutex::new(Some(PrivateFile::reserve(path, "the report", choices.inputs())?));
        let (by, files) = (choices.options(None).operator, choices.ends.of_files());
        Ok(Some(Self { command, by, files, output: output.clone(), recorder: Recorder::begin(), file }))
    }

    /// The file, for a plan: it is written as the plan.
    pub(crate) fn take_file(&self) -> Option<PrivateFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Records and shows events, because both sides are open.
    pub(crate) fn watching(&self, sides: (&str, &str), progress: &Arc<Progress>) -> Arc<dyn Watcher> {
        self.recorder.set_sides(sides, progress);
        self.recorder.clone()
    }

    /// Reports the success of the run.
    pub(crate) fn report_success(
        &self,
        outcome: &'static str,
        move_id: Option<&str>,
        document: &impl Serialize,
    ) {
        let ending = self.ending(outcome, exit::DONE, document);
        self.write_report(&Ending { move_id: move_id.map(str::to_owned), ..ending });
    }

    /// The engine stopped.
    pub(crate) fn report_stop(&self, stop: &Stop, code: u8, document: &Document<ErrorDocument>) {
        self.write_report(&Ending {
            move_id: stop.move_id.clone(),
            message: output::failure_lines(stop),
            refusals: output::refusals_of(&stop.failure).to_vec(),
            ..self.ending("Stopped", code, document)
        });
    }

    /// The run failed outside the engine.
    pub(crate) fn report_failure(&self, exit: Exit, document: &Document<ErrorDocument>, message: &Text) {
        let message = message.message().lines().map(str::to_owned).collect();
        self.write_report(&Ending { message, ..self.ending("Stopped", exit::exit_code(exit), document) });
    }

    fn ending(&self, outcome: &'static str, code: u8, document: &impl Serialize) -> Ending {
        Ending {
            outcome,
            code,
            move_id: None,
            result: serde_json::to_value(document).unwrap_or_default(),
            files: self.files,
            message: Vec::new(),
            refusals: Vec::new(),
        }
    }

    /// Writes the report. A failure to write undoes nothing.
    fn write_report(&self, ending: &Ending) {
        let Some(file) = self.take_file() else { return };
        let path = file.path().to_owned();
        let text = self.recorder.build_report(self.command, &self.by, file.is_page(), ending);
        match file.write_text(&text) {
            Ok(()) => self.output.note(format!("report: {}", path.display())),
            Err(error) => {
                self.output.warn(format!("the report can't be written to {}: {error}", path.display()));
            }
        }
    }
}
