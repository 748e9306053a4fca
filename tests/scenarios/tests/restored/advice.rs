//! Advice after a restore: the state and the remedies of each scene, as text that is the same in each run.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use pivot_scenarios::host::Ended;

use super::Scene;

/// Beginnings of the lines of stderr that tell people how it is and what to do.
const TOLD: [&str; 8] = ["note:", "warning:", "error:", "  - ", "fix:", "   or", "state:", "next:"];

/// Beginnings of the lines of `status` that tell the same.
const SHOWN: [&str; 5] = ["phase", "state", "note", "next", "or"];

/// Texts of commands, by namespace.
#[derive(Default)]
pub(super) struct Advice {
    texts: Mutex<BTreeMap<String, Vec<Text>>>,
}

/// A text, and the commands that printed it.
struct Text {
    commands: Vec<String>,
    text: String,
}

impl Advice {
    /// Adds what a command printed.
    pub(super) fn add(&self, namespace: &str, ended: &Ended) {
        let lines = ended.stderr.lines().filter(|line| TOLD.iter().any(|word| line.starts_with(word)));
        let mut text: String = lines.map(|line| format!("{line}\n")).collect();
        let _ = writeln!(text, "exit {}", ended.code.unwrap_or_default());
        self.insert(namespace, &ended.words, &text);
    }

    /// Adds what `status` shows of a move.
    pub(super) fn add_status(&self, namespace: &str, id: &str, status: &str) {
        let begin = format!("Move: {id},");
        let lines = status.lines().skip_while(|line| !line.starts_with(&begin)).skip(2);
        let shown = lines
            .take_while(|line| line.starts_with(' '))
            .filter(|line| SHOWN.iter().any(|word| line.split_whitespace().next() == Some(word)));
        let text: String = shown.map(|line| format!("{}\n", line.trim_start())).collect();
        self.insert(namespace, "status", &text);
    }

    fn insert(&self, namespace: &str, command: &str, text: &str) {
        let (command, text) = (without_chance(command), without_chance(text));
        let mut texts = self.texts.lock().unwrap();
        let texts = texts.entry(namespace.to_owned()).or_default();
        match texts.last_mut().filter(|last| last.text == text) {
            Some(last) => last.commands.push(command),
            None => texts.push(Text { commands: vec![command], text }),
        }
    }

    /// Compares all texts with the recorded ones. With `UPDATE_EXPECT` set, records them.
    pub(super) fn ensure_recorded(&self, side: &str, scenes: &[Scene]) {
        let texts = self.texts.lock().unwrap();
        let mut all = format!("The {side} is restored from a backup.\n");
        for Scene { namespace, before, lost, .. } in scenes {
            let _ = writeln!(all, "\n== {namespace}");
            let at = |step: &Option<super::Step>| step.map_or("nothing".to_owned(), |step| step.to_string());
            let _ = writeln!(all, "before the backup: {}; after it: {}", at(before), at(lost));
            for Text { commands, text } in texts.get(*namespace).into_iter().flatten() {
                let commands: String = commands.iter().map(|command| format!("$ {command}\n")).collect();
                let _ = write!(all, "\n{commands}{text}");
            }
        }
        let file = recorded(side);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&file, &all).unwrap();
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        for (line, expected) in all.lines().zip(expected.lines()) {
            assert_eq!(line, expected, "{}; UPDATE_EXPECT=1 records what is printed now", file.display());
        }
        assert_eq!(all.lines().count(), expected.lines().count(), "{}", file.display());
    }
}

fn recorded(side: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/restored/{side}.txt"))
}

/// Replaces what differs between runs: files, UIDs and times.
fn without_chance(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == ':';
    let mut masked = String::new();
    for part in text.split_inclusive(|c: char| c.is_whitespace()) {
        if let Some((folder, rest)) = part.split_once("/admin.kubeconfig") {
            let server = folder.rsplit_once("pivot-lab-").and_then(|(_, folder)| folder.rsplit_once('-'));
            let server = server.map_or(folder, |(server, _)| server);
            masked += &format!("{server}.kubeconfig{rest}");
            continue;
        }
        for part in part.split_inclusive(|c| !is_part(c)) {
            let word = part.trim_end_matches(|c| !is_part(c)).trim_end_matches(':');
            masked += match (word.len(), word.matches('-').count()) {
                (36, 4) => "UID",
                (20, 2) if word.ends_with('Z') => "TIME",
                _ => word,
            };
            masked += &part[word.len()..];
        }
    }
    let mut parts = masked.split("for up to ");
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        masked += "for up to N";
        masked += part.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    masked
}
