//! The plugins of a move that may put data of Secrets into objects.

use std::sync::Arc;

use pivot_core::GroupKind;
use pivot_core::plugins::hooks::Hook;
use pivot_engine::Hooks;

/// Hooks that change objects.
const CHANGING_HOOKS: [Hook; 4] = [Hook::Hold, Hook::Adapt, Hook::Restore, Hook::Settle];

/// Plugins through which data of Secrets may get into objects.
#[derive(Default)]
pub(in crate::plugins) struct SecretCarriers {
    /// Plugins that see the data of Secrets.
    readers: Vec<Arc<dyn Hooks>>,
    /// Plugins that read objects which another carrier changes. `settle` alone asks questions and changes objects.
    relays: Vec<Arc<dyn Hooks>>,
}

impl SecretCarriers {
    pub(super) fn find<'a>(plugins: impl Iterator<Item = &'a Arc<dyn Hooks>>) -> Self {
        let (readers, mut others): (Vec<_>, Vec<_>) =
            plugins.cloned().partition(|plugin| plugin.describe().secret_data);
        let mut carriers = Self { readers, relays: Vec::new() };
        loop {
            let reads_data = |plugin: &Arc<dyn Hooks>| {
                plugin.reads().iter().any(|read| carriers.may_change_some(&read.kind))
            };
            let (relays, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(reads_data);
            if relays.is_empty() {
                return carriers;
            }
            carriers.relays.extend(relays);
            others = rest;
        }
    }

    /// Returns true for a kind whose objects a carrier may change.
    pub(super) fn may_change(&self, kind: &GroupKind) -> bool {
        let changes = |plugin: &Arc<dyn Hooks>| CHANGING_HOOKS.iter().any(|hook| plugin.changes(*hook, kind));
        self.readers.iter().any(changes)
            || self.relays.iter().any(|plugin| plugin.changes(Hook::Settle, kind))
    }

    /// Returns true for a pattern that may cover such a kind.
    fn may_change_some(&self, pattern: &GroupKind) -> bool {
        let seen = self.readers.iter().chain(&self.relays).flat_map(|plugin| &plugin.describe().kinds);
        let mut overlaps = seen.filter_map(|kind| pattern.narrower_of(kind));
        self.may_change(pattern) || overlaps.any(|kind| kind.kind == "*" || self.may_change(kind))
    }
}
