//! From a command line to an exit code.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anstream::{AutoStream, ColorChoice};
use pivot_core::plan::Plan;
use pivot_engine::run::{self, Setup};
use pivot_engine::{Exit, Failure, Halter, Options, Stop};
use serde_json::json;

use crate::args::{self, Choices, Color, LogFormat, OutputFormat, Task};
use crate::ends::{self, OpenError, Opened};
use crate::next::Next;
use crate::output::{
    self, Document, ErrorDocument, Manner, Output, PlanDocument, Progress, ReportDocument, StatusDocument,
    Told,
};
use crate::signals::{self, Cut};
use crate::{exit, logging};

const UNTOUCHED: &str = "nothing is changed on either side";

/// Runs the program.
pub(crate) fn main(typed: Vec<OsString>) -> ExitCode {
    logging::quiet_panics();
    let code = std::panic::catch_unwind(|| run_typed(&typed)).unwrap_or(exit::code(Exit::Unexpected));
    exit::to_system(code)
}

fn run_typed(typed: &[OsString]) -> u8 {
    let cli = match args::parse(typed) {
        Ok(cli) => cli,
        Err(error) => {
            output_for(Color::Auto, plain()).usage(&error);
            return if error.use_stderr() { exit::code(Exit::Usage) } else { exit::DONE };
        }
    };
    let look = cli.look.clone();
    let terminal =
        std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    let manner = Manner {
        format: look.output,
        log: look.log_format,
        verbose: look.verbose,
        // Log lines and bars on one terminal would tear each other up.
        bars: terminal && look.log_format == LogFormat::Text && look.verbose < 2,
    };
    let output = output_for(look.color, manner);
    logging::start(look.verbose, look.log_format, terminal && look.color != Color::Never);
    match args::check(cli) {
        Ok(task) => dispatch(&task, &program(typed), &output),
        Err(args::UsageError(text)) => {
            output.fail(&text);
            output.say("For more information, try '--help'.");
            exit::code(Exit::Usage)
        }
    }
}

fn plain() -> Manner {
    Manner { format: OutputFormat::Text, log: LogFormat::Text, verbose: 0, bars: false }
}

fn output_for(color: Color, manner: Manner) -> Arc<Output> {
    let choice = match color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    let out = AutoStream::new(std::io::stdout(), choice);
    let err = AutoStream::new(std::io::stderr(), choice);
    Output::new(manner, Box::new(out), Box::new(err))
}

/// How we were called, for lines that say what to type.
fn program(typed: &[OsString]) -> String {
    let called = typed.first().and_then(|name| Path::new(name).file_stem()).and_then(|stem| stem.to_str());
    match called {
        Some("kubectl-pivot") => "kubectl pivot".into(),
        Some("clusterctl-pivot") => "clusterctl pivot".into(),
        _ => "pivot-host".into(),
    }
}

fn dispatch(task: &Task, program: &str, output: &Arc<Output>) -> u8 {
    let choices = match task {
        Task::Version => {
            let version = env!("CARGO_PKG_VERSION");
            let document = Document::new("Version", json!({"version": version}));
            output.result(|| format!("pivot-host {version}\n"), &document);
            return exit::DONE;
        }
        Task::Completion(shell) => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut args::command(None), "pivot-host", &mut script);
            output.text(&String::from_utf8_lossy(&script));
            return exit::DONE;
        }
        Task::Plan(choices)
        | Task::Move(choices)
        | Task::Status(choices)
        | Task::Resume(choices)
        | Task::Rollback(choices) => choices,
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            output.fail(&format!("no threads to work with: {error}"));
            return exit::code(Exit::Unexpected);
        }
    };
    let next = Next::new(program, &choices.connection);
    let code = runtime.block_on(until_cut(task, choices, next, output));
    // A cut run must not wait for a request that hangs.
    runtime.shutdown_background();
    code
}

async fn until_cut(task: &Task, choices: &Choices, next: Next, output: &Arc<Output>) -> u8 {
    let changes = matches!(task, Task::Move(_) | Task::Resume(_) | Task::Rollback(_));
    let halter = Halter::default();
    let cut = match signals::listen(halter.clone(), output.clone(), changes) {
        Ok(cut) => cut,
        Err(error) => {
            output.fail(&format!("no signals can be listened to: {error}"));
            return exit::code(Exit::Unexpected);
        }
    };
    let errand = Errand { choices, next, output, halter };
    let work = async {
        match task {
            Task::Plan(_) => errand.plan().await,
            Task::Move(_) => errand.go(Going::Move).await,
            Task::Resume(_) => errand.go(Going::Resume).await,
            Task::Rollback(_) => errand.roll_back().await,
            Task::Status(_) => errand.status().await,
            Task::Version | Task::Completion(_) => exit::DONE,
        }
    };
    tokio::select! {
        code = work => code,
        Ok(cut) = cut => match cut {
            Cut::Reading(signal) => 128 + signal,
            Cut::Forced => {
                output.fail("ended at once, as asked");
                output.standing("not known", &[errand.next.line("status"), errand.next.line("resume")]);
                exit::code(Exit::Unexpected)
            }
        },
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Going {
    Move,
    Resume,
}

/// One task and what it needs.
struct Errand<'a> {
    choices: &'a Choices,
    next: Next,
    output: &'a Arc<Output>,
    halter: Halter,
}

impl Errand<'_> {
    async fn plan(&self) -> u8 {
        let opened = match ends::to_read(&self.choices.ends).await {
            Ok(opened) => opened,
            Err(error) => return self.not_opened(&error),
        };
        let options = self.choices.options(opened.namespace.as_deref());
        let scope = options.scope.clone();
        let (source, target) = opened.labels();
        let progress = Progress::new(self.output.clone(), (source, target), true);
        let result = run::plan(self.setup(&opened, options, &progress)).await;
        progress.end(false);
        let show = |plan: &Plan| {
            let all = self.output.manner().verbose > 0;
            let document = PlanDocument::new(plan, source, target, &scope);
            self.output.result(|| Document::<PlanDocument<'_>>::text(plan, source, target, all), &document);
        };
        let stop = match result {
            Ok(plan) => {
                show(&plan);
                return exit::DONE;
            }
            Err(stop) => stop,
        };
        // What was found so far is shown, with all that speaks against it.
        let told = match (progress.plan(), &stop.failure) {
            (Some(mut plan), Failure::Refused(refusals)) => {
                plan.refusals.clone_from(refusals);
                show(&plan);
                Told::Refusals
            }
            (Some(plan), _) => {
                show(&plan);
                Told::Plan
            }
            (None, _) => Told::Nothing,
        };
        self.stopped(&stop, told)
    }

    async fn go(&self, going: Going) -> u8 {
        let mut options = self.choices.options(None);
        let opened = match ends::to_write(&self.choices.ends, &mut options).await {
            Ok(opened) => opened,
            Err(error) => return self.not_opened(&error),
        };
        let move_id = options.move_id.take();
        let options = Options { move_id, ..self.choices.options(opened.namespace.as_deref()) };
        let labels = opened.labels();
        let progress = Progress::new(self.output.clone(), labels, false);
        let setup = self.setup(&opened, options, &progress);
        let result = match going {
            Going::Move => run::start(setup).await,
            Going::Resume => run::resume(setup).await,
        };
        progress.end(result.is_ok());
        let report = match result {
            Ok(report) => report,
            Err(stop) => {
                if exit::of(&stop, self.choices.allow_empty) == exit::DONE {
                    self.output.result(|| format!("{stop}\n"), &ReportDocument::nothing(labels));
                    return exit::DONE;
                }
                return self.stopped(&stop, Told::Nothing);
            }
        };
        let Some(directory) = &opened.directory else {
            self.output
                .result(|| output::moved(&report, labels), &ReportDocument::done("Moved", &report, labels));
            return exit::DONE;
        };
        if let Err(error) = directory.finish(false).await {
            let state = "the source is as it was; the directory is incomplete: delete it, and name a new one";
            return self.failed(Exit::Unexpected, &format!("finishing the directory: {error}"), state);
        }
        self.output
            .result(|| output::copied(&report, labels), &ReportDocument::done("Copied", &report, labels));
        exit::DONE
    }

    async fn roll_back(&self) -> u8 {
        let mut options = self.choices.options(None);
        let opened = match ends::to_write(&self.choices.ends, &mut options).await {
            Ok(opened) => opened,
            Err(error) => return self.not_opened(&error),
        };
        let labels = opened.labels();
        let progress = Progress::new(self.output.clone(), labels, false);
        let result = run::rollback(self.setup(&opened, options, &progress)).await;
        progress.end(result.is_ok());
        match result {
            Ok(taken) => {
                let document = ReportDocument::taken_back(&taken, labels);
                self.output.result(|| output::taken_back(&taken, labels), &document);
                exit::DONE
            }
            Err(stop) => self.stopped(&stop, Told::Nothing),
        }
    }

    async fn status(&self) -> u8 {
        let opened = match ends::to_read(&self.choices.ends).await {
            Ok(opened) => opened,
            Err(error) => return self.not_opened(&error),
        };
        let labels = opened.labels();
        let progress = Progress::new(self.output.clone(), labels, false);
        let setup = self.setup(&opened, self.choices.options(None), &progress);
        match run::status(setup).await {
            Ok(status) => {
                let next: &[&str] = match &status.record {
                    Some((_, record)) if record.phase.committed() => &["resume"],
                    Some(_) => &["resume", "rollback"],
                    None => &[],
                };
                let next: Vec<String> = next.iter().map(|verb| self.next.line(verb)).collect();
                let text = || output::status(&status, labels, &next);
                self.output.result(text, &StatusDocument::new(&status, labels, next.clone()));
                exit::DONE
            }
            Err(stop) => self.stopped(&stop, Told::Nothing),
        }
    }

    fn setup(&self, opened: &Opened, options: Options, progress: &Arc<Progress>) -> Setup {
        Setup {
            sides: opened.sides(),
            options,
            plugins: Vec::new(),
            watcher: progress.clone(),
            halter: self.halter.clone(),
        }
    }

    fn not_opened(&self, error: &OpenError) -> u8 {
        match error {
            OpenError::Stop(stop) => self.stopped(stop, Told::Nothing),
            other => self.failed(Exit::Refused, &other.to_string(), UNTOUCHED),
        }
    }

    /// Says what went wrong outside the engine.
    fn failed(&self, exit: Exit, message: &str, state: &str) -> u8 {
        if self.output.manner().format != OutputFormat::Text {
            self.output.result(String::new, &ErrorDocument::other(exit, message, state));
        }
        self.output.fail(message);
        self.output.standing(state, &[]);
        exit::code(exit)
    }

    /// Says why the engine stopped.
    fn stopped(&self, stop: &Stop, told: Told) -> u8 {
        let next: Vec<String> = stop.next.iter().map(|verb| self.next.line(verb)).collect();
        if told == Told::Nothing && self.output.manner().format != OutputFormat::Text {
            self.output.result(String::new, &ErrorDocument::stop(stop, next.clone()));
        }
        self.output.stopped(stop, told, &next);
        exit::of(stop, self.choices.allow_empty)
    }
}
