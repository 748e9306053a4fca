//! The first reading of the source, begun while the records are read. If those show a move under way that has another scope, or
//! is past the point where a reading helps, this one is dropped.

use pivot_core::reach::Wishes;
use pivot_core::scope::Scope;
use pivot_core::{Both, Side};

use crate::checks::before_pause;
use crate::discovery::kinds::Kinds;
use crate::discovery::namespaces::Namespaces;
use crate::discovery::objects::{SourceObjects, discover};
use crate::options::Options;
use crate::outcome::failure::Failure;
use crate::requests::side::Handle;

/// The result of the first reading.
pub(crate) struct FirstReading {
    scope: Scope,
    confined: Option<Side>,
    pub(crate) source_objects: SourceObjects,
    /// Namespaces of the target, looked up at the same time.
    pub(crate) namespaces: Namespaces,
}

impl FirstReading {
    pub(crate) async fn take(
        sides: Both<&Handle>,
        kinds: &Kinds,
        (scope, confined): (&Scope, Option<Side>),
        wishes: impl Future<Output = Result<Wishes, Failure>>,
    ) -> Result<Self, Failure> {
        before_pause::definitions_readable(kinds)?;
        let (source_objects, namespaces) = tokio::try_join!(
            discover(sides.source, &kinds.source, (scope, confined), wishes),
            Namespaces::likely(sides.target, kinds, scope),
        )?;
        Ok(Self { scope: scope.clone(), confined, source_objects, namespaces })
    }

    /// Returns true if the source was read with this scope, and as confined.
    pub(crate) fn is_of(&self, options: &Options) -> bool {
        self.scope == options.scope && self.confined == options.confined
    }
}
