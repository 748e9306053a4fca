//! The user's decisions about a run.

use std::sync::Arc;
use std::time::Duration;

use pivot_core::messages::risk::AcceptedRisks;
use pivot_core::objects::names;
use pivot_core::records::backup::BackupFacts;
use pivot_core::records::saved_plan::{Decisions, SavedPlan};
use pivot_core::request::manifest_object::Addition;
use pivot_core::request::scope::Scope;
use pivot_core::{Both, Key, Side, Uid};

/// Extent of a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// A real run.
    Off,
    /// Everything that only reads.
    Plan,
    /// Also asks the target's server about each create.
    Server,
}

/// The user's decisions about a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Scope of the move.
    pub scope: Scope,
    /// Risks that this run accepts, in addition to the risks of the scope.
    pub accept: AcceptedRisks,
    /// Objects that are created from a manifest; the scope lists them. After the commit they are not used.
    pub added: Arc<[Addition]>,
    /// The saved plan to carry out, and nothing else.
    pub approved: Option<Arc<SavedPlan>>,
    /// Name of the user or program that runs this, for the record.
    pub operator: String,
    /// The object that asks for the move, in a cluster: ids of new moves end in its UID, which its author can't choose.
    pub asked_by: Option<Uid>,
    /// Namespace of leases and records, on both sides.
    pub record_namespace: String,
    /// The kubectl flags that name each side's kubeconfig and context, for commands that plugins suggest.
    pub kubectl_flags: Both<Vec<String>>,
    /// Directory of the run's plugins, as the user named it, for remedies.
    pub plugin_directory: Option<String>,
    /// Extent of the dry run.
    pub dry_run: DryRun,
    /// Limit of the wait for controllers to acknowledge the pause, and for block-move.
    pub pause_timeout: Duration,
    /// Limit of the wait for plugins' checks.
    pub check_timeout: Duration,
    /// Limit of the wait for the target's controllers to take over.
    pub takeover_timeout: Duration,
    /// Maximum number of held objects that are unpaused together, after batches of one, two, four, … succeeded. At least one.
    pub unpause_batch: usize,
    /// Stop once the target has taken over, before anything is deleted from the source.
    pub stop_before_release: bool,
    /// Put up a guard on both sides: a policy that refuses to unpause the move's objects ([`pivot_core::records::guard`]).
    pub guard: bool,
    /// Don't wait for another run's lease to expire.
    pub break_lease: bool,
    /// The source's object that this run found the target by. If it moves, it is deleted last of all, so that other runs find the
    /// target, too.
    pub found_by: Option<Key>,
    /// Of a copy into a directory: leave the source paused, to be taken over from the files.
    pub handover: bool,
    /// Of a backup: its facts so far. [`crate::back_up`] fills them in.
    pub backup: Option<BackupFacts>,
    /// Of a backup: the manifest names objects that change while they are listed. Otherwise, the backup fails with `Expired`.
    pub backup_accepts_changes: bool,
    /// The side on which the move changes nothing outside of its namespace: the author of the Pivot has no permission there.
    pub confined: Option<Side>,
    /// Maximum number of bytes of a release list. The list takes several times as many in memory, and anyone may control a side.
    pub release_list_limit: usize,
    /// Once the move is committed, the target may finish it while the source is away ([`crate::drive::run::finish_alone`]).
    pub finish_alone: bool,
}

/// Flags and the fields of Pivots have these defaults and maxima.
impl Options {
    /// Default limit of the wait for the source's controllers to acknowledge the pause.
    pub const PAUSE_TIMEOUT: Duration = Duration::from_secs(5 * 60);
    /// Default limit of the wait for plugins' checks.
    pub const CHECK_TIMEOUT: Duration = Duration::from_secs(10 * 60);
    /// Default limit of the wait for the target's controllers to take over.
    pub const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(10 * 60);
    /// Maximum of these limits.
    pub const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
    /// Default number of held objects that are unpaused together.
    pub const UNPAUSE_BATCH: u8 = 8;
    /// Maximum of that number.
    pub const MAX_UNPAUSE_BATCH: u8 = 64;

    /// The defaults for a scope.
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            accept: AcceptedRisks::default(),
            added: Arc::default(),
            approved: None,
            operator: String::new(),
            asked_by: None,
            record_namespace: names::RECORD_NAMESPACE.into(),
            kubectl_flags: Both::default(),
            plugin_directory: None,
            dry_run: DryRun::Off,
            pause_timeout: Self::PAUSE_TIMEOUT,
            check_timeout: Self::CHECK_TIMEOUT,
            takeover_timeout: Self::TAKEOVER_TIMEOUT,
            unpause_batch: Self::UNPAUSE_BATCH.into(),
            stop_before_release: false,
            guard: false,
            break_lease: false,
            found_by: None,
            handover: false,
            backup: None,
            backup_accepts_changes: false,
            confined: None,
            release_list_limit: usize::MAX,
            finish_alone: false,
        }
    }

    /// Takes the decisions of an approved plan.
    pub fn with_approved_plan(mut self, plan: SavedPlan) -> Self {
        let Decisions { scope, accept, handover } = plan.decisions.clone();
        self.scope = Scope { from_manifests: self.scope.from_manifests, ..scope };
        // A run that resumes the move may have decided more.
        self.accept.extend(accept);
        self.handover |= handover;
        self.approved = Some(Arc::new(plan));
        self
    }

    /// Returns the decisions that a plan stores.
    pub fn decisions(&self) -> Decisions {
        Decisions { scope: self.scope.clone(), accept: self.accept.clone(), handover: self.handover }
    }

    /// Returns true if the move may change objects of a namespace in the source.
    pub(crate) fn may_change_in(&self, namespace: Option<&str>) -> bool {
        self.confined != Some(Side::Source) || namespace.is_some() && self.scope.includes_namespace(namespace)
    }

    /// Adds objects that are created from a manifest.
    pub fn with_additions(mut self, added: Vec<Addition>) -> Self {
        self.scope.from_manifests = added.iter().map(|addition| addition.record_entry().clone()).collect();
        self.added = added.into();
        self
    }
}
