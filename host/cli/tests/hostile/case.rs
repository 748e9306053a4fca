//! One case: what is fed, how the run must end, and what it may take.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::server::Answers;

type Feed = Arc<dyn Fn(&Path) + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) line: Vec<OsString>,
    /// Writes what is fed into the folder in which the program runs.
    pub(crate) feeds: Vec<Feed>,
    /// What a server says, whose kubeconfig is `config` in that folder.
    pub(crate) answers: Option<Answers>,
    /// The exit codes that are right.
    pub(crate) codes: Vec<i32>,
    /// What is said, among other things.
    pub(crate) says: Vec<String>,
    /// Of a processor. On the clock it may be more where others use that.
    pub(crate) time: Duration,
    /// KiB that each process may write to. The kernel holds them to it.
    pub(crate) memory: u32,
    /// Bytes on stderr.
    pub(crate) words: usize,
}

/// A debug build computes for less than two seconds.
const TIME: Duration = Duration::from_secs(10);
/// Stacks of threads are part of it.
const MEMORY: u32 = 192 << 10;
/// What a terminal shows at once.
const WORDS: usize = 4_000;

impl Case {
    pub(crate) fn new(name: impl Into<String>, line: &str, codes: &[i32]) -> Self {
        Self {
            name: name.into(),
            line: line.split_whitespace().map(OsString::from).collect(),
            feeds: Vec::new(),
            answers: None,
            codes: codes.to_vec(),
            says: Vec::new(),
            time: TIME,
            memory: MEMORY,
            words: WORDS,
        }
    }

    pub(crate) fn fed(mut self, feed: impl Fn(&Path) + Send + Sync + 'static) -> Self {
        self.feeds.push(Arc::new(feed));
        self
    }

    /// A file in the folder.
    pub(crate) fn file(self, path: &'static str, content: impl Into<Vec<u8>>) -> Self {
        let content = content.into();
        self.fed(move |folder| write(folder, path, &content))
    }

    pub(crate) fn served(mut self, answers: Answers) -> Self {
        self.answers = Some(answers);
        self
    }

    pub(crate) fn says(mut self, words: impl Into<String>) -> Self {
        self.says.push(words.into());
        self
    }

    pub(crate) fn within(mut self, seconds: u64, mib: u32) -> Self {
        (self.time, self.memory) = (Duration::from_secs(seconds), mib << 10);
        self
    }

    pub(crate) fn words(mut self, bytes: usize) -> Self {
        self.words = bytes;
        self
    }
}

pub(crate) fn write(folder: &Path, path: &str, content: &[u8]) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}
