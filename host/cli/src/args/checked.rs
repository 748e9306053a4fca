//! The command line, checked and resolved as far as possible without contacting a server.
//!
//! Every flag is named where it is destructured, so that a new one can't be forgotten.

mod backup;
mod files;
mod handover;
mod moves;
mod under_way;
mod waits;

use pivot_core::messages::risk::AcceptedBy;
use pivot_engine::DryRun;

use self::backup::{backup, backup_job};
use self::files::report_file;
use self::handover::{cancel_handover, finish_handover, start_handover};
use self::moves::{build_move_choices, doctor, move_task, rbac};
use self::under_way::{about_a_move, resume_task, rollback_task};
use super::between::DirectoryEnd;
use super::choices::Choices;
use super::describe::description;
use super::flags::{
    Cli, Describe, Generate, HandoverVerb, OutputFormat, Picture, PlanArgs, PlanVerb, StatusArgs, Verb,
    VerifyArgs, Which,
};
use super::plugins::PluginVerb;
use super::risks;
use super::task::Task;
use super::usage::{Result, usage};

/// Turns flags into a task.
pub(crate) fn check(typed: Cli) -> Result<Task> {
    // Output flags are read before the rest, so that errors are formatted as asked, too.
    let Cli { look, verb } = typed;
    let task = task(verb)?;
    let is_drawn = match look.output {
        OutputFormat::Picture(picture) => match task {
            Task::Plan(_) => true,
            Task::SavedPlan(PlanVerb::Show { .. }) => picture == Picture::Html,
            _ => false,
        },
        _ => true,
    };
    if !is_drawn {
        return usage("-o dot, mermaid and html draw a plan: they go with `plan` and `move --dry-run`");
    }
    let makes_reports =
        matches!(task, Task::Plugin(PluginVerb::Rehearse(_) | PluginVerb::Replay(_) | PluginVerb::Test(_)));
    if look.output == OutputFormat::Junit && !makes_reports {
        return usage(
            "-o junit is a report of tests: it goes with `plugin rehearse`, `plugin replay` and `plugin test`",
        );
    }
    Ok(task)
}

fn task(verb: Verb) -> Result<Task> {
    Ok(match verb {
        Verb::Plan(typed) => {
            let PlanArgs { connection, handover, selection, tree, kept, out, saved } = *typed;
            match saved {
                Some(verb) => Task::SavedPlan(verb),
                None => {
                    // A plan that is saved accepts for the run that carries it out.
                    let by = if out.is_some() { AcceptedBy::Move } else { AcceptedBy::Plan };
                    let choices = build_move_choices(connection, selection, handover, DryRun::Plan, by)?;
                    Task::Plan(Choices { tree, out, report: report_file(kept)?, ..choices })
                }
            }
        }
        Verb::Doctor(typed) => doctor(*typed)?,
        Verb::Move(typed) => move_task(*typed)?,
        Verb::Status(typed) => {
            let StatusArgs { connection, which: Which { which } } = *typed;
            Task::Status(about_a_move("status", connection, false, None)?, which)
        }
        Verb::Backup(typed) => backup(*typed)?,
        Verb::Handover(HandoverVerb::Start(typed)) => start_handover(*typed)?,
        Verb::Handover(HandoverVerb::Finish(typed)) => finish_handover(*typed)?,
        Verb::Handover(HandoverVerb::Cancel(typed)) => cancel_handover(*typed)?,
        Verb::Resume(typed) => resume_task(*typed)?,
        Verb::Rollback(typed) => rollback_task(*typed)?,
        Verb::Describe(Describe::Cluster(typed)) => Task::Describe(description(*typed)?),
        Verb::Generate(Generate::Rbac(typed)) => rbac(*typed)?,
        Verb::Generate(Generate::Backup(typed)) => backup_job(*typed)?,
        Verb::Generate(Generate::Protection(typed)) => Task::Protection(typed),
        Verb::Generate(Generate::Controller(typed)) => Task::ControllerManifests(typed),
        Verb::Generate(Generate::Agent(typed)) => Task::AgentManifests(typed),
        Verb::Explain { code } => Task::Explain(code.as_deref().map(risks::risk).transpose()?),
        Verb::Verify(VerifyArgs { directory, identity, restore, with }) => {
            Task::Verify(DirectoryEnd { path: directory, keys: identity }, with, restore)
        }
        Verb::Sign(signing) => Task::Sign(signing),
        Verb::Plugin(verb) => Task::Plugin(verb),
        Verb::Controller(verb) => Task::Controller(verb),
        Verb::Agent(verb) => Task::Agent(verb),
        Verb::Version => Task::Version,
        Verb::Completion { shell } => Task::Completion(shell),
        Verb::Man { directory } => Task::Manual(directory),
    })
}
