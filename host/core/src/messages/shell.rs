//! Commands that users can paste, with any names of objects and files.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::messages::safe_text::is_hidden;
use crate::objects::names::{FIELD_MANAGER, PAUSED, UNDO};
use crate::{Key, Side};

/// Quotes a word for a shell. Invisible characters become escapes, which bash and zsh understand.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if !word.chars().any(is_hidden) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let escaped = |c: char| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if is_hidden(c) => c.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
        c => c.to_string(),
    };
    format!("$'{}'", word.chars().map(escaped).collect::<String>())
}

/// A kubectl command on one side.
///
/// The program that opened the sides adds the flags that name the kubeconfig and the context. Without them, kubectl would run
/// the command on the current cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kubectl {
    /// The side.
    pub side: Side,
    /// Flags that name its kubeconfig and context.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Verb and arguments, not quoted.
    pub words: Vec<String>,
}

impl Kubectl {
    /// A command about one object.
    pub fn object(side: Side, verb: &str, key: &Key, rest: &[&str]) -> Self {
        // `Kind.group` works as a resource name, in any spelling of its case.
        let kind = key.group_kind.to_string().to_lowercase();
        let namespace = key.namespace.as_deref().map(|namespace| ["-n", namespace]);
        let words = [verb].into_iter().chain(namespace.into_iter().flatten());
        let words = words.chain([kind.as_str(), key.name.as_str()]).chain(rest.iter().copied());
        Self::new(side, words)
    }

    /// A command that deletes objects with a name in no namespace. Some of them may be gone.
    pub(crate) fn delete_if_present(side: Side, resources: &str, name: &str) -> Self {
        Self::new(side, ["delete", "--ignore-not-found", resources, name])
    }

    /// A merge patch of one object.
    pub fn patch(side: Side, key: &Key, patch: &str) -> Self {
        Self::object(side, "patch", key, &["--type", "merge", "-p", patch])
    }

    /// A merge patch of one object with another field manager than kubectl's.
    pub(crate) fn patch_as(manager: &str, side: Side, key: &Key, patch: &str) -> Self {
        Self::object(side, "patch", key, &["--field-manager", manager, "--type", "merge", "-p", patch])
    }

    /// A command that has a move leave its paused Cluster paused. Users fill in the names that the Cluster has on the side. The field manager
    /// passes the guard of a move.
    pub fn keep_cluster_paused(side: Side) -> Self {
        let (undo, paused) = (format!("{UNDO}-"), format!("{PAUSED}=true"));
        let object = ["-n", "NAMESPACE", "cluster.cluster.x-k8s.io", "NAME"];
        let words = ["annotate", "--field-manager", FIELD_MANAGER].into_iter().chain(object);
        Self::new(side, words.chain([undo.as_str(), paused.as_str()]))
    }

    /// A command of these words.
    pub fn new<'a>(side: Side, words: impl IntoIterator<Item = &'a str>) -> Self {
        Self { side, flags: Vec::new(), words: words.into_iter().map(str::to_owned).collect() }
    }
}

/// The command as users can paste it.
impl fmt::Display for Kubectl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("kubectl")?;
        self.flags.iter().chain(&self.words).try_for_each(|word| write!(f, " {}", quote(word)))
    }
}

/// Returns the words in which an API server refuses a request because of the guard of a move.
pub(crate) fn guard_refusal_text(move_id: &str, removal: &Kubectl) -> String {
    format!(
        "move {move_id} of pivot-host is under way and paused this object: continue the move with `pivot-host resume`, or, before the \
         commit, undo it with `pivot-host rollback`; to remove this guard, in this cluster: {removal}"
    )
}

/// Returns the advice for a change that a move asks for and that its guard refuses.
pub(crate) fn restoring_advice(field_manager: &str) -> String {
    format!(
        "to restore what the move asks for, pass --field-manager {field_manager} to kubectl patch or edit"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GroupKind;

    #[test]
    fn a_command_names_kind_group_and_namespace() {
        let key = Key::new(GroupKind::new("cluster.x-k8s.io", "Machine"), Some("ns"), "m");
        let get = Kubectl::object(Side::Source, "get", &key, &["-o", "yaml"]);
        assert_eq!(get.to_string(), "kubectl get -n ns machine.cluster.x-k8s.io m -o yaml");
        let flags = ["--kubeconfig", "a b"].map(str::to_owned).to_vec();
        let named = Kubectl { flags, ..get };
        assert_eq!(
            named.to_string(),
            "kubectl --kubeconfig 'a b' get -n ns machine.cluster.x-k8s.io m -o yaml"
        );
    }

    #[test]
    fn commands_that_keep_a_pause_pass_guards() {
        assert_eq!(
            Kubectl::keep_cluster_paused(Side::Target).to_string(),
            "kubectl annotate --field-manager pivot-host -n NAMESPACE cluster.cluster.x-k8s.io NAME pivot-host.io/undo- \
             cluster.x-k8s.io/paused=true"
        );
    }

    /// Anyone can write the files of a directory: a name in them may not be a valid name.
    // proves: T94
    #[test]
    fn a_pasted_command_stays_one_command() {
        let key = Key::new(GroupKind::new("", "Odd Kind"), Some("$(id)"), "it's; rm -rf /");
        let delete = Kubectl::object(Side::Target, "delete", &key, &[]).to_string();
        assert_eq!(delete, r"kubectl delete -n '$(id)' 'odd kind' 'it'\''s; rm -rf /'");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("it's\n\\n \u{202e}x"), r"$'it\'s\x0a\\n \xe2\x80\xaex'");
    }
}
