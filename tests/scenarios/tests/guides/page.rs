//! A guide, typed section by section in a folder. Each test says what it types instead of a line that it can't type as written.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use pivot_lab::assets::assets;
use pivot_scenarios::host::binary;
use pivot_scenarios::secrets::ensure_no_secret;
use tempfile::TempDir;

use crate::typed::{fenced_lines, is_command, type_commands};

/// The shell that commands are typed into, with its environment besides `PATH`. A test that edits a file writes the script `editor`.
pub(crate) const SHELL: [&str; 4] = ["env", "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "EDITOR=sh editor", "sh"];

/// A guide whose commands are typed section by section, in a folder with kubeconfigs.
pub(crate) struct Guide {
    page: String,
    folder: TempDir,
    /// The folder with the programs.
    programs: TempDir,
    /// Returns a line of the page as it is typed, or nothing if it is left out.
    adapt: fn(&str) -> Option<String>,
    /// A word of the page, and the word that is typed in its place.
    replaced: (String, String),
    /// Lines of the page that were typed.
    typed: BTreeSet<String>,
}

impl Guide {
    pub(crate) async fn open(name: &str, adapt: fn(&str) -> Option<String>) -> Self {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides").join(name);
        let programs = tempfile::tempdir().unwrap();
        let assets = assets().await.unwrap();
        let (kubectl, clusterctl) = (assets.kubectl().await.unwrap(), assets.clusterctl().await.unwrap());
        for (name, path) in
            [("pivot-host", binary().unwrap()), ("kubectl", kubectl), ("clusterctl", clusterctl)]
        {
            symlink(path, programs.path().join(name)).unwrap();
        }
        Self {
            page: fs::read_to_string(page).unwrap(),
            folder: tempfile::tempdir().unwrap(),
            programs,
            adapt,
            replaced: Default::default(),
            typed: BTreeSet::new(),
        }
    }

    /// Returns the path of a file that the commands name.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts another word in place of one of the page.
    pub(crate) fn replace(&mut self, word: &str, other: &str) {
        self.replaced = (word.to_owned(), other.to_owned());
    }

    /// Returns the lines in the fenced blocks of a section.
    pub(crate) fn fenced(&self, heading: &str) -> Vec<&str> {
        let begin = format!("\n## {heading}\n");
        let (_, section) = self.page.split_once(&begin).unwrap_or_else(|| panic!("no section {heading}"));
        fenced_lines(section.split_once("\n## ").map_or(section, |(section, _)| section))
    }

    /// Types all commands of a section, and compares what they print with the page.
    pub(crate) fn type_section(&mut self, heading: &str) -> String {
        self.type_chosen(heading, |_| true)
    }

    /// Types the chosen commands of a section, and compares what they print with the other chosen lines.
    pub(crate) fn type_chosen(&mut self, heading: &str, is_chosen: impl Fn(&str) -> bool) -> String {
        let lines = self.choose_lines(heading, is_chosen);
        self.type_lines(heading, &lines)
    }

    /// Returns the chosen lines of a section as they are typed.
    pub(crate) fn choose_lines(&mut self, heading: &str, is_chosen: impl Fn(&str) -> bool) -> Vec<String> {
        let lines: Vec<String> =
            self.fenced(heading).into_iter().filter(|line| is_chosen(line)).map(str::to_owned).collect();
        assert!(lines.iter().any(|line| is_command(line)), "no commands are chosen in {heading}");
        let adapted = lines.iter().filter_map(|line| (self.adapt)(line));
        let adapted = adapted.map(|line| line.replace(&self.replaced.0, &self.replaced.1)).collect();
        self.typed.extend(lines.into_iter().filter(|line| is_command(line)));
        adapted
    }

    /// Types lines, and returns what they print.
    pub(crate) fn type_lines(&self, heading: &str, lines: &[String]) -> String {
        let typed = format!("```\n{}\n```\n", lines.join("\n"));
        let (folder, path) = (self.folder.path(), self.path_variable());
        let printed = tokio::task::block_in_place(|| type_commands(&typed, &SHELL, folder, &path));
        ensure_no_secret(heading, &printed).unwrap();
        printed
    }

    /// Returns the `PATH` of the commands.
    pub(crate) fn path_variable(&self) -> String {
        format!("{}:/usr/bin:/bin", self.programs.path().display())
    }

    /// Fails if the page has a command that was not typed.
    pub(crate) fn ensure_all_typed(&self) {
        let on_page = fenced_lines(&self.page).into_iter().filter(|line| is_command(line));
        let untyped: Vec<&str> = on_page.filter(|line| !self.typed.contains(*line)).collect();
        assert_eq!(untyped, Vec::<&str>::new());
    }
}
