//! A root directory in which the program runs alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use anyhow::{Context, Result, bail};

use crate::shell::{must, root, shown};

const EXAMPLE: &str = "examples/metal3";
/// What finds the tools that change the root directory; the program itself has no environment but this.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";
/// Makes the first argument a root directory that can't be written but for its folder `out`, in a view of the file system of its
/// own, and becomes the second one there to run the third one with the rest. It has no capabilities, and can't get any.
const READ_ONLY: &str = r#"
set -e
mount --bind "$1" "$1"
mount --bind "$1/out" "$1/out"
mount -o remount,bind,ro "$1"
root=$1 user=$2 program=$3
shift 3
exec capsh --quiet --no-new-privs --drop=all --inh= --noamb --groups= --gid="${user#*:}" --chroot="$root" \
  --uid="${user%:*}" --shell="$program" -- "$@"
"#;

/// It has the example, a folder `out`, the libraries that the program needs, and what is put there.
pub(super) struct Place {
    pub(super) root: PathBuf,
    program: String,
    /// Whom it runs as, if nothing can be written.
    user: Option<String>,
}

impl Place {
    pub(super) fn new(root_directory: PathBuf, program: &str, libraries: &[PathBuf]) -> Result<Self> {
        let out = root_directory.join("out");
        fs::create_dir_all(&out).with_context(|| format!("create {}", out.display()))?;
        for library in libraries {
            let there = root_directory.join(library.strip_prefix("/")?);
            fs::create_dir_all(there.parent().context("a library lies in a folder")?)?;
            fs::copy(library, there).with_context(|| format!("copy {}", library.display()))?;
        }
        let example = root()?.join(EXAMPLE);
        must(Command::new("cp").arg("--recursive").arg(example).arg(root_directory.join("example")))?;
        Ok(Self { root: root_directory, program: program.to_owned(), user: None })
    }

    /// The same where only `out` can be written, by a user without rights.
    pub(super) fn read_only(self, user: &str) -> Result<Self> {
        must(Command::new("chown").arg(user).arg(self.root.join("out")))?;
        Ok(Self { user: Some(user.to_owned()), ..self })
    }

    /// What the program prints when it succeeds.
    pub(super) fn says(&self, words: &[&str]) -> Result<String> {
        self.runs_as(&self.program, words)
    }

    /// The same of the program under another name.
    pub(super) fn runs_as(&self, program: &str, words: &[&str]) -> Result<String> {
        let output = self.run(program, words)?;
        if !output.status.success() {
            let (out, err) = (text(&output.stdout), text(&output.stderr));
            bail!("`{program} {}` failed ({}):\n{out}{err}", words.join(" "), output.status);
        }
        Ok(text(&output.stdout))
    }

    /// It exits with this code, and the error says that.
    pub(super) fn fails(&self, words: &[&str], code: i32, part: &str) -> Result<()> {
        let output = self.run(&self.program, words)?;
        let err = text(&output.stderr);
        if output.status.code() != Some(code) || !err.contains(part) {
            bail!(
                "`{}` should exit with {code} and {part:?}, not {}:\n{err}",
                words.join(" "),
                output.status
            );
        }
        Ok(())
    }

    /// Starts the program. The child is its own process: programs that prepare it are replaced by it.
    pub(super) fn start(&self, words: &[&str]) -> Result<Child> {
        let mut command = self.command(&self.program, words);
        command.spawn().with_context(|| format!("start `{}`", shown(&command)))
    }

    fn run(&self, program: &str, words: &[&str]) -> Result<Output> {
        let mut command = self.command(program, words);
        command.output().with_context(|| format!("start `{}`", shown(&command)))
    }

    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = match &self.user {
            None => Command::new("chroot"),
            Some(_) => Command::new("unshare"),
        };
        if self.user.is_some() {
            command.args(["--mount", "--propagation", "private", "sh", "-c", READ_ONLY, "sh"]);
        }
        command.arg(&self.root).args(&self.user);
        command.arg(program).args(words).env_clear().env("PATH", PATH);
        command
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder with its links, owned by root, as an image has it.
pub(super) fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("create {}", to.display()))?;
    must(Command::new("cp").args(["--archive", "--no-target-directory"]).args([from, to]))
}
