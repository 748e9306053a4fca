//! What comes with the program for a shell and for `man`, used by those: bash, the links that kubectl calls, groff.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::program::{code, err, host, out};

/// As bash calls a completion for the last of the words; what it would offer, a line each.
const TAB: &str = r#"
source "$1"
__start_clusterctl() { COMPREPLY=("clusterctl's own: ${COMP_WORDS[*]:1}"); }
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
[[ $(complete -p "$1") =~ \ -F\ ([^ ]+) ]]
"${BASH_REMATCH[1]}" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
for one in "${COMPREPLY[@]}"; do echo "$one"; done
"#;

/// What bash offers for the last word.
fn offered(dir: &Path, words: &[&str]) -> Vec<String> {
    let script = dir.join("completion.bash");
    fs::write(&script, &host(&["completion", "bash"]).stdout).unwrap();
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-c", TAB, "bash"]).arg(script).args(words);
    let output = bash.output().expect("bash is not there");
    assert!(output.status.success(), "{words:?}: {}", err(&output));
    let mut offered: Vec<String> = out(&output).lines().map(str::to_owned).collect();
    offered.sort();
    offered
}

#[test]
fn bash_completes_each_program_name() {
    let dir = TempDir::new().unwrap();
    for name in ["pivot-host", "kubectl-pivot", "clusterctl-pivot"] {
        let offered = |words: &[&str]| offered(dir.path(), &[&[name], words].concat());
        assert_eq!(offered(&["pl"]), ["plan", "plugin"], "{name}");
        assert_eq!(offered(&["move", "--dry-"]), ["--dry-run"], "{name}");
        let formats = ["dot", "html", "json", "mermaid", "text", "yaml"];
        assert_eq!(offered(&["plan", "-n", "metal3", "-o", ""]), formats, "{name}");
        assert_eq!(offered(&["describe", "cluster", "--show-m"]), ["--show-machinesets"], "{name}");
    }
}

#[test]
fn bash_completes_only_pivot_of_clusterctl() {
    let dir = TempDir::new().unwrap();
    let offered = |words: &[&str]| offered(dir.path(), &[&["clusterctl"], words].concat());
    assert_eq!(offered(&["pivot", "pl"]), ["plan", "plugin"]);
    assert_eq!(offered(&["pivot", "move", "--to-kubeconfig-"]), ["--to-kubeconfig-context"]);
    assert_eq!(offered(&["pivot", "plan", "-o", "j"]), ["json"]);
    assert_eq!(offered(&["mo"]), ["clusterctl's own: mo"]);
    assert_eq!(offered(&["pivot"]), ["clusterctl's own: pivot"]);
    assert_eq!(offered(&["move", "pivot", ""]), ["clusterctl's own: move pivot "]);
}

#[test]
fn kubectl_learns_what_could_be_typed() {
    let dir = TempDir::new().unwrap();
    let link = dir.path().join("kubectl_complete-pivot");
    symlink(env!("CARGO_BIN_EXE_pivot-host"), &link).unwrap();
    let told = |words: &[&str]| {
        let output = Command::new(&link).env_clear().args(words).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{words:?}: {}", err(&output));
        out(&output)
    };
    let commands = "plan\tShow what would move, in which order, what stays and why; change nothing\n\
                    plugin\tWrite, inspect and add plugins\n:4\n";
    assert_eq!(told(&["pl"]), commands);
    let all = told(&[""]);
    assert!(all.contains("\nverify\t") && all.ends_with("\n:4\n"), "{all}");
    assert!(
        !all.contains("\n-") && !all.contains("man\t"),
        "flags, or what is hidden, among the commands: {all}"
    );
    assert_eq!(told(&[]), all);
    assert_eq!(
        told(&["plan", "--to-kubeconfig-"]),
        "--to-kubeconfig-context\tKubeconfig context of the target; without --to-kubeconfig, a context of the source's kubeconfig\n:4\n"
    );
    assert_eq!(told(&["plan", "-o", "j"]), "json\n:4\n");
    assert_eq!(told(&["plan", "--output=j"]), "--output=json\n:4\n");
    assert_eq!(
        told(&["describe", ""]),
        "cluster\tShow a Cluster, its control plane and its workers as a tree, each with its state\nhelp\tPrint this message or the help of the given subcommand(s)\n:4\n"
    );
    // Files are the shell's business; names of objects are nobody's.
    assert_eq!(told(&["plan", "--kubeconfig", ""]), ":0\n");
    assert_eq!(told(&["plan", "--kubeconfig=b"]), ":0\n");
    assert_eq!(told(&["verify", "ba"]), ":0\n");
    assert_eq!(told(&["plan", "--namespace", ""]), ":4\n");
    assert_eq!(told(&["nothing", "like", "it"]), ":4\n");
}

#[test]
fn the_manual_is_read_without_a_warning() {
    let dir = TempDir::new().unwrap();
    let written = host(&["man", dir.path().to_str().unwrap()]);
    assert_eq!(code(&written), 0, "{}", err(&written));
    let mut pages: Vec<String> = fs::read_dir(dir.path().join("man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    assert!(pages.len() >= 20, "{pages:?}");
    for page in &pages {
        // From here a page that only names another one finds it.
        let mut groff = Command::new("groff");
        groff
            .args(["-man", "-Tascii", "-ww", "-rLL=100n", "-P-cbou", &format!("man1/{page}")])
            .current_dir(dir.path());
        let read = groff.output().expect("groff is not there: `apt-get install groff-base`");
        assert!(read.status.success() && read.stderr.is_empty(), "{page}: {}", err(&read));
        assert!(out(&read).contains("SYNOPSIS"), "{page}: {}", out(&read));
    }
    for page in ["pivot-host.1", "pivot-host-move.1", "pivot-host-plan-diff.1", "kubectl-pivot.1"] {
        assert!(pages.iter().any(|one| one == page), "{page}: {pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("try-compile")), "{pages:?}");
    let refused = host(&["man", dir.path().join("man1/pivot-host.1").to_str().unwrap()]);
    assert_eq!(code(&refused), 1);
    assert!(err(&refused).starts_with("error: can't write the manual to "), "{}", err(&refused));
}
