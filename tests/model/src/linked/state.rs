//! A state: both clusters, the run in the cell, the agent beside the child, and the link between them.

use crate::linked::step::Step;
use crate::pair::{Content, Item, Items, OneOfTwo, Pair};
use crate::state::{End, Phase};

/// Everything that matters at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Linking {
    /// The objects in the source.
    pub originals: Pair<Option<Original>>,
    /// The source's record.
    pub at_source: Option<Phase>,
    /// The objects in the target.
    pub copies: Pair<Option<Copy>>,
    /// The target's record.
    pub at_target: Option<TargetRecord>,
    /// The run in the cell.
    pub run: Run,
    /// What the agent does on its own.
    pub agent: Agent,
    /// The link.
    pub link: Link,
    /// What a run asked whose answer nobody waits for any more, and has not taken effect.
    pub late: Option<Run>,
    /// The parent is gone for good. What was there still counts for the promises.
    pub parent_gone: bool,
    /// A user edits an object of the source, once.
    pub may_edit: bool,
    /// How the move ended.
    pub ended: Option<End>,
    /// What has happened.
    pub past: Past,
}

/// What has happened, as far as the promises ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Past {
    /// The agent finished the move.
    pub alone: bool,
    /// A person decided that the other side is gone.
    pub decided: bool,
    /// An object was deleted in a state that was not copied.
    pub lost: bool,
    /// What a run asked took effect in the child while the agent was at work there.
    pub together: bool,
    /// The agent began although there was a link.
    pub hasty: bool,
    /// A copy that ran was removed.
    pub tore_down: bool,
}

/// An object in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Original {
    /// Whether controllers act on it.
    pub active: bool,
    /// What users wrote.
    pub content: Content,
}

/// An object in the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Copy {
    /// Whether controllers act on it.
    pub active: bool,
    /// The content that was copied.
    pub content: Content,
}

/// The record in the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetRecord {
    /// The phase.
    pub phase: Phase,
    /// That the source's says Committed.
    pub sealed: bool,
    /// The release list: the content that was copied.
    pub list: Pair<Content>,
}

/// The run in the cell. Nothing of it survives its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// The next request. Of several that go to one object each, any.
    pub step: Step,
    /// The objects for which that is still to be asked.
    pub todo: Items,
    /// `rollback`, not `move`.
    pub back: bool,
    /// The contents as they were read last.
    pub base: Pair<Content>,
    /// The source's record as it was read or written last.
    pub at_source: Option<Phase>,
    /// The target's.
    pub at_target: Option<TargetRecord>,
}

impl Run {
    /// There is none.
    pub const IDLE: Self = Self {
        step: Step::Idle,
        todo: Items::NONE,
        back: false,
        base: Pair(0, 0),
        at_source: None,
        at_target: None,
    };

    /// The requests of which the next may be any.
    pub fn requests(&self) -> Vec<Step> {
        let about = |item: Item| self.todo[item].then(|| self.step.about(item));
        match self.step {
            Step::Idle => Vec::new(),
            step if step.about(Item::Cluster) == step.about(Item::Host) => vec![step],
            _ => Item::BOTH.into_iter().filter_map(about).collect(),
        }
    }
}

/// What the agent does on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Agent {
    /// Nothing: it answers.
    Answers,
    /// It is about to resume the Cluster.
    Resume,
    /// It is about to settle the host.
    Settle,
}

/// The link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// There is one.
    Up,
    /// It was cut.
    Away,
}

/// The side that a person gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// `resume --without-source`, beside the target.
    Source,
    /// `rollback --without-target`, beside the source.
    Target,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A run is started: `rollback`, or `move`.
    Start {
        /// `rollback`.
        back: bool,
    },
    /// The run's next request takes effect and is answered.
    Do(Step),
    /// The run dies, and the cell's end of the link with it; a request of it may be under way.
    Die(Option<Step>),
    /// The run stops, in a cell that lives; a request of it may be under way.
    Stop(Option<Step>),
    /// The link is cut; a request may be under way.
    Cut(Option<Step>),
    /// The agent calls again, and is answered.
    Call,
    /// A request that was left under way takes effect.
    Late,
    /// The agent begins to finish alone.
    Begin,
    /// The agent takes its next step.
    Alone(Agent),
    /// The agent dies, and is started again.
    AgentDies,
    /// A person decides, once, that this side is lost for good, while it only can't be reached.
    GiveUp(Gone),
    /// A user edits an object in the source.
    Edit(Item),
    /// The parent is gone for good.
    LoseParent,
}

impl Linking {
    /// Before anything has happened.
    pub const BEFORE: Self = Self {
        originals: Pair(
            Some(Original { active: true, content: 0 }),
            Some(Original { active: true, content: 0 }),
        ),
        at_source: None,
        copies: Pair(None, None),
        at_target: None,
        run: Run::IDLE,
        agent: Agent::Answers,
        link: Link::Up,
        late: None,
        parent_gone: false,
        may_edit: true,
        ended: None,
        past: Past {
            alone: false,
            decided: false,
            lost: false,
            together: false,
            hasty: false,
            tore_down: false,
        },
    };

    /// Pauses an object of the source, or resumes it.
    pub(crate) fn set_original(&mut self, item: Item, active: bool) {
        if let Some(original) = &mut self.originals[item] {
            original.active = active;
        }
    }

    /// Resumes a copy.
    pub(crate) fn resume_copy(&mut self, item: Item) {
        if let Some(copy) = &mut self.copies[item] {
            copy.active = true;
        }
    }

    /// The target's record, unless it is only a summary of what has ended.
    pub fn under_way(&self) -> Option<TargetRecord> {
        self.at_target.filter(|record| record.phase < Phase::Finished)
    }

    /// Whether the source's record says that the target's decides.
    pub fn committed(&self) -> bool {
        self.at_source >= Some(Phase::Committed)
    }

    /// Whether all copies are there and run.
    pub fn runs(&self) -> bool {
        Item::BOTH.iter().all(|item| self.copies[*item].is_some_and(|copy| copy.active))
    }
}
