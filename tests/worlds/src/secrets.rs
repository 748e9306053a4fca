//! Content of the Secrets, by which a test finds it where it doesn't belong.

/// Content of each Secret, and of nothing else.
pub const SECRET_CONTENT: &str = "hunter2-of-the-lab";
/// The content as the data of a Secret has it.
pub const SECRET_DATA: &str = "aHVudGVyMi1vZi10aGUtbGFi";

/// Whether a text has the content of a Secret, in clear or encoded.
#[must_use]
pub fn has_secret(text: &str) -> bool {
    [SECRET_CONTENT, SECRET_DATA].iter().any(|content| text.contains(content))
}
