//! Answers of endpoints in a rehearsal: from a file, never from the network.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use pivot_engine::Exit;
use pivot_places::read_regular_file;
use pivot_runtime::{Answer, Probe, ProbeAnswers, ServiceError};

use super::super::scene_file::read_probes;
use crate::exit::Result;

/// Answers by question, as in the `probes` of a scene.
#[derive(Default)]
pub(super) struct Answers {
    given: ProbeAnswers,
    /// Questions that plugins asked, and whether there was an answer.
    questions: Mutex<BTreeMap<String, bool>>,
}

impl Answers {
    pub(super) fn read(file: &Path) -> Result<Self> {
        let refusal = |why: String| (Exit::Usage, format!("--answers {}: {why}", file.display()).into());
        let bytes = read_regular_file(file).map_err(|error| refusal(error.to_string()))?;
        let probes = serde_saphyr::from_slice(&bytes).map_err(|error| {
            let at = error.location().map(|at| format!(" (line {}, column {})", at.line(), at.column()));
            refusal(format!("not a map from questions to answers{}", at.unwrap_or_default()))
        })?;
        Ok(Self { given: read_probes(probes).map_err(refusal)?, questions: Mutex::default() })
    }

    /// Answers a probe. Without an answer the endpoint is unreachable.
    pub(super) fn answer(&self, probe: &Probe) -> std::result::Result<Answer, ServiceError> {
        let question = probe.describe();
        let given = self.given.get(&question).cloned();
        let mut questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        questions.insert(question, given.is_some());
        given.unwrap_or_else(|| {
            Err(ServiceError::new("unreachable", "no connection: no answer is given for it"))
        })
    }

    /// Returns the questions that plugins asked, and whether there was an answer.
    pub(super) fn questions(&self) -> BTreeMap<String, bool> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use pivot_runtime::Vantage;

    use super::*;

    fn read(text: &str) -> Result<Answers> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        Answers::read(file.path())
    }

    #[test]
    fn probes_without_answers_are_unreachable() {
        let answers = read("http http://a/: {status: 503, body: down}\ntcp a:1: {}\n").unwrap();
        let ask = |http, address: &str| {
            let timeout = Duration::from_secs(1);
            answers.answer(&Probe {
                http,
                vantage: Vantage::Here,
                address: address.into(),
                timeout,
                named: vec![],
            })
        };
        let Answer { status, body, .. } = ask(true, "http://a/").unwrap();
        assert_eq!((status, body.as_str()), (503, "down"));
        assert_eq!(ask(false, "a:1").unwrap().status, 0);
        assert_eq!(ask(false, "a:2").unwrap_err().code, "unreachable");
        assert_eq!(answers.questions().values().filter(|answered| **answered).count(), 2);
    }

    #[test]
    fn mistyped_answers_are_refused() {
        for text in ["udp a:1: {}", "tcp a:1: {state: up}", "[]", "tcp a:1: hunter2"] {
            let (exit, why) = read(text).err().unwrap();
            assert_eq!(exit, Exit::Usage);
            assert!(why.message().starts_with("--answers ") && !why.message().contains("hunter2"), "{why}");
        }
    }
}
