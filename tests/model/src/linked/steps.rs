//! Who may do what next, and the result.

use stateright::{Model, Property};

use crate::linked::promises;
use crate::linked::rules::{Linked, Way};
use crate::linked::state::{Action, Agent, Gone, Link, Linking, Run};
use crate::linked::step::Step;
use crate::pair::{Item, OneOfTwo};
use crate::state::Phase;

impl Model for Linked {
    type State = Linking;
    type Action = Action;

    fn init_states(&self) -> Vec<Linking> {
        vec![Linking::BEFORE]
    }

    fn actions(&self, state: &Linking, actions: &mut Vec<Action>) {
        if !state.parent_gone {
            self.in_the_cell(state, actions);
            if state.link == Link::Away {
                actions.push(Action::Call);
            }
            actions.push(Action::LoseParent);
        }
        if state.late.is_some() {
            actions.push(Action::Late);
        }
        if self.may_begin(state) {
            actions.push(Action::Begin);
        }
        if state.agent != Agent::Answers {
            actions.extend([Action::Alone(state.agent), Action::AgentDies]);
        }
        let given_up = [Gone::Source, Gone::Target].into_iter().filter(|gone| self.may_give_up(state, *gone));
        actions.extend(given_up.map(Action::GiveUp));
        let open = state.at_source.is_none_or(|phase| phase < Phase::Committed) && state.ended.is_none();
        let reachable = self.way == Way::OutOf || !state.parent_gone;
        if state.may_edit && open && reachable {
            actions.extend(Item::BOTH.map(Action::Edit));
        }
    }

    fn next_state(&self, last: &Linking, action: Action) -> Option<Linking> {
        let mut state = last.clone();
        match action {
            Action::Start { back } => state.run = Run { step: Step::ReadRecords, back, ..Run::IDLE },
            Action::Do(step) => self.perform(&mut state, step),
            Action::Die(request) => {
                self.leave(&mut state, request);
                self.die(&mut state);
            }
            Action::Stop(request) => {
                self.leave(&mut state, request);
                state.run = Run::IDLE;
            }
            Action::Cut(request) => {
                self.leave(&mut state, request);
                state.link = Link::Away;
            }
            Action::Call => self.call(&mut state),
            Action::Late => self.perform_late(&mut state),
            Action::Begin => self.begin(&mut state),
            Action::Alone(_) => self.alone(&mut state),
            Action::AgentDies => {
                (state.agent, state.link, state.late) = (Agent::Answers, Link::Away, None);
            }
            Action::GiveUp(gone) => self.give_up(&mut state, gone),
            Action::Edit(item) => {
                state.originals[item].iter_mut().for_each(|original| original.content += 1);
                state.may_edit = false;
            }
            Action::LoseParent => {
                self.die(&mut state);
                state.parent_gone = true;
            }
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises::all(self)
    }
}

impl Linked {
    /// What a run may do, and what may become of it.
    fn in_the_cell(&self, state: &Linking, actions: &mut Vec<Action>) {
        if state.run.step == Step::Idle {
            actions.extend([false, true].map(|back| Action::Start { back }));
        } else {
            actions.extend([Action::Die(None), Action::Stop(None)]);
        }
        if state.link == Link::Up {
            actions.push(Action::Cut(None));
        }
        let answers = state.agent == Agent::Answers || !self.rules.refuses_meanwhile;
        for request in state.run.requests() {
            let far = request.is_far(self.way);
            if far && !(state.link == Link::Up && answers) {
                continue;
            }
            actions.push(Action::Do(request));
            if !request.reads() && !self.rules.waits_for_answers {
                actions.push(Action::Stop(Some(request)));
            }
            if far && !request.reads() {
                actions.extend([Action::Cut(Some(request)), Action::Die(Some(request))]);
            }
        }
    }

    /// A request is under way that nobody waits for any more. Of two, one is enough.
    fn leave(&self, state: &mut Linking, request: Option<Step>) {
        if let Some(step) = request.filter(|_| state.late.is_none()) {
            state.late = Some(Run { step, ..state.run });
        }
    }
}
