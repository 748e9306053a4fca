//! Risks that users accept by their code: the one table of codes, and the set of risks that a run accepts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::GroupKind;

/// A risk that a user accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Risk {
    /// Copies lack references to owners of these kinds.
    OwnerDropped,
    /// Objects of these kinds are garbage-collected with their owners in the source.
    DependentsLost,
    /// These kinds are dangerous to move, and no plugin handles them.
    NoPlugin,
    /// Objects of these kinds, such as pools, are used on both sides.
    Shared,
    /// Objects of these kinds contain the old name of a mapped namespace.
    OldNamespace,
    /// Objects of these kinds stay, and moved objects that need them don't find them in the target.
    Dangling,
    /// GitOps owners of these kinds create moved objects again in the source.
    Gitops,
    /// Clusters that a user paused move, and stay paused.
    AlreadyPaused,
    /// Clusters and Machines that are still being provisioned move.
    Unprovisioned,
    /// The source is a directory, and another management cluster may still run its objects.
    SourceMayRun,
    /// Shared objects of the target are used although they differ.
    ExistingDiffers,
    /// The move doesn't wait for the source's controllers to acknowledge the pause.
    PauseUnchecked,
    /// The move is committed although the target's controllers of these kinds haven't shown that they see the copies.
    Unseen,
    /// The move doesn't wait for the target's controllers of these kinds.
    Unverified,
    /// The move doesn't wait for the target's controllers.
    TakeoverUnchecked,
    /// The plugins differ from the plugins that the move began with.
    PluginsChanged,
    /// After a handover, copies of these kinds changed, or are gone, in the target.
    CopyChanged,
    /// The directory of a handover may have been imported.
    MaybeImported,
    /// The source becomes authoritative again after its target lost the move.
    WorldChanged,
    /// The lease of another run is broken.
    LeaseBroken,
    /// The move ends without its source.
    WithoutSource,
    /// The move is rolled back without its target.
    WithoutTarget,
}

impl Risk {
    /// All risks.
    pub const ALL: [Self; 22] = [
        Self::OwnerDropped,
        Self::DependentsLost,
        Self::NoPlugin,
        Self::Shared,
        Self::OldNamespace,
        Self::Dangling,
        Self::Gitops,
        Self::AlreadyPaused,
        Self::Unprovisioned,
        Self::SourceMayRun,
        Self::ExistingDiffers,
        Self::PauseUnchecked,
        Self::Unseen,
        Self::Unverified,
        Self::TakeoverUnchecked,
        Self::PluginsChanged,
        Self::CopyChanged,
        Self::MaybeImported,
        Self::WorldChanged,
        Self::LeaseBroken,
        Self::WithoutSource,
        Self::WithoutTarget,
    ];

    /// The row of the risk in the one table of risks.
    const fn row(self) -> Row {
        use AcceptedBy::{
            CancelHandover, FinishHandover, Move, Pivot, Plan, Resume, Rollback, StartHandover,
        };
        match self {
            Self::OwnerDropped => Row(
                "owner-dropped",
                Kinds::Each,
                Extent::Scope,
                &[Move, StartHandover, Plan, Pivot],
                "copies lack their references to owners of these kinds",
            ),
            Self::DependentsLost => Row(
                "dependents-lost",
                Kinds::Each,
                Extent::Scope,
                &[Move, StartHandover, Plan, Pivot],
                "objects of these kinds are garbage-collected with their owners in the source",
            ),
            Self::NoPlugin => Row(
                "no-plugin",
                Kinds::Each,
                Extent::Scope,
                &[Move, StartHandover, Plan, Pivot],
                "these kinds are dangerous to move, and no plugin handles them",
            ),
            Self::Shared => Row(
                "shared",
                Kinds::Each,
                Extent::Scope,
                &[Move, StartHandover, Plan, Pivot],
                "objects of these kinds, such as pools, are used on both sides",
            ),
            Self::OldNamespace => Row(
                "old-namespace",
                Kinds::Each,
                Extent::Scope,
                &[Move, StartHandover, Plan, Pivot],
                "objects of these kinds keep the old name of a mapped namespace",
            ),
            Self::Dangling => Row(
                "dangling",
                Kinds::Each,
                Extent::Run,
                &[Move, StartHandover, Plan, Resume, Pivot],
                "objects of these kinds, which moved objects need, are missing in the target",
            ),
            Self::Gitops => Row(
                "gitops",
                Kinds::Each,
                Extent::Run,
                &[Move, StartHandover, FinishHandover, Plan, Resume, Pivot],
                "GitOps owners of these kinds may create moved objects again in the source",
            ),
            Self::AlreadyPaused => Row(
                "already-paused",
                Kinds::None,
                Extent::Scope,
                &[Move, StartHandover, Plan, Pivot],
                "Clusters that a user paused move, and stay paused",
            ),
            Self::Unprovisioned => Row(
                "unprovisioned",
                Kinds::None,
                Extent::Scope,
                &[Move, StartHandover, Plan, Pivot],
                "Clusters and Machines move while they are being provisioned",
            ),
            Self::SourceMayRun => Row(
                "source-may-run",
                Kinds::None,
                Extent::Scope,
                &[Move, Plan],
                "another management cluster may still run the objects in the directory",
            ),
            Self::ExistingDiffers => Row(
                "existing-differs",
                Kinds::None,
                Extent::Run,
                &[Move, StartHandover, Plan, Resume, Pivot],
                "shared objects of the target are used although they differ",
            ),
            Self::PauseUnchecked => Row(
                "pause-unchecked",
                Kinds::None,
                Extent::Run,
                &[Move, StartHandover, Resume, Pivot],
                "the source's controllers don't have to acknowledge the pause",
            ),
            Self::Unseen => Row(
                "unseen",
                Kinds::Each,
                Extent::Run,
                &[Move, Plan, Resume, Pivot],
                "the target's controllers of these kinds don't have to show before the commit that they see the copies",
            ),
            Self::Unverified => Row(
                "unverified",
                Kinds::Each,
                Extent::Run,
                &[Move, StartHandover, Plan, Resume, FinishHandover, Pivot],
                "the target's controllers of these kinds don't have to show that they took over",
            ),
            Self::TakeoverUnchecked => Row(
                "takeover-unchecked",
                Kinds::None,
                Extent::Run,
                &[Move, StartHandover, Plan, Resume, FinishHandover, Pivot],
                "the target's controllers don't have to show that they took over",
            ),
            Self::PluginsChanged => Row(
                "plugins-changed",
                Kinds::None,
                Extent::Run,
                &[Resume, FinishHandover, Pivot],
                "the plugins differ from the plugins that the move began with",
            ),
            Self::CopyChanged => Row(
                "copy-changed",
                Kinds::Each,
                Extent::Run,
                &[Resume, FinishHandover, Pivot],
                "copies of these kinds are gone since the target took over, or changed since they were imported",
            ),
            Self::MaybeImported => Row(
                "maybe-imported",
                Kinds::None,
                Extent::Run,
                &[CancelHandover],
                "the source is unpaused although its handover may have been imported",
            ),
            Self::WorldChanged => Row(
                "world-changed",
                Kinds::None,
                Extent::Run,
                &[Resume, Rollback],
                "one side of the move went back to an earlier state, and what it did with machines since is unknown",
            ),
            Self::LeaseBroken => Row(
                "lease-broken",
                Kinds::None,
                Extent::Run,
                &[],
                "the lease of another run is broken at once",
            ),
            Self::WithoutSource => {
                Row("without-source", Kinds::None, Extent::Run, &[], "the move ends without its source")
            }
            Self::WithoutTarget => Row(
                "without-target",
                Kinds::None,
                Extent::Run,
                &[],
                "the move is rolled back without its target",
            ),
        }
    }

    /// Word for the risk in commands, documents, events and Pivots.
    pub fn code(self) -> &'static str {
        self.row().0
    }

    /// Returns true if the risk is accepted for one kind of objects at a time.
    pub fn takes_kinds(self) -> bool {
        self.row().1 == Kinds::Each
    }

    /// Returns true if the risk concerns the choice of objects. It is accepted when the move begins, and its record keeps it.
    /// Other risks concern one run, and a run that resumes the move can accept them, too.
    pub fn is_of_scope(self) -> bool {
        self.row().2 == Extent::Scope
    }

    /// Returns true if a command, or a Pivot, can accept the risk by its code.
    pub fn is_accepted_by(self, by: AcceptedBy) -> bool {
        self.row().3.contains(&by)
    }

    /// The risks that a command, or a Pivot, can accept by their codes.
    pub fn accepted_by(by: AcceptedBy) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |risk| risk.is_accepted_by(by))
    }

    /// The risk in one line, as accepted.
    pub fn summary(self) -> &'static str {
        self.row().4
    }
}

/// Facts about a risk: its code, whether it takes kinds, its extent, what accepts it by its code, and its summary.
struct Row(&'static str, Kinds, Extent, &'static [AcceptedBy], &'static str);

/// Whether a risk is accepted for one kind of objects at a time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kinds {
    Each,
    None,
}

/// The extent of a risk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// The choice of objects, for the whole move.
    Scope,
    /// One run.
    Run,
}

/// A command, or a Pivot, that accepts risks by their codes. Separate flags accept the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptedBy {
    /// `move`, and a plan that is saved for one.
    Move,
    /// `handover start`, whose source is a cluster.
    StartHandover,
    /// `plan` and `generate rbac`, which check a move and pause nothing.
    Plan,
    /// `resume`: its move has the risks of the scope.
    Resume,
    /// `rollback`.
    Rollback,
    /// `handover finish`.
    FinishHandover,
    /// `handover cancel`.
    CancelHandover,
    /// A Pivot, when it begins its move and while it carries it out.
    Pivot,
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for Risk {
    type Err = InvalidRisk;

    fn from_str(text: &str) -> Result<Self, InvalidRisk> {
        Self::ALL.into_iter().find(|risk| risk.code() == text).ok_or(InvalidRisk::Unknown)
    }
}

/// The risks that a user accepts, with the kinds for which each is accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<AcceptedRisk>", try_from = "Vec<AcceptedRisk>")]
pub struct AcceptedRisks(BTreeMap<Risk, BTreeSet<GroupKind>>);

/// A risk in documents, records and Pivots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AcceptedRisk {
    /// Code of the risk.
    pub code: Risk,
    /// Kinds for which the risk is accepted, if it takes kinds.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub kinds: BTreeSet<GroupKind>,
}

/// An unknown code, or a risk that was accepted without the kinds that it takes, or with kinds that it doesn't take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRisk {
    /// No risk has the code.
    #[error("not the code of a risk")]
    Unknown,
    /// The risk takes kinds, and none is named.
    #[error("{0} is accepted for a kind")]
    NeedsKind(Risk),
    /// The risk takes no kinds.
    #[error("{0} takes no kind")]
    TakesNoKind(Risk),
}

impl AcceptedRisks {
    /// Accepts a risk that takes no kinds.
    pub fn insert(&mut self, risk: Risk) {
        self.0.entry(risk).or_default();
    }

    /// Accepts a risk for a kind.
    pub fn insert_kind(&mut self, risk: Risk, kind: GroupKind) {
        self.0.entry(risk).or_default().insert(kind);
    }

    /// Accepts a risk for kinds; for none, the risk is not accepted.
    pub fn insert_kinds(&mut self, risk: Risk, kinds: impl IntoIterator<Item = GroupKind>) {
        kinds.into_iter().for_each(|kind| self.insert_kind(risk, kind));
    }

    /// Accepts a risk no longer.
    pub fn remove(&mut self, risk: Risk) {
        self.0.remove(&risk);
    }

    /// Adds the risks that others accept.
    pub fn extend(&mut self, others: Self) {
        for (risk, kinds) in others.0 {
            self.0.entry(risk).or_default().extend(kinds);
        }
    }

    /// Returns true if no risk is accepted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if a risk is accepted, for some kind if it takes kinds.
    pub fn contains(&self, risk: Risk) -> bool {
        self.0.contains_key(&risk)
    }

    /// Returns true if a risk is accepted for a kind.
    pub fn contains_kind(&self, risk: Risk, kind: &GroupKind) -> bool {
        self.kinds(risk).contains(kind)
    }

    /// The kinds for which a risk is accepted.
    pub fn kinds(&self, risk: Risk) -> &BTreeSet<GroupKind> {
        static NONE: BTreeSet<GroupKind> = BTreeSet::new();
        self.0.get(&risk).unwrap_or(&NONE)
    }

    /// All risks with their kinds, by the order of [`Risk::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Risk, &BTreeSet<GroupKind>)> {
        self.0.iter().map(|(risk, kinds)| (*risk, kinds))
    }

    /// Separates the risks of the scope from those of the run.
    pub fn split_scope(self) -> (Self, Self) {
        let (of_scope, of_run) = self.0.into_iter().partition(|(risk, _)| risk.is_of_scope());
        (Self(of_scope), Self(of_run))
    }

    /// Returns the risks that others don't accept.
    pub fn difference(&self, others: &Self) -> Self {
        let mut rest = Self::default();
        for (risk, kinds) in self.iter() {
            if !risk.takes_kinds() && !others.contains(risk) {
                rest.insert(risk);
            }
            rest.insert_kinds(risk, kinds.difference(others.kinds(risk)).cloned());
        }
        rest
    }
}

/// A risk that takes no kinds, and no other.
impl From<Risk> for AcceptedRisks {
    fn from(risk: Risk) -> Self {
        Self(BTreeMap::from([(risk, BTreeSet::new())]))
    }
}

impl From<AcceptedRisks> for Vec<AcceptedRisk> {
    fn from(risks: AcceptedRisks) -> Self {
        risks.0.into_iter().map(|(code, kinds)| AcceptedRisk { code, kinds }).collect()
    }
}

impl TryFrom<Vec<AcceptedRisk>> for AcceptedRisks {
    type Error = InvalidRisk;

    fn try_from(list: Vec<AcceptedRisk>) -> Result<Self, InvalidRisk> {
        let mut risks = Self::default();
        for AcceptedRisk { code, kinds } in list {
            match (code.takes_kinds(), kinds.is_empty()) {
                (true, true) => return Err(InvalidRisk::NeedsKind(code)),
                (false, false) => return Err(InvalidRisk::TakesNoKind(code)),
                _ => risks.0.entry(code).or_default().extend(kinds),
            }
        }
        Ok(risks)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn kind(text: &str) -> GroupKind {
        text.parse().unwrap()
    }

    #[test]
    fn codes_are_the_names_in_documents() {
        for risk in Risk::ALL {
            assert_eq!(serde_json::to_value(risk).unwrap(), json!(risk.code()));
            assert_eq!(risk.code().parse(), Ok(risk));
        }
        let known = from_value::<Risk>(json!("no-such")).unwrap_err().to_string();
        assert_eq!(known.matches('`').count(), 2 * (Risk::ALL.len() + 1), "{known}");
        assert_eq!("no-such".parse::<Risk>(), Err(InvalidRisk::Unknown));
    }

    #[test]
    fn accepted_risks_serialise_as_list() {
        let mut risks = AcceptedRisks::from(Risk::Unprovisioned);
        risks.insert_kinds(Risk::NoPlugin, [kind("B.g"), kind("A.g")]);
        let kinds = ["A.g", "B.g"].map(kind);
        let list = json!([{"code": "no-plugin", "kinds": kinds}, {"code": "unprovisioned"}]);
        assert_eq!(serde_json::to_value(&risks).unwrap(), list);
        assert_eq!(from_value::<AcceptedRisks>(list).unwrap(), risks);
    }

    #[test]
    fn risks_reject_missing_and_needless_kinds() {
        let errors = [
            (json!([{"code": "no-plugin"}]), "no-plugin is accepted for a kind"),
            (json!([{"code": "unprovisioned", "kinds": [kind("A.g")]}]), "unprovisioned takes no kind"),
            (json!([{"code": "no-such"}]), "unknown variant `no-such`"),
            (json!([{"code": "unprovisioned", "kind": "A.g"}]), "unknown field `kind`"),
        ];
        for (list, expected) in errors {
            let error = from_value::<AcceptedRisks>(list).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn difference_keeps_risks_of_one_side() {
        let mut some = AcceptedRisks::default();
        some.insert_kinds(Risk::NoPlugin, [kind("A.g")]);
        let mut more = AcceptedRisks::from(Risk::PauseUnchecked);
        more.insert_kinds(Risk::NoPlugin, [kind("A.g"), kind("B.g")]);
        assert!(some.difference(&more).is_empty());
        let rest: Vec<_> = more.difference(&some).iter().map(|(risk, kinds)| (risk, kinds.len())).collect();
        assert_eq!(rest, [(Risk::NoPlugin, 1), (Risk::PauseUnchecked, 0)]);
    }
}
