//! What differs between two runs of one seed.

/// A text without the random ids in it.
pub(super) fn without_ids(text: &str) -> String {
    const LENGTH: usize = 36;
    let is_id = |id: &str| {
        id.char_indices().all(|(at, c)| match at {
            8 | 13 | 18 | 23 => c == '-',
            _ => c.is_ascii_hexdigit(),
        })
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match rest.get(..LENGTH) {
            Some(id) if is_id(id) => {
                out.push_str("ID");
                rest = &rest[LENGTH..];
            }
            _ => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}
