//! The first reading of the source, which begins while the records are read.
//!
//! The reading is dropped if the records show a move under way with another scope, or a move that is past the point where a
//! reading helps.

use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::risk::AcceptedRisks;
use pivot_core::objects::names;
use pivot_core::plugins::reach::Wishes;
use pivot_core::request::scope::Scope;
use pivot_core::{Both, GroupKind, Side};

use crate::base::kinds::Kinds;
use crate::base::options::Options;
use crate::base::outcome::failure::Failure;
use crate::base::requests::side::Handle;
use crate::read::namespaces::Namespaces;
use crate::read::objects::{SourceObjects, discover_objects};

/// The code of the refusal of a source whose definitions the user can't read.
pub(crate) const DEFINITIONS_UNREADABLE: &str = "definitions-unreadable";

/// The result of the first reading.
pub(crate) struct FirstReading {
    scope: Scope,
    confined: Option<Side>,
    pub(crate) source_objects: SourceObjects,
    /// Namespaces of the target, looked up at the same time.
    pub(crate) namespaces: Namespaces,
}

/// Results of the first reading other than the plan.
pub(crate) struct FirstReads {
    /// Namespaces of the target, looked up at the same time.
    pub(crate) namespaces: Namespaces,
    /// The risks that the plan needs accepted.
    pub(crate) needed: AcceptedRisks,
}

impl FirstReading {
    pub(crate) async fn read_sides(
        sides: Both<&Handle>,
        kinds: &Kinds,
        (scope, confined): (&Scope, Option<Side>),
        wishes: impl Future<Output = Result<Wishes, Failure>>,
    ) -> Result<Self, Failure> {
        check_definitions_readable(kinds)?;
        let (source_objects, namespaces) = tokio::try_join!(
            discover_objects(sides.source, &kinds.source, (scope, confined), wishes),
            Namespaces::look_up_likely(sides.target, kinds, scope),
        )?;
        Ok(Self { scope: scope.clone(), confined, source_objects, namespaces })
    }

    /// Returns true if the source was read with the scope and the confinement of these options.
    pub(crate) fn has_scope_of(&self, options: &Options) -> bool {
        self.scope == options.scope && self.confined == options.confined
    }
}

/// Refuses a source whose definitions the user can't read: their labels select the kinds that move.
fn check_definitions_readable(kinds: &Kinds) -> Result<(), Failure> {
    let cluster = kinds.source.get(&GroupKind::new(names::GROUP_CLUSTER, "Cluster"));
    if !cluster.is_some_and(|kind| kind.labels.unread) {
        return Ok(());
    }
    Err(Failure::from_refusal(Refusal {
        code: DEFINITIONS_UNREADABLE,
        side: Side::Source,
        object: None,
        others: Vec::new(),
        message: "no permission to list CustomResourceDefinitions, whose labels select the kinds that move".into(),
        remedies: vec![
            "grant `list` on customresourcedefinitions.apiextensions.k8s.io in the source, or use another user".into(),
        ],
    }))
}
