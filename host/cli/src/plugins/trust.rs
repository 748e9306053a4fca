//! The site's trust file, and one that is named on the command line: it can add signers, rules and revocations, and waive nothing.

#[cfg(unix)]
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use jiff::Zoned;
use pivot_places::read_regular_file;
use pivot_runtime::Trust;
use pivot_vetting::signatures::judge::{Purpose, Subject};
use pivot_vetting::signatures::policy::Policy;
use pivot_vetting::signatures::signature_file::{ENDING, SignatureFile};
use pivot_vetting::signatures::statement::Topic;
use pivot_vetting::signatures::trust_file::{self, SIZE};
use serde_json::{Value, json};

use super::notes::by_others;
use crate::output::Text;

/// A site's trust file. It is outside of any directory of plugins, because anyone who can write plugins there could otherwise
/// decide about them too.
const SITE: &str = "/etc/pivot-host/trust.toml";

/// A site's trust, and the list of its files that other users may write.
#[derive(Clone)]
pub(crate) struct TrustFile {
    pub(crate) policy: Arc<Policy>,
    files: Vec<String>,
    pub(crate) open_to_others: Vec<String>,
}

impl TrustFile {
    /// Reads the trust file; `None` if the site has none and none is named.
    pub(crate) fn load(named: Option<&Path>) -> Result<Option<Self>, Text> {
        let mut open_to_others = Vec::new();
        let site = match fs::symlink_metadata(SITE) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            _ => Some(read_policy(Path::new(SITE), &mut open_to_others)?),
        };
        let files = site.iter().map(|_| SITE.to_owned());
        let files = files.chain(named.map(|file| file.display().to_string())).collect();
        let named = named.map(|file| read_policy(file, &mut open_to_others)).transpose()?;
        let both =
            match (site, named) {
                (Some(site), Some(named)) => {
                    let both = site.merge(named);
                    Some(both.map_err(|why| {
                        Text::from(format!("{SITE} and the trust file that is named: {why}"))
                    })?)
                }
                (one, other) => one.or(other),
            };
        Ok(both.map(|policy| Self { policy: Arc::new(policy), files, open_to_others }))
    }

    /// Reads the trust file, if it has a rule about the topic.
    pub(crate) fn with_rules(named: Option<&Path>, topic: Topic) -> Result<Option<Self>, Text> {
        Ok(Self::load(named)?
            .filter(|trust| trust.policy.rules().iter().any(|rule| rule.claim.topic() == topic)))
    }

    /// Returns the number of rules about plugins.
    fn rules(&self) -> usize {
        self.policy.rules().iter().filter(|rule| rule.claim.topic() == Topic::Plugin).count()
    }

    /// Describes the rules about signers of plugins in one line.
    pub(super) fn describe(this: Option<&Self>) -> String {
        let Some(this) = this else { return "no trust file: plugins need no signature".to_owned() };
        let rules = match this.rules() {
            0 => "no rule is about plugins".to_owned(),
            1 => "1 rule about plugins".to_owned(),
            more => format!("{more} rules about plugins"),
        };
        format!("trust: {}: {rules}", this.files.join(", "))
    }

    /// Returns the trust file as a document for programs.
    pub(super) fn document(&self) -> Value {
        json!({"files": self.files, "rules": self.rules()})
    }

    /// Returns a sentence about the files that other users may write, or an error if the file is strict.
    pub(crate) fn open(&self) -> Result<Option<String>, Text> {
        let open = (!self.open_to_others.is_empty()).then(|| by_others(&self.open_to_others));
        match open {
            Some(open) if self.policy.is_strict() => {
                Err(format!("the trust file is strict, and {open}").into())
            }
            open => Ok(open),
        }
    }

    /// Returns the trust for loading plugins that were admitted before.
    pub(crate) fn for_loading(self) -> Trust {
        self.for_purpose(Purpose::Load)
    }

    /// For admitting something today.
    pub(crate) fn for_admitting(self) -> Trust {
        self.for_purpose(Purpose::Admit(Zoned::now().date()))
    }

    fn for_purpose(self, purpose: Purpose) -> Trust {
        let Self { policy, files: _, open_to_others } = self;
        Trust { policy, purpose, open_to_others }
    }
}

/// Returns who signed a file or a directory, by the signatures beside it, if that meets all rules; otherwise the reason.
pub(crate) fn accepted_signers(
    file: &Path,
    subject: &Subject<'_>,
    trust: &Trust,
) -> Result<Vec<String>, String> {
    let beside = format!("{}{ENDING}", file.display());
    let lines = match read_regular_file(Path::new(&beside)) {
        Ok(lines) => lines,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(format!("{beside} can't be read: {error}")),
    };
    let signed = SignatureFile::parse(&lines).map_err(|why| format!("{beside} can't be read: {why}"))?;
    let trusted = trust.policy.judge(subject, &signed, trust.purpose).map_err(|why| why.to_string())?;
    let mut signers: Vec<String> = trusted.claims.into_iter().map(|said| said.signer).collect();
    signers.sort();
    signers.dedup();
    Ok(signers)
}

fn read_policy(file: &Path, open: &mut Vec<String>) -> Result<Policy, Text> {
    let shown = file.display();
    let of = |why: &dyn std::fmt::Display| Text::from(format!("the trust file {shown} can't be used: {why}"));
    let written = read_trust_text(file, open).map_err(|why| of(&why))?;
    let keys = file.parent().unwrap_or(Path::new("")).to_owned();
    let mut key = |name: &str| read_trust_text(&keys.join(name), open);
    trust_file::parse(&written, &mut key).map_err(|why| of(&why))
}

/// A file's text, and whether others may write it.
fn read_trust_text(path: &Path, open: &mut Vec<String>) -> Result<String, String> {
    let bytes = read_regular_file(path).map_err(|error| error.to_string())?;
    if bytes.len() > SIZE {
        return Err(format!("it has more than {SIZE} bytes"));
    }
    for path in open_to_others(path) {
        if !open.contains(&path) {
            open.push(path);
        }
    }
    String::from_utf8(bytes).map_err(|_| "it is not text".to_owned())
}

/// Returns the paths through which other users may write a file or replace it: directories above it, or above the target of a
/// link. Where only its owner may remove a file (`/tmp`), no other user can.
#[cfg(unix)]
fn open_to_others(path: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt;
    const STICKY: u32 = 0o1000;
    let open = |path: &Path, safe: u32| {
        let mode = fs::metadata(path).map(|metadata| metadata.mode()).unwrap_or_default();
        mode & 0o022 != 0 && mode & safe == 0
    };
    let named = std::path::absolute(path).ok();
    let real = fs::canonicalize(path).ok();
    let above: BTreeSet<&Path> =
        named.iter().chain(&real).flat_map(|file| file.ancestors().skip(1)).collect();
    let file = open(path, 0).then_some(path);
    let above = above.into_iter().filter(|directory| open(directory, STICKY));
    file.into_iter().chain(above).map(|path| path.display().to_string()).collect()
}

/// Modes don't say who may write here.
#[cfg(not(unix))]
fn open_to_others(_: &Path) -> Vec<String> {
    Vec::new()
}
