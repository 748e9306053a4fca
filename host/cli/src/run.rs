//! From a command line to an exit code.

use std::ffi::OsString;
use std::fs;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anstream::{AutoStream, ColorChoice};
use pivot_engine::{Exit, Halter};
use pivot_places::current_context;
use pivot_runtime::{TrialLimits, try_compile};
use serde_json::json;

use crate::args::{self, Choices, Color, ControllerVerb, LogFormat, OutputFormat, PluginVerb, Task};
use crate::commands::{Command, MoveOrResume};
use crate::next::Commands;
use crate::output::{Document, Output, OutputSettings, Widths};
use crate::signals::{self, Interrupted};
use crate::{
    agent, authorship, controller, describe, exit, explain, logging, plan_commands, plugins, protection,
    verify,
};

/// Runs the program.
pub(crate) fn main(typed: Vec<OsString>) -> ExitCode {
    logging::quiet_panics();
    let code = std::panic::catch_unwind(|| run_typed(&typed)).unwrap_or(exit::exit_code(Exit::Unexpected));
    exit::to_system(code)
}

/// Name of the program that kubectl asks for completions.
const COMPLETING: &str = "kubectl_complete-pivot";

fn run_typed(typed: &[OsString]) -> u8 {
    if args::invoked_name(typed) == Some(COMPLETING) {
        output_for(Color::Never, plain_settings()).own(&args::candidates(typed.get(1..).unwrap_or_default()));
        return exit::DONE;
    }
    let cli = match args::parse(typed) {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { exit::exit_code(Exit::Usage) } else { exit::DONE };
            output_for(Color::Auto, plain_settings()).usage(error);
            return code;
        }
    };
    let (look, color) = (cli.look.clone(), cli.color());
    let terminal =
        std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    let settings = OutputSettings {
        format: look.output,
        log: look.log_format,
        verbose: look.verbose,
        quiet: look.quiet,
        // Log lines and bars would garble each other on a terminal.
        bars: terminal && look.log_format == LogFormat::Text && look.verbose < 2 && !look.quiet,
        widths: Widths::of_terminals(),
    };
    let output = output_for(color, settings);
    logging::start_logging(&look, &output);
    args::describe_variables_without_effect().into_iter().for_each(|text| output.warn(text));
    match args::check(cli) {
        Ok(task) => dispatch_task(&task, typed, &output),
        Err(args::UsageError(text)) => {
            output.fail(text);
            output.say("For more information, try '--help'.");
            exit::exit_code(Exit::Usage)
        }
    }
}

fn plain_settings() -> OutputSettings {
    OutputSettings {
        format: OutputFormat::Text,
        log: LogFormat::Text,
        verbose: 0,
        quiet: false,
        bars: false,
        widths: Widths::default(),
    }
}

fn output_for(color: Color, settings: OutputSettings) -> Arc<Output> {
    let choice = match color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    let out = AutoStream::new(std::io::stdout(), choice);
    let err = AutoStream::new(std::io::stderr(), choice);
    Output::new(settings, Box::new(out), Box::new(err))
}

/// The name we were called by, for lines that suggest a command.
fn program_name(typed: &[OsString]) -> String {
    match args::invoked_name(typed) {
        Some("kubectl-pivot") => "kubectl pivot".into(),
        Some("clusterctl-pivot") => "clusterctl pivot".into(),
        _ => "pivot-host".into(),
    }
}

fn dispatch_task(task: &Task, typed: &[OsString], output: &Arc<Output>) -> u8 {
    let program = &program_name(typed);
    let choices = match task {
        Task::Version => {
            let version = env!("CARGO_PKG_VERSION");
            let document = Document::new("Version", json!({"version": version}));
            output.result(&document, || format!("pivot-host {version}").into());
            return exit::DONE;
        }
        Task::Completion(shell) => {
            output.own(&args::script(*shell));
            return exit::DONE;
        }
        Task::Manual(directory) => {
            return match write_manual(directory) {
                Ok(()) => exit::DONE,
                Err(error) => {
                    output.fail(format!("can't write the manual to {}: {error}", directory.display()));
                    exit::exit_code(Exit::Unexpected)
                }
            };
        }
        Task::Plugin(verb) => return run_plugin_command(verb, program, output),
        Task::Describe(description) => {
            let Some(runtime) = start_threads(output) else { return exit::exit_code(Exit::Unexpected) };
            return runtime.block_on(describe::run(description, output));
        }
        Task::Verify(directory, with, restore) => {
            let Some(runtime) = start_threads(output) else { return exit::exit_code(Exit::Unexpected) };
            return runtime.block_on(verify::run(directory, with, *restore, output));
        }
        Task::Sign(signing) => return authorship::run(signing, output),
        Task::SavedPlan(verb) => return plan_commands::run(verb, output),
        Task::Explain(risk) => return explain::run(*risk, output),
        Task::Controller(ControllerVerb::Run(typed)) => {
            let Some(runtime) = start_threads(output) else { return exit::exit_code(Exit::Unexpected) };
            let code = runtime.block_on(controller::run(typed, output));
            runtime.shutdown_background();
            return code;
        }
        Task::ControllerManifests(typed) => return controller::print_manifests(typed, output),
        Task::Agent(verb) => {
            let Some(runtime) = start_threads(output) else { return exit::exit_code(Exit::Unexpected) };
            let code = runtime.block_on(agent::run(verb, output));
            runtime.shutdown_background();
            return code;
        }
        Task::AgentManifests(typed) => return agent::print_manifests(typed, output),
        Task::Protection(protection) => return protection::run(protection, output),
        Task::Plan(choices)
        | Task::Doctor(choices)
        | Task::Move(choices)
        | Task::Status(choices, _)
        | Task::Resume(choices, _)
        | Task::Rollback(choices, _)
        | Task::Rbac(choices, _)
        | Task::BackupJob(choices, _) => choices,
    };
    let Some(choices) = &name_implied_target(choices, output) else { return exit::exit_code(Exit::Usage) };
    let Some(runtime) = start_threads(output) else { return exit::exit_code(Exit::Unexpected) };
    let again: Vec<String> = typed.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let commands = Commands::new(program, choices, &again);
    let code = runtime.block_on(until_interrupted(task, choices, commands, output));
    // An aborted run must not wait for a request that hangs.
    runtime.shutdown_background();
    code
}

/// Prints which cluster is the target if no flag names it, also with -q: it may be another one than the user thinks of. Returns none
/// without a context, because a command that continues the move would have to name one.
fn name_implied_target(choices: &Choices, output: &Output) -> Option<Choices> {
    if !choices.target_is_implied {
        return Some(choices.clone());
    }
    match current_context() {
        Some(name) => {
            output.say(format!("target: context {name} (current context, as clusterctl does)"));
            Some(choices.clone().with_target_context(&name))
        }
        None => {
            output.fail("no target is named, and the kubeconfig has no current context: name one with --to-kubeconfig or --to-kubeconfig-context");
            None
        }
    }
}

/// Each of its pages is a file for everyone.
fn write_manual(directory: &Path) -> std::io::Result<()> {
    for (path, text) in args::pages()? {
        let path = directory.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)?;
    }
    Ok(())
}

fn run_plugin_command(verb: &PluginVerb, program: &str, output: &Arc<Output>) -> u8 {
    // Before other threads exist: their stacks would count against the limit.
    if let PluginVerb::TryCompile { memory, seconds, size } = *verb {
        return try_compile(TrialLimits { memory, seconds, size });
    }
    let Some(runtime) = start_threads(output) else { return exit::exit_code(Exit::Unexpected) };
    runtime.block_on(plugins::run(verb, program, output))
}

fn start_threads(output: &Output) -> Option<tokio::runtime::Runtime> {
    match tokio::runtime::Runtime::new() {
        Ok(runtime) => Some(runtime),
        Err(error) => {
            output.fail(format!("can't start threads: {error}"));
            None
        }
    }
}

async fn until_interrupted(task: &Task, choices: &Choices, commands: Commands, output: &Arc<Output>) -> u8 {
    let changes = matches!(task, Task::Move(_) | Task::Resume(..) | Task::Rollback(..));
    let halter = Halter::default();
    let interrupted = match signals::listen_for_signals(halter.clone(), output.clone(), changes) {
        Ok(interrupted) => interrupted,
        Err(error) => {
            output.fail(format!("can't listen for signals: {error}"));
            return exit::exit_code(Exit::Unexpected);
        }
    };
    let command = Command::new(choices, commands, output, halter);
    let command = match task {
        Task::Plan(_) => command.reporting("plan"),
        Task::Move(_) | Task::Resume(..) | Task::Rollback(..) => {
            command.reporting(choices.command).and_then(Command::recording)
        }
        _ => Ok(command),
    };
    let command = match command {
        Ok(command) => command,
        Err(code) => return code,
    };
    let work = async {
        match task {
            Task::Plan(_) => command.plan().await,
            Task::Doctor(_) => command.doctor().await,
            Task::Move(_) => command.move_or_resume(MoveOrResume::Move).await,
            Task::Resume(_, resume) => command.move_or_resume(MoveOrResume::Resume(resume)).await,
            Task::Rollback(_, rollback) => command.roll_back(rollback).await,
            Task::Status(_, move_id) => command.status(move_id.as_deref()).await,
            Task::Rbac(_, roles) => command.rbac(roles).await,
            Task::BackupJob(_, job) => command.backup_job(job).await,
            Task::SavedPlan(_)
            | Task::Describe(_)
            | Task::Explain(_)
            | Task::Verify(..)
            | Task::Sign(_)
            | Task::Plugin(_)
            | Task::Controller(_)
            | Task::ControllerManifests(_)
            | Task::Agent(_)
            | Task::AgentManifests(_)
            | Task::Protection(_)
            | Task::Version
            | Task::Completion(_)
            | Task::Manual(_) => exit::DONE,
        }
    };
    let code = tokio::select! {
        code = work => code,
        Ok(interrupted) = interrupted => match interrupted {
            Interrupted::Reading(signal) => 128 + signal,
            Interrupted::Forced => {
                command.report_forced_exit();
                exit::exit_code(Exit::Unexpected)
            }
        },
    };
    command.discard_empty_recording();
    code
}
