//! Words that try to be more than words.

/// What is tried, and the words.
pub(crate) const WORDS: [(&str, &str); 12] = [
    ("lines", "x\nerror: FORGED\nnext:  FORGED\nwarning: FORGED"),
    ("returns", "x\r\nerror: FORGED\rnext:  FORGED\u{b}FORGED\u{c}FORGED"),
    ("escapes", "x\u{1b}[2J\u{1b}[1;31mFORGED\u{1b}]0;FORGED\u{7}\u{1b}[1A"),
    ("c1 controls", "x\u{9b}2JFORGED\u{85}error: FORGED\u{90}FORGED\u{9c}\u{7f}"),
    ("bidi", "x\u{202e}FORGED\u{2066}FORGED\u{2069}\u{200f}\u{61c}\u{2028}error: FORGED\u{2029}"),
    (
        "invisible",
        "xFORGED\u{ad}\u{34f}\u{115f}\u{180e}\u{200b}\u{3164}\u{ffa0}\u{fff9}\u{feff}\u{fe0f}\u{e0041}y",
    ),
    ("a path up", "../../../../etc/passwd"),
    ("an absolute path", "/etc/passwd"),
    ("an escaped path", "..%2f..%2fsecrets"),
    ("a command", "$(touch FORGED)`touch FORGED`;touch FORGED"),
    ("a NUL", "x\0FORGED"),
    ("a format", "%s%n{}{0}\\u001b[2J"),
];
