//! What can be done about a plugin that stopped a move. That depends on how far the move is: from the first pause on its record
//! names the plugins, and a run that takes it up needs the same, past the commit unless `--accept-plugin-change` is given.

use std::collections::BTreeSet;

use pivot_core::hooks::Hook;

use crate::outcome::failure::{Exit, Failure};

/// What to do about a stop that plugins made, as it follows what failed.
pub(crate) fn of(failure: &Failure, exit: Exit) -> Option<String> {
    match (failure, exit) {
        (Failure::Hook { plugin, hook: Hook::Check, .. }, Exit::PartWay) => Some(format!(
            "; resume asks it again; {}; or roll back, mend it, and move again",
            let_pass(plugin)
        )),
        (Failure::Hook { plugin, hook: Hook::Check, .. }, Exit::PastCommit) => Some(format!(
            "; resume asks it again; {}; or mend it, and resume with --accept-plugin-change",
            let_pass(plugin)
        )),
        (Failure::Hook { plugin, .. }, Exit::PartWay) => Some(format!(
            "; roll back, which needs no plugin; then mend it, or {}, and move again (a resume needs the plugins that the \
             move was begun with)",
            switch_off(plugin)
        )),
        (Failure::Hook { .. }, Exit::PastCommit) => {
            Some("; mend it, and resume with --accept-plugin-change".to_owned())
        }
        (Failure::Hook { plugin, .. }, _) => Some(format!("; mend it, or {}", switch_off(plugin))),
        (Failure::Gate(findings), Exit::PastCommit) => {
            let plugins: BTreeSet<&str> = findings.iter().map(|(plugin, _)| plugin.as_str()).collect();
            let off: Vec<String> = plugins.into_iter().map(switch_off).collect();
            Some(format!(
                "\nresolve that and resume; or, to go on without, {}, and resume with --accept-plugin-change: what it holds is \
                 then let go of without it",
                off.join(", ")
            ))
        }
        (Failure::Unsettled(_), _) => {
            Some("\nresume asks again; plugins that were mended need --accept-plugin-change".to_owned())
        }
        _ => None,
    }
}

fn switch_off(plugin: &str) -> String {
    format!("switch it off (enabled = false below [plugins.{plugin}] in plugins.toml)")
}

/// What an operator decides is no part of the digest that a record pins.
fn let_pass(plugin: &str) -> String {
    format!(
        "to let its failing checks pass, on-failure = {{ check = \"warn\" }} below [plugins.{plugin}] in plugins.toml"
    )
}
