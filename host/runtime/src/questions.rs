//! The questions of one call, and their answers.
//!
//! A repeated question is answered from here: a thousand equal ones are one request to a server. Each copy of an answer counts
//! towards the input limit.

use crate::meter::Meter;
use crate::services::ServiceError;

/// Questions of one type and their answers.
pub(crate) struct Questions<Q, A> {
    answered: Vec<Answered<Q, A>>,
}

struct Answered<Q, A> {
    question: Q,
    answer: Result<A, ServiceError>,
    /// True if the size was counted, but the component has not received the answer yet.
    paid: bool,
}

impl<Q, A> Default for Questions<Q, A> {
    fn default() -> Self {
        Self { answered: Vec::new() }
    }
}

impl<Q: Clone + PartialEq, A: Clone> Questions<Q, A> {
    /// The questions that this call has not asked before, each once; none once the input limit is reached.
    pub(crate) fn not_yet_asked(&self, questions: &[Result<Q, ServiceError>], meter: &Meter) -> Vec<Q> {
        let mut fresh: Vec<Q> = Vec::new();
        if meter.is_exceeded() {
            return fresh;
        }
        for question in questions.iter().flatten() {
            if !fresh.contains(question) && !self.answered.iter().any(|there| there.question == *question) {
                fresh.push(question.clone());
            }
        }
        fresh
    }

    /// Keeps an answer whose size was counted.
    pub(crate) fn store_answer(&mut self, question: Q, answer: Result<A, ServiceError>) {
        self.answered.push(Answered { question, answer, paid: true });
    }

    /// The answer to a question. One that wasn't asked, because the input limit was reached, has none.
    pub(crate) fn take_answer(
        &mut self,
        question: &Q,
        meter: &mut Meter,
        bytes: fn(&A) -> usize,
    ) -> Result<A, ServiceError> {
        let answered = self.answered.iter_mut().find(|there| there.question == *question);
        let Some(answered) = answered else { return Err(input_limit_error()) };
        let paid = std::mem::take(&mut answered.paid);
        match &answered.answer {
            Ok(answer) if !paid && !meter.charge_answer(bytes(answer)) => Err(input_limit_error()),
            answer => answer.clone(),
        }
    }
}

/// The error once a call has reached its input limit.
pub(crate) fn input_limit_error() -> ServiceError {
    ServiceError::new(
        "too-large",
        "the answers to its questions are larger than its limit for one call (limits.input)",
    )
}
