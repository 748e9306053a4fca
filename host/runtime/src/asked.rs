//! What was asked in one call, and what came back.
//!
//! A question that is asked again is answered from here: a thousand equal ones are one to a server. Each copy of an answer
//! counts as handed in.

use crate::limits::Meter;
use crate::services::ServiceError;

/// Questions of one kind and their answers.
pub(crate) struct Asked<Q, A> {
    answered: Vec<Answered<Q, A>>,
}

struct Answered<Q, A> {
    question: Q,
    answer: Result<A, ServiceError>,
    /// What was handed in of it is still to be given to the component.
    paid: bool,
}

impl<Q, A> Default for Asked<Q, A> {
    fn default() -> Self {
        Self { answered: Vec::new() }
    }
}

impl<Q: Clone + PartialEq, A: Clone> Asked<Q, A> {
    /// The questions that were never asked in this call, each once; none when enough was handed in.
    pub(crate) fn fresh(&self, questions: &[Result<Q, ServiceError>], meter: &Meter) -> Vec<Q> {
        let mut fresh: Vec<Q> = Vec::new();
        if meter.spent() {
            return fresh;
        }
        for question in questions.iter().flatten() {
            if !fresh.contains(question) && !self.answered.iter().any(|there| there.question == *question) {
                fresh.push(question.clone());
            }
        }
        fresh
    }

    /// Keeps an answer that was counted as handed in.
    pub(crate) fn keep(&mut self, question: Q, answer: Result<A, ServiceError>) {
        self.answered.push(Answered { question, answer, paid: true });
    }

    /// The answer to a question. One that nobody asked, because enough had been handed in, has none.
    pub(crate) fn answer(
        &mut self,
        question: &Q,
        meter: &mut Meter,
        bytes: fn(&A) -> usize,
    ) -> Result<A, ServiceError> {
        let answered = self.answered.iter_mut().find(|there| there.question == *question);
        let Some(answered) = answered else { return Err(too_much()) };
        let paid = std::mem::take(&mut answered.paid);
        match &answered.answer {
            Ok(answer) if !paid && !meter.hand_in(bytes(answer)) => Err(too_much()),
            answer => answer.clone(),
        }
    }
}

/// Why there is no answer once a call has been handed in as much as it may.
pub(crate) fn too_much() -> ServiceError {
    ServiceError::new(
        "too-large",
        "the answers together are larger than this plugin may be handed in one call",
    )
}
