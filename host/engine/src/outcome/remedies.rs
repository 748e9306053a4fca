//! What can be done about a plugin that stopped a move. That depends on how far the move is: from the first pause on its record
//! names the plugins, and a run that resumes it needs the same, past the commit unless the change is accepted.

use std::collections::BTreeSet;

use pivot_core::hooks::Hook;
use serde::{Deserialize, Serialize};

use crate::outcome::failure::{Exit, Failure};

/// One way out. Where there are several, each of them is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "remedy", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Remedy {
    /// Resume: what failed is asked again.
    ResumeAgain,
    /// Fix the plugin, then begin again: nothing is left of this attempt.
    Fix {
        /// Which plugin.
        plugin: String,
    },
    /// Switch the plugin off, then begin again.
    SwitchOff {
        /// Which plugin.
        plugin: String,
    },
    /// Let failing checks of the plugin pass, and resume: what an operator decides is no part of the digest that a record pins.
    LetCheckPass {
        /// Which plugin.
        plugin: String,
    },
    /// Roll back, which needs no plugin; fix the plugin, and move again.
    RollBackThenFix {
        /// Which plugin.
        plugin: String,
    },
    /// Roll back, which needs no plugin; switch the plugin off, and move again.
    RollBackThenSwitchOff {
        /// Which plugin.
        plugin: String,
    },
    /// Fix these plugins (all that took part, where none is named), and resume accepting that they changed.
    FixThenAcceptChange {
        /// Which plugin.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plugin: Option<String>,
    },
    /// Resolve what the plugins found, and resume.
    ResolveThenResume,
    /// Switch these plugins off, and resume accepting that: what they hold is then released without them.
    SwitchOffThenAcceptChange {
        /// Which plugins.
        plugins: Vec<String>,
    },
}

/// What to do about a stop that plugins made.
pub(crate) fn of(failure: &Failure, exit: Exit) -> Vec<Remedy> {
    match (failure, exit) {
        (Failure::Hook { plugin, hook, .. }, _) => of_hook(plugin.clone(), *hook, exit),
        (Failure::Gate(findings), Exit::PastCommit) => {
            let plugins: BTreeSet<String> = findings.iter().map(|(plugin, _)| plugin.clone()).collect();
            let plugins = plugins.into_iter().collect();
            vec![Remedy::ResolveThenResume, Remedy::SwitchOffThenAcceptChange { plugins }]
        }
        (Failure::Unsettled(_), _) => {
            vec![Remedy::ResumeAgain, Remedy::FixThenAcceptChange { plugin: None }]
        }
        _ => Vec::new(),
    }
}

fn of_hook(plugin: String, hook: Hook, exit: Exit) -> Vec<Remedy> {
    let check_again = || vec![Remedy::ResumeAgain, Remedy::LetCheckPass { plugin: plugin.clone() }];
    match (exit, hook) {
        (Exit::PartWay, Hook::Check) => [check_again(), vec![Remedy::RollBackThenFix { plugin }]].concat(),
        (Exit::PastCommit, Hook::Check) => {
            [check_again(), vec![Remedy::FixThenAcceptChange { plugin: Some(plugin) }]].concat()
        }
        (Exit::PartWay, _) => {
            vec![Remedy::RollBackThenFix { plugin: plugin.clone() }, Remedy::RollBackThenSwitchOff { plugin }]
        }
        (Exit::PastCommit, _) => vec![Remedy::FixThenAcceptChange { plugin: Some(plugin) }],
        _ => vec![Remedy::Fix { plugin: plugin.clone() }, Remedy::SwitchOff { plugin }],
    }
}
