//! Reasons of conditions and Events.

/// Declares the reasons, with a list of all of them.
macro_rules! reasons {
    ($($reason:ident),+ $(,)?) => {
        /// A word for programs. `docs/pivot-status.md` explains each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Reason {
            $($reason,)+
        }

        impl Reason {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$reason),+];

            /// Returns the word as conditions and Events have it.
            pub(crate) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$reason => stringify!($reason),)+
                }
            }
        }
    };
}

reasons! {
    Answered,
    Committed,
    Finishing,
    LeaseLost,
    NoAnswer,
    NoCluster,
    NothingToMove,
    OtherRun,
    PartWay,
    PastCommit,
    Pending,
    Plugins,
    Refused,
    RolledBack,
    RollingBack,
    Running,
    Spec,
    Succeeded,
    Suspended,
    Timeout,
    Unexpected,
    Waiting,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Reason;

    /// Returns the reasons in the first column of the page's table, sorted.
    fn explained(page: &str) -> Vec<&str> {
        let (_, table) = page.split_once("| reason | is | what happens |\n").unwrap();
        let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
        let cells = rows.filter_map(|row| row.split('|').nth(1));
        let mut reasons: Vec<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        reasons.sort_unstable();
        reasons
    }

    #[test]
    fn page_explains_each_reason_once() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pivot-status.md");
        let page = std::fs::read_to_string(page).unwrap();
        let all: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        assert_eq!(explained(&page), all);
    }
}
