//! The operator's signers, rules and revocations, as values.
//!
//! A policy can only grow: joining two keeps the rules and revocations of both, so a second file never waives what the first
//! one requires. A strict file needs a rule of its own for each plugin, whatever rules the other one has.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use crate::signatures::key::PublicKey;
use crate::signatures::statement::Claim;

/// Someone whose claims may count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// The keys, of which any one will do; no two signers share one.
    pub keys: Vec<PublicKey>,
    /// The last day on which plugins can be admitted by this signer's claims. No trusted clock exists at every start, so
    /// plugins that were admitted by then continue to load.
    pub admits_until: Option<Date>,
}

/// A rule: so many of these signers have to make this claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The claim.
    pub claim: Claim,
    /// The signers whose claims count.
    pub from: BTreeSet<String>,
    /// Required number of these signers, from 1 to all of them.
    pub at_least: usize,
    /// The plugins it is about, by name; empty: all.
    pub plugins: BTreeSet<String>,
}

/// The trusted signers and the rules about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The rules of each strict file. For each strict file, one of its own rules must apply to a plugin. Rules of another file
    /// don't count.
    pub(crate) strict: Vec<Vec<Rule>>,
    pub(crate) signers: BTreeMap<String, Signer>,
    pub(crate) rules: Vec<Rule>,
    /// By fingerprint, with the reason.
    pub(crate) revoked_keys: BTreeMap<String, String>,
    /// By SHA-256, with the reason.
    pub(crate) revoked_components: BTreeMap<String, String>,
}

/// Two files that can't both hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// A signer with other keys.
    #[error("signers.{0} has other keys in the other trust file")]
    Keys(String),
    /// A key that belongs to two.
    #[error("signers.{one} and signers.{other} of the two trust files have the same key {fingerprint}")]
    SharedKey {
        /// A signer.
        one: String,
        /// Another one.
        other: String,
        /// The key.
        fingerprint: String,
    },
}

impl Conflict {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Keys(_) => "other-keys",
            Self::SharedKey { .. } => "shared-key",
        }
    }
}

impl Policy {
    /// Merges two policies into one that requires everything that either requires. A signer that both contain must have the
    /// same keys in both, and admits until the earlier day.
    pub fn merge(mut self, other: Self) -> Result<Self, Conflict> {
        let Self { strict, signers, rules, revoked_keys, revoked_components } = other;
        for (name, signer) in signers {
            if let Some(mine) = self.signers.get_mut(&name) {
                let keys = |signer: &Signer| signer.keys.iter().cloned().collect::<BTreeSet<_>>();
                if keys(mine) != keys(&signer) {
                    return Err(Conflict::Keys(name));
                }
                mine.admits_until = [mine.admits_until, signer.admits_until].into_iter().flatten().min();
                continue;
            }
            for key in &signer.keys {
                if let Some(one) = self.signer_of_key(key) {
                    let (one, fingerprint) = (one.to_owned(), key.fingerprint());
                    return Err(Conflict::SharedKey { one, other: name, fingerprint });
                }
            }
            self.signers.insert(name, signer);
        }
        for own in strict {
            if !self.strict.contains(&own) {
                self.strict.push(own);
            }
        }
        for rule in rules {
            if !self.rules.contains(&rule) {
                self.rules.push(rule);
            }
        }
        for (fingerprint, why) in revoked_keys {
            self.revoked_keys.entry(fingerprint).or_insert(why);
        }
        for (sha256, why) in revoked_components {
            self.revoked_components.entry(sha256).or_insert(why);
        }
        Ok(self)
    }

    /// The signer whose key this is.
    pub fn signer_of_key(&self, key: &PublicKey) -> Option<&str> {
        self.signers.iter().find(|(_, signer)| signer.keys.contains(key)).map(|(name, _)| name.as_str())
    }

    /// Returns true if a plugin is refused when no rule of a strict file applies to it.
    pub fn is_strict(&self) -> bool {
        !self.strict.is_empty()
    }

    /// The signers, by name.
    pub fn signers(&self) -> &BTreeMap<String, Signer> {
        &self.signers
    }

    /// The rules. All that apply have to be met.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }
}
