//! Words, names and dates as people may write them into signed or trusted text: bounded, on one line, and all of it visible.

use jiff::Timestamp;
use jiff::civil::Date;
use pivot_core::messages::safe_text::is_hidden;

/// The most characters of a name in the trust file.
const NAME: usize = 63;

/// Fails unless a text is one visible line of 1 to so many characters.
pub(crate) fn check_sentence(text: &str, most: usize) -> Result<(), String> {
    if text.trim() != text || text.is_empty() {
        return Err("it is empty, or begins or ends with a space".into());
    }
    if text.chars().any(is_hidden) {
        return Err("it has a control character, or one that can't be seen".into());
    }
    match text.chars().count() {
        count if count > most => Err(format!("it has {count} characters; {most} at most are read")),
        _ => Ok(()),
    }
}

/// Fails unless a text is a plain word: lower-case letters and digits, joined by `-`, `_` or `.`.
pub(crate) fn check_word(text: &str) -> Result<(), String> {
    let word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if text.len() <= NAME && text.split(['-', '_', '.']).all(word) {
        return Ok(());
    }
    Err(format!("it is not a plain word: lower-case letters and digits, joined by - _ or ., {NAME} at most"))
}

/// A day, as `2027-06-30` and in no other way.
pub(crate) fn parse_day(text: &str) -> Result<Date, String> {
    let wrong = || "it is not a day like 2027-06-30".to_owned();
    if !has_shape(text, "0000-00-00") {
        return Err(wrong());
    }
    text.parse().map_err(|_| wrong())
}

/// A point in time, as RFC 3339 has it: jiff reads other spellings too.
pub(crate) fn parse_instant(text: &str) -> Result<Timestamp, String> {
    let wrong = || "it is not a time like 2026-11-23T13:00:00Z (RFC 3339)".to_owned();
    let (date, rest) = text.split_at_checked(19).ok_or_else(wrong)?;
    let zone = match rest.strip_prefix('.') {
        None => rest,
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if !(1..=9).contains(&(fraction.len() - zone.len())) {
                return Err(wrong());
            }
            zone
        }
    };
    let zoned = zone == "Z" || has_shape(zone, "+00:00") || has_shape(zone, "-00:00");
    if !has_shape(date, "0000-00-00T00:00:00") || !zoned {
        return Err(wrong());
    }
    text.parse().map_err(|_| wrong())
}

/// Returns true if a text has digits where the model has zeros, and equals the model elsewhere.
fn has_shape(text: &str, model: &str) -> bool {
    text.len() == model.len()
        && text.bytes().zip(model.bytes()).all(|(byte, model)| match model {
            b'0' => byte.is_ascii_digit(),
            other => byte == other,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_plain_word() {
        for name in ["a", "acme", "j.doe", "a-b_c.d9", "7even", &"a".repeat(63)] {
            assert_eq!(check_word(name), Ok(()), "{name}");
        }
        for name in
            ["", "A", "a b", "-a", "a-", "a..b", "a\n", "\u{430}lice", "a\u{200b}", "a/b", &"a".repeat(64)]
        {
            assert!(check_word(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_time_has_one_form() {
        for time in
            ["2026-11-23T13:00:00Z", "2026-11-23T13:00:00.123456789+01:00", "2026-11-23T13:00:00-05:30"]
        {
            assert!(parse_instant(time).is_ok(), "{time}");
        }
        for time in [
            "",
            "2026-11-23",
            "2026-11-23T13:00:00",
            "2026-11-23 13:00:00Z",
            "2026-11-23t13:00:00z",
            "2026-11-23T13:00Z",
            "2026-11-23T13:00:00.Z",
            "2026-11-23T13:00:00+01",
            "2026-11-23T13:00:00+01:00[Europe/Berlin]",
            "2026-02-30T13:00:00Z",
            "2026-11-23T25:00:00Z",
            "+002026-11-23T13:00:00Z",
            "äääääääääääääääääääääääää",
        ] {
            assert!(parse_instant(time).unwrap_err().starts_with("it is not a time like "), "{time}");
        }
        assert!(parse_day("2027-06-30").is_ok());
        for day_ in ["2027-6-30", "2027-02-29", "20270630", "2027-06-30T00:00:00", " 2027-06-30", ""] {
            assert_eq!(parse_day(day_).unwrap_err(), "it is not a day like 2027-06-30", "{day_}");
        }
    }
}
