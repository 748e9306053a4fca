//! A move under way, as far as the sides that were read know.

use pivot_core::Side;
use pivot_core::records::record::Record;
use pivot_core::request::scope::Scope;
use serde::{Deserialize, Serialize};

use crate::base::outcome::one_sided::OneSidedMove;

/// The state of one move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveStatus {
    /// The side whose record decides. If that side can't be read, the record is the other's, and the move may be further.
    pub decides: Side,
    /// That record.
    pub record: Record,
    /// Whether the move's target differs from this run's.
    pub elsewhere: bool,
    /// Whether the move was rolled back without its target, which still has a record of it.
    pub orphaned: bool,
    /// Scope of the move, by the source's own record: anyone may have written the target's.
    #[serde(skip)]
    pub asked: Option<Scope>,
    /// Verdict from the objects, if a side that was read has no record of the move.
    #[serde(skip)]
    pub one_sided: Option<OneSidedMove>,
    /// Whether the move has ended, and the source went back to before it. No side has a record: this one is made from the target's
    /// summary.
    #[serde(skip)]
    pub has_ended: bool,
    /// Whether its source was made authoritative again after the commit.
    #[serde(skip)]
    pub recovered: bool,
    /// The side of this move that was not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Side>,
}
