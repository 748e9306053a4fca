//! Ages in kubectl's format.

use jiff::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// Returns the time between `time` and `now` in at most two units, fewer for older times. None if `time` isn't a time.
pub fn format_age(time: &str, now: Timestamp) -> Option<String> {
    let then: Timestamp = time.parse().ok()?;
    let seconds = now.as_second() - then.as_second();
    Some(match seconds {
        // Two clocks easily differ by a second. If they differ by more, one of them is wrong.
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => format_two_units(seconds, MINUTE, "m", 1, "s"),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => format_two_units(seconds, HOUR, "h", MINUTE, "m"),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => format_two_units(seconds, DAY, "d", HOUR, "h"),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => format_two_units(seconds, YEAR, "y", DAY, "d"),
        _ => format!("{}y", seconds / YEAR),
    })
}

/// `2m5s`, or `2m`.
fn format_two_units(seconds: i64, unit: i64, name: &str, smaller: i64, smaller_name: &str) -> String {
    match seconds % unit / smaller {
        0 => format!("{}{name}", seconds / unit),
        rest => format!("{}{name}{rest}{smaller_name}", seconds / unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_formatted_as_in_kubectl() {
        let now: Timestamp = "2026-11-23T12:00:00Z".parse().unwrap();
        let ago = |seconds: i64| {
            format_age(&Timestamp::from_second(now.as_second() - seconds).unwrap().to_string(), now).unwrap()
        };
        for (seconds, expected) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 61, "3h1m"),
            (8 * HOUR, "8h"),
            (2 * DAY - 1, "47h"),
            (2 * DAY + HOUR, "2d1h"),
            (8 * DAY, "8d"),
            (2 * YEAR - 1, "729d"),
            (2 * YEAR + DAY, "2y1d"),
            (3 * YEAR, "3y"),
            (9 * YEAR + DAY, "9y"),
        ] {
            assert_eq!(ago(seconds), expected, "{seconds}");
        }
        assert_eq!(format_age("2026-11-23T13:00:00+02:00", now).unwrap(), "60m");
        assert_eq!(format_age("yesterday", now), None);
    }
}
