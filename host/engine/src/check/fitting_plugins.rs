//! Proposes the bundled plugins that are made for the kinds of a plan.

use std::collections::BTreeSet;

use pivot_core::checks::fitting_plugins::{PLUGIN_FITS, find_fitting_plugins, find_handling_plugin};
use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;

use crate::base::events::Event;
use crate::base::job::Job;
use crate::read::snapshot::Snapshot;

/// Reports a note for each plugin that fits and takes no part, except for plugins that a refusal offers.
pub(crate) fn propose_plugins(job: &Job, snapshot: &Snapshot, refused: &[Refusal]) {
    let remedies = refused.iter().flat_map(|refusal| &refusal.remedies);
    let mut known: BTreeSet<&str> = remedies
        .filter_map(|remedy| match remedy {
            Remedy::EnablePlugin { plugin, .. } => Some(plugin.as_str()),
            Remedy::AddPlugin { kind } => find_handling_plugin(kind),
            _ => None,
        })
        .collect();
    known.extend(job.plugins.iter().map(|plugin| plugin.describe().name.as_str()));
    let fitting = find_fitting_plugins(&snapshot.inventory, &snapshot.plan, job.target.end_kind);
    for (plugin, kind) in fitting.into_iter().filter(|(plugin, _)| !known.contains(plugin)) {
        let text =
            format!("bundled plugin {plugin} takes no part, and is made for objects of this plan: {kind}");
        let directory = job.options.plugin_directory.clone();
        let remedies = vec![Remedy::EnablePlugin { plugin: plugin.to_owned(), directory }];
        job.report(Event::Note { code: PLUGIN_FITS.to_owned(), object: None, text, remedies });
    }
}
