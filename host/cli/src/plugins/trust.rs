//! The site's trust file, and one that is named on the command line: it can add signers, rules and revocations, and waive nothing.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use jiff::Zoned;
use pivot_places::read_regular_file;
use pivot_runtime::Trust;
use pivot_signatures::judge::Purpose;
use pivot_signatures::policy::Policy;
use pivot_signatures::trust_file::{self, SIZE};

use crate::output::Text;

/// Where a site puts its own: outside of any directory of plugins, or whoever writes plugins there would decide about them, too.
const SITE: &str = "/etc/pivot-host/trust.toml";

/// What a site trusts, with the files that say so and that others may write.
#[derive(Clone)]
pub(crate) struct TrustFile {
    pub(crate) policy: Arc<Policy>,
    pub(crate) open_to_others: Vec<String>,
}

impl TrustFile {
    /// Reads what there is; none if the site has none and none is named.
    pub(crate) fn read(named: Option<&Path>) -> Result<Option<Self>, Text> {
        let mut open_to_others = Vec::new();
        let site = match fs::symlink_metadata(SITE) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            _ => Some(policy(Path::new(SITE), &mut open_to_others)?),
        };
        let named = named.map(|file| policy(file, &mut open_to_others)).transpose()?;
        let both =
            match (site, named) {
                (Some(site), Some(named)) => {
                    let both = site.and(named);
                    Some(both.map_err(|why| {
                        Text::from(format!("{SITE} and the trust file that is named: {why}"))
                    })?)
                }
                (one, other) => one.or(other),
            };
        Ok(both.map(|policy| Self { policy: Arc::new(policy), open_to_others }))
    }

    /// For loading what was admitted before.
    pub(super) fn for_loading(self) -> Trust {
        self.to(Purpose::Load)
    }

    /// For admitting something today.
    pub(crate) fn for_admitting(self) -> Trust {
        self.to(Purpose::Admit(Zoned::now().date()))
    }

    fn to(self, purpose: Purpose) -> Trust {
        let Self { policy, open_to_others } = self;
        Trust { policy, purpose, open_to_others }
    }
}

fn policy(file: &Path, open: &mut Vec<String>) -> Result<Policy, Text> {
    let shown = file.display();
    let of = |why: &dyn std::fmt::Display| Text::from(format!("the trust file {shown} can't be used: {why}"));
    let written = text(file, open).map_err(|why| of(&why))?;
    let keys = file.parent().unwrap_or(Path::new("")).to_owned();
    let mut key = |name: &str| text(&keys.join(name), open);
    trust_file::read(&written, &mut key).map_err(|why| of(&why))
}

/// A file's text, and whether others may write it.
fn text(path: &Path, open: &mut Vec<String>) -> Result<String, String> {
    let bytes = read_regular_file(path).map_err(|error| error.to_string())?;
    if bytes.len() > SIZE {
        return Err(format!("it has more than {SIZE} bytes"));
    }
    if is_open_to_others(path) {
        open.push(path.display().to_string());
    }
    String::from_utf8(bytes).map_err(|_| "it is not text".to_owned())
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o022 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> bool {
    false
}
