//! The kinds that the two sides of a move serve.
//!
//! A plugin whose granted kinds none of the sides serves would never be called with an object, so it isn't compiled. It still is a
//! plugin of the move: the record and a saved plan name it, so that a resumed run has the same plugins whatever is served then.

use std::collections::BTreeSet;
use std::sync::Arc;

use pivot_core::GroupKind;
use tokio::sync::SetOnce;

/// The kinds that the two sides serve, known once both are opened. Plugins that are being loaded wait for them.
#[derive(Clone, Debug, Default)]
pub struct ServedKinds(Arc<SetOnce<Option<BTreeSet<GroupKind>>>>);

impl ServedKinds {
    /// Sets the kinds that either side serves. Only the first set counts: a plugin is loaded once.
    pub fn set(&self, kinds: BTreeSet<GroupKind>) {
        let _ = self.0.set(Some(kinds));
    }

    /// Says that the kinds stay unknown, unless they are known: all plugins are loaded.
    pub fn give_up(&self) {
        let _ = self.0.set(None);
    }

    /// Waits until the kinds are known or stay unknown. Returns false if no side serves any of these kinds.
    pub async fn may_include(&self, patterns: &[GroupKind]) -> bool {
        let served = self.0.wait().await.as_ref();
        served.is_none_or(|served| {
            patterns.iter().any(|pattern| served.iter().any(|kind| pattern.covers(kind)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(kind: &str) -> GroupKind {
        GroupKind::new("x.io", kind)
    }

    #[tokio::test]
    async fn patterns_are_compared_with_served_kinds() {
        let served = ServedKinds::default();
        served.set([kind("Host")].into());
        served.give_up();
        assert!(served.may_include(&[kind("Other"), kind("*")]).await);
        assert!(!served.may_include(&[kind("Other"), GroupKind::new("y.io", "*")]).await);
    }

    #[tokio::test]
    async fn unknown_kinds_may_include_any() {
        let served = ServedKinds::default();
        served.give_up();
        assert!(served.may_include(&[kind("Host")]).await);
    }
}
