//! Completion scripts for shells: clap's for `pivot-host`, and the other names by which the program is called.
//!
//! `kubectl pivot` needs no script: kubectl's own asks for [`candidates`](super::candidates()). clusterctl's asks nobody about plugins,
//! so words behind `clusterctl pivot` are completed here, and all others are left to its own script.

use clap_complete::Shell;

use super::command::command;

const BASH: &str = r#"
complete -F _pivot__host -o bashdefault -o default kubectl-pivot clusterctl-pivot

# clusterctl asks no plugin what it could be told.
_pivot__host_of_clusterctl() {
    if [[ $COMP_CWORD -gt 1 && ${COMP_WORDS[1]} == pivot ]]; then
        COMP_WORDS=(clusterctl-pivot "${COMP_WORDS[@]:2}")
        COMP_CWORD=$((COMP_CWORD - 1))
        _pivot__host clusterctl-pivot "$2" "$3"
    elif declare -F __start_clusterctl >/dev/null; then
        __start_clusterctl "$@"
    fi
}
complete -F _pivot__host_of_clusterctl -o bashdefault -o default clusterctl
"#;

const ZSH: &str = r#"
if [ "$funcstack[1]" != "_pivot-host" ]; then
    compdef _pivot-host kubectl-pivot clusterctl-pivot

    # clusterctl asks no plugin what it could be told.
    _pivot-host_of_clusterctl() {
        if (( CURRENT > 2 )) && [[ $words[2] == pivot ]]; then
            shift words
            (( CURRENT-- ))
            _pivot-host "$@"
        elif (( $+functions[_clusterctl] )); then
            _clusterctl "$@"
        else
            _default "$@"
        fi
    }
    compdef _pivot-host_of_clusterctl clusterctl
fi
"#;

const FISH: &str = r#"
complete -c kubectl-pivot -w pivot-host
complete -c clusterctl-pivot -w pivot-host

# clusterctl asks no plugin what it could be told.
function __fish_pivot_host_of_clusterctl
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test "$words[2]" = pivot
end
complete -c clusterctl -n __fish_pivot_host_of_clusterctl -f -a '(complete -C (string join " " -- pivot-host (commandline -opc)[3..] (commandline -ct)))'
"#;

/// The script for a shell.
pub(crate) fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(None), "pivot-host", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    let more = match shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        _ => "",
    };
    let script = match shell {
        // clap_complete takes the dash in our name for one between commands, but only where it looks for the words after them.
        Shell::Bash => script.replace("pivot__subcmd__host", "pivot__host"),
        // Where the script is a file in one of zsh's own folders, its first line says whom it is for.
        Shell::Zsh => script.replacen(
            "#compdef pivot-host\n",
            "#compdef pivot-host kubectl-pivot clusterctl-pivot\n",
            1,
        ),
        _ => script,
    };
    script + more
}
