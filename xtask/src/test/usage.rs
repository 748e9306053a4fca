//! Processor time of the programs that xtask has started and waited for.

use std::fs;
use std::time::Duration;

/// Linux counts in hundredths of a second, whatever the kernel's own tick is.
const TICKS_PER_SECOND: u64 = 100;

/// Processor time of all children so far, with those that they waited for. Zero where there is no `/proc`.
pub(super) fn children_cpu() -> Duration {
    fs::read_to_string("/proc/self/stat")
        .ok()
        .and_then(|stat| children_ticks(&stat))
        .map_or(Duration::ZERO, |ticks| Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// Fields 16 and 17 of `/proc/PID/stat`: user and system time of the children. The name before them may contain spaces.
fn children_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(13);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::works;

    #[test]
    fn fields_are_counted_behind_the_name() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 1 2 3 4 50 60 700 80 20 0 1 0";
        assert_eq!(children_ticks(stat), Some(780));
        assert_eq!(children_ticks("7 (a) S 1"), None);
    }

    #[test]
    fn time_of_ended_children_counts() {
        let before = children_cpu();
        assert!(works("sh", &["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]));
        assert!(children_cpu() > before);
    }
}
