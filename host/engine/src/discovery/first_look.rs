//! The first reading of the source, begun beside the reading of the records: those may yet say that a move is under way
//! which has another scope, or which is past all looking. Then it is dropped.

use pivot_core::Both;
use pivot_core::reach::Wishes;
use pivot_core::scope::Scope;

use crate::checks::before_pause;
use crate::discovery::kinds::Kinds;
use crate::discovery::objects::{Sight, discover};
use crate::outcome::failure::Failure;
use crate::phases::namespaces::Namespaces;
use crate::requests::side::Handle;

/// What the first reading gave.
pub(crate) struct FirstLook {
    scope: Scope,
    pub(crate) sight: Sight,
    /// Namespaces of the target, asked for at the same time.
    pub(crate) namespaces: Namespaces,
}

impl FirstLook {
    pub(crate) async fn take(
        sides: Both<&Handle>,
        kinds: &Kinds,
        scope: &Scope,
        wishes: impl Future<Output = Result<Wishes, Failure>>,
    ) -> Result<Self, Failure> {
        before_pause::definitions_readable(kinds)?;
        let (sight, namespaces) = tokio::try_join!(
            discover(sides.source, &kinds.source, scope, wishes),
            Namespaces::likely(sides.target, kinds, scope),
        )?;
        Ok(Self { scope: scope.clone(), sight, namespaces })
    }

    /// Whether it looked at what is to be moved.
    pub(crate) fn is_of(&self, scope: &Scope) -> bool {
        self.scope == *scope
    }
}
