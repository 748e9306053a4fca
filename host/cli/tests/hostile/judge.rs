//! What is wrong with what the program printed, whatever it was fed.

/// In every kubeconfig and Secret that is fed.
pub(crate) const SECRET: &str = "hunter2";
/// A text that tries to be one of ours, drives a terminal, hides and leads elsewhere.
pub(crate) const WORDS: &str =
    "x\r\nerror: FORGED\nnext:  FORGED\u{1b}[2J\u{9b}2J\u{202e}\u{ad}../../etc/passwd$(touch FORGED)%s";
/// In every text that tries to be one of ours.
const FORGED: &str = "FORGED";

pub(crate) fn faults(stdout: &[u8], stderr: &[u8]) -> Vec<String> {
    let mut faults = Vec::new();
    for (stream, bytes) in [("stdout", stdout), ("stderr", stderr)] {
        let Ok(text) = std::str::from_utf8(bytes) else {
            faults.push(format!("{stream} is not UTF-8"));
            continue;
        };
        let text = plain(text);
        if let Some(c) = text.chars().find(|c| *c != '\n' && is_hidden(*c)) {
            faults.push(format!("{stream} has {c:?}"));
        }
        if text.contains(SECRET) {
            faults.push(format!("{stream} tells a secret"));
        }
        if text.contains("this is a bug in pivot-host") || text.contains("panicked") {
            faults.push(format!("{stream} tells of a panic"));
        }
        let forged = |line: &&str| {
            let heads = ["error:", "next:", "warning:", "state:"];
            // A list of ours may have their words in front, but indented.
            let after =
                heads.iter().find_map(|head| line.trim_start().strip_prefix(head)).map(str::trim_start);
            after.unwrap_or(line).starts_with(FORGED)
        };
        if let Some(line) = text.lines().find(forged) {
            faults.push(format!("{stream} has the line {line:?}"));
        }
        if let Some(line) = text.lines().find(|line| line.chars().count() > 2_200) {
            faults.push(format!("{stream} has a line of {} characters", line.chars().count()));
        }
    }
    faults
}

/// Without the styles that are ours.
pub(crate) fn plain(text: &str) -> String {
    let styles = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m"];
    styles.iter().fold(text.to_owned(), |text, style| text.replace(style, ""))
}

/// Written apart from the program's own rule.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}')
        || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e0fff}')
}
