//! Reasons not to trust a plugin or a plan: the unmet rules, the signers, the missing signers, and the ignored lines with their
//! reasons.

use std::collections::BTreeSet;
use std::fmt;

use jiff::civil::Date;

use crate::signatures::envelope::EnvelopeError;
use crate::signatures::policy::Rule;
use crate::signatures::statement::StatementError;

/// Most ignored lines that a message lists.
const LISTED: usize = 8;

/// A line that counted for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredLine {
    /// Number of the line, from 1.
    pub line: usize,
    /// The reason to ignore it.
    pub why: IgnoreReason,
}

/// Reasons to ignore a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreReason {
    /// The line can't be read.
    #[error("can't be read: {0}")]
    Unread(EnvelopeError),
    /// No key of the trust file made its signature.
    #[error("signed by no key of the trust file")]
    NoKey,
    /// The line was signed with a certificate.
    #[error("signed with a certificate, not with a key")]
    Keyless,
    /// The payload is not an in-toto statement.
    #[error("not a statement")]
    OtherPayload,
    /// The statement can't be used.
    #[error("{0}")]
    Statement(StatementError),
    /// The statement is about a plan when a plugin is judged, or the reverse.
    #[error("about something else")]
    OtherKind,
    /// The statement is about other files.
    #[error("about another {0}")]
    OtherSubject(&'static str),
    /// The line was signed with a revoked key.
    #[error("key of {signer} revoked: {why}")]
    Revoked {
        /// The owner of the key.
        signer: String,
        /// The operator's reason.
        why: String,
    },
    /// The signer's last day for admissions has passed.
    #[error("{signer} admits until {until}")]
    Expired {
        /// The signer.
        signer: String,
        /// The last day.
        until: Date,
    },
}

impl IgnoreReason {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unread(error) => error.code(),
            Self::NoKey => "no-key",
            Self::Keyless => "keyless",
            Self::OtherPayload => "other-payload",
            Self::Statement(error) => error.code(),
            Self::OtherKind => "other-kind",
            Self::OtherSubject(_) => "other-subject",
            Self::Revoked { .. } => "revoked",
            Self::Expired { .. } => "expired",
        }
    }
}

/// A rule that isn't met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmetRule {
    /// The rule.
    pub rule: Rule,
    /// Those of its signers whose claims count.
    pub signed: BTreeSet<String>,
}

impl UnmetRule {
    /// Those of its signers from whom no claim counts.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        self.rule.from.difference(&self.signed).map(String::as_str)
    }
}

impl fmt::Display for UnmetRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule { claim, from, at_least, plugins: _ } = &self.rule;
        let signed = match self.signed.len() {
            0 => "none".to_owned(),
            _ => list_first_names(self.signed.iter().map(String::as_str)),
        };
        let from_all = list_first_names(from.iter().map(String::as_str));
        let missing = list_first_names(self.missing());
        let needed = at_least.saturating_sub(self.signed.len());
        write!(
            f,
            "`{claim}` is required from {at_least} of {from_all}; signed by: {signed}; missing: {needed} of {missing}"
        )
    }
}

/// The first few names, with a count of the others.
fn list_first_names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let first: Vec<&str> = names.iter().take(LISTED).copied().collect();
    match names.len().saturating_sub(first.len()) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Reasons not to trust a plugin or a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Untrusted {
    /// The operator revoked these very bytes.
    Revoked {
        /// The operator's reason.
        why: String,
    },
    /// Rules aren't met.
    Unmet {
        /// These.
        rules: Vec<UnmetRule>,
        /// The ignored lines.
        ignored: Vec<IgnoredLine>,
    },
    /// No rule of a strict trust file is about this plugin.
    NoRule {
        /// The ignored lines.
        ignored: Vec<IgnoredLine>,
    },
    /// The digest to be judged is not written as digests are here. Revocations would miss it.
    Digest,
    /// Verifying all signatures with all keys would take too long.
    TooMuch {
        /// Required number of verifications.
        checks: usize,
        /// The limit.
        most: usize,
    },
}

impl Untrusted {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Revoked { .. } => "revoked",
            Self::Unmet { .. } => "unsigned",
            Self::NoRule { .. } => "no-rule",
            Self::Digest => "no-digest",
            Self::TooMuch { .. } => "too-many-signatures",
        }
    }
}

impl std::error::Error for Untrusted {}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ignored = match self {
            Self::Revoked { why } => return write!(f, "the trust file revokes it: {why}"),
            Self::Digest => return f.write_str("its digest is no SHA-256 of 64 lower-case digits"),
            Self::TooMuch { checks, most } => {
                return write!(
                    f,
                    "its signatures and the trust file's keys would take {checks} verifications; the limit is {most}: remove lines about other files, or unused keys"
                );
            }
            Self::NoRule { ignored } => {
                f.write_str("no rule of the trust file is about it, and the trust file is strict")?;
                ignored
            }
            Self::Unmet { rules, ignored } => {
                let rules: Vec<String> = rules.iter().take(LISTED).map(UnmetRule::to_string).collect();
                f.write_str(&rules.join("; "))?;
                ignored
            }
        };
        if !ignored.is_empty() {
            let lines =
                ignored.iter().take(LISTED).map(|IgnoredLine { line, why }| format!("line {line}: {why}"));
            let lines: Vec<String> = lines.collect();
            write!(f, "; ignored: {}", lines.join("; "))?;
            match ignored.len().saturating_sub(LISTED) {
                0 => {}
                more => write!(f, "; and {more} more")?,
            }
        }
        Ok(())
    }
}
