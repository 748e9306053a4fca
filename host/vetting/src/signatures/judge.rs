//! Checks a plugin, a plan or a directory against the operator's rules.
//!
//! Names of signers are counted, not signatures and not keys: one person with two keys is one person. Every rule that applies
//! has to be met. A revoked key counts nowhere, whatever date a claim bears: whoever has the key writes the date.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::Date;

use crate::digest::is_sha256;
use crate::signatures::card::Card;
use crate::signatures::envelope::{Envelope, IN_TOTO};
use crate::signatures::key::PublicKey;
use crate::signatures::policy::{Policy, Rule};
use crate::signatures::signature_file::SignatureFile;
use crate::signatures::statement::{Claim, Predicate, SIZE, Statement, StatementError, Topic};
use crate::signatures::untrusted::{IgnoreReason, IgnoredLine, UnmetRule, Untrusted};

/// Most signatures that are verified: one on each of 64 lines, with each of 32 keys. For the largest statements, this takes
/// half a second.
pub const CHECKS: usize = 1 << 11;

/// The subject of a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'s> {
    /// A plugin.
    Plugin {
        /// Name of the plugin, from the lock file or from its own description. Before either gives a name, rules for single
        /// plugins apply by the names on signed cards only. The plugin **must be judged again** once it has described itself.
        name: Option<&'s str>,
        /// The SHA-256 of its component, as 64 digits.
        sha256: &'s str,
    },
    /// A saved plan.
    Plan {
        /// The SHA-256 of its file, as 64 digits.
        sha256: &'s str,
    },
    /// A directory.
    Directory {
        /// The SHA-256 of its manifest, as 64 digits.
        sha256: &'s str,
    },
}

impl Subject<'_> {
    fn topic(&self) -> Topic {
        match self {
            Self::Plugin { .. } => Topic::Plugin,
            Self::Plan { .. } => Topic::Plan,
            Self::Directory { .. } => Topic::Directory,
        }
    }
}

/// Purpose of a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Loading a plugin that was admitted, at any later time.
    Load,
    /// Admitting a plugin, or accepting an approved plan or a signed directory, on this day.
    Admit(Date),
}

/// A claim that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedClaim {
    /// The line it is on, from 1.
    pub line: usize,
    /// Name of the signer in the trust file.
    pub signer: String,
    /// The fingerprint of the key.
    pub key: String,
    /// The claim.
    pub claim: Claim,
    /// The plugin's card in this claim. The caller **must compare** it with the computed card. Only claims about plugins have
    /// one.
    pub card: Option<Card>,
    /// Name of the reviewer, in the signer's words.
    pub reviewer: Option<String>,
    /// When, by the signer's clock.
    pub date: Timestamp,
}

/// Something that meets all rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trusted {
    /// The claims that count, also those that no rule requires.
    pub claims: Vec<AcceptedClaim>,
    /// The lines that count for nothing.
    pub ignored: Vec<IgnoredLine>,
}

impl Policy {
    /// Judges a plugin, a plan or a directory by its signed statements.
    pub fn judge(
        &self,
        subject: &Subject<'_>,
        signed: &SignatureFile,
        purpose: Purpose,
    ) -> Result<Trusted, Untrusted> {
        let sha256 = match subject {
            Subject::Plugin { sha256, .. } | Subject::Plan { sha256 } | Subject::Directory { sha256 } => {
                *sha256
            }
        };
        if !is_sha256(sha256) {
            return Err(Untrusted::Digest);
        }
        if let Some(why) = self.revoked_components.get(sha256) {
            return Err(Untrusted::Revoked { why: why.clone() });
        }
        let keys: Vec<&PublicKey> = self.signers.values().flat_map(|signer| &signer.keys).collect();
        let verified = signed.envelopes().filter(|(_, envelope)| reason_to_ignore(envelope).is_none());
        let signatures: usize = verified.map(|(_, envelope)| envelope.signature_count()).sum();
        let checks = signatures.saturating_mul(keys.len());
        if checks > CHECKS {
            return Err(Untrusted::TooMuch { checks, most: CHECKS });
        }
        let mut found = Trusted::default();
        for (line, read) in signed.lines() {
            let read = read.map_err(|why| IgnoreReason::Unread(why.clone()));
            match read.and_then(|envelope| verify_claim(envelope, subject, sha256, &keys)) {
                Err(why) => found.ignored.push(IgnoredLine { line, why }),
                Ok((predicate, made_by)) => {
                    for key in made_by {
                        match self.accepted_signer(key, purpose) {
                            Err(why) => found.ignored.push(IgnoredLine { line, why }),
                            Ok(signer) => found.claims.push(accept_claim(line, signer, key, &predicate)),
                        }
                    }
                }
            }
        }
        self.check_rules(subject, found)
    }

    /// The signer for whom a key counts.
    fn accepted_signer(&self, key: &PublicKey, purpose: Purpose) -> Result<String, IgnoreReason> {
        let holder = self.signers.iter().find(|(_, signer)| signer.keys.contains(key));
        // It is one of the keys that were tried.
        let (name, signer) = holder.ok_or(IgnoreReason::NoKey)?;
        if let Some(why) = self.revoked_keys.get(&key.fingerprint()) {
            return Err(IgnoreReason::Revoked { signer: name.clone(), why: why.clone() });
        }
        match (purpose, signer.admits_until) {
            (Purpose::Admit(today), Some(until)) if today > until => {
                Err(IgnoreReason::Expired { signer: name.clone(), until })
            }
            _ => Ok(name.clone()),
        }
    }

    fn check_rules(&self, subject: &Subject<'_>, found: Trusted) -> Result<Trusted, Untrusted> {
        let applies = |rule: &&Rule| {
            let is_named = match subject {
                Subject::Plan { .. } | Subject::Directory { .. } => true,
                Subject::Plugin { name, .. } => {
                    let cards = found.claims.iter().filter_map(|claim| claim.card.as_ref()).map(Card::name);
                    rule.plugins.is_empty() || cards.chain(*name).any(|name| rule.plugins.contains(name))
                }
            };
            rule.claim.topic() == subject.topic() && is_named
        };
        let rules: Vec<&Rule> = self.rules.iter().filter(applies).collect();
        let unruled = self.strict.iter().any(|own| !own.iter().any(|rule| applies(&rule)));
        if unruled && matches!(subject, Subject::Plugin { name: Some(_), .. }) {
            return Err(Untrusted::NoRule { ignored: found.ignored });
        }
        let unmet = rules.into_iter().filter_map(|rule| {
            let counted = found
                .claims
                .iter()
                .filter(|claim| claim.claim == rule.claim && rule.from.contains(&claim.signer));
            let signed: BTreeSet<String> = counted.map(|claim| claim.signer.clone()).collect();
            (signed.len() < rule.at_least).then(|| UnmetRule { rule: rule.clone(), signed })
        });
        let unmet: Vec<UnmetRule> = unmet.collect();
        if unmet.is_empty() {
            Ok(found)
        } else {
            Err(Untrusted::Unmet { rules: unmet, ignored: found.ignored })
        }
    }
}

/// Returns the reason to ignore a line regardless of its signer.
fn reason_to_ignore(envelope: &Envelope) -> Option<IgnoreReason> {
    let (kind, payload) = envelope.unverified_payload();
    if envelope.is_keyless() {
        Some(IgnoreReason::Keyless)
    } else if kind != IN_TOTO {
        Some(IgnoreReason::OtherPayload)
    } else {
        (payload.len() > SIZE).then_some(IgnoreReason::Statement(StatementError::Size(payload.len())))
    }
}

/// The claim of a line about this subject, with the keys that made it.
fn verify_claim<'k>(
    envelope: &Envelope,
    subject: &Subject<'_>,
    sha256: &str,
    keys: &[&'k PublicKey],
) -> Result<(Predicate, Vec<&'k PublicKey>), IgnoreReason> {
    if let Some(why) = reason_to_ignore(envelope) {
        return Err(why);
    }
    let verified = envelope.verified_by(keys.iter().copied()).ok_or(IgnoreReason::NoKey)?;
    let statement = Statement::parse(verified.payload()).map_err(IgnoreReason::Statement)?;
    let what = match subject {
        Subject::Plugin { .. } => "component",
        Subject::Plan { .. } => "plan",
        Subject::Directory { .. } => "directory",
    };
    if statement.predicate().claim.topic() != subject.topic() {
        return Err(IgnoreReason::OtherKind);
    }
    if !statement.is_about(sha256) {
        return Err(IgnoreReason::OtherSubject(what));
    }
    Ok((statement.predicate().clone(), verified.keys().to_vec()))
}

fn accept_claim(line: usize, signer: String, key: &PublicKey, predicate: &Predicate) -> AcceptedClaim {
    let Predicate { claim, card, reviewer, date, note: _, checked: _ } = predicate;
    let (card, reviewer) = (card.clone(), reviewer.clone());
    AcceptedClaim { line, signer, key: key.fingerprint(), claim: *claim, card, reviewer, date: *date }
}

#[cfg(test)]
mod tests;
