//! Commands that users can paste, whatever objects and files are called.

use crate::Key;
use crate::words::hidden;

/// A word, quoted for a shell. Invisible characters are written as escapes, which bash and zsh understand.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if !word.chars().any(hidden) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let escaped = |c: char| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if hidden(c) => c.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
        c => c.to_string(),
    };
    format!("$'{}'", word.chars().map(escaped).collect::<String>())
}

/// A kubectl command about one object. `Kind.group` works as a resource name, in any spelling of its case.
pub fn kubectl(verb: &str, key: &Key, rest: &[&str]) -> String {
    let kind = key.group_kind.to_string().to_lowercase();
    let namespace = key.namespace.as_deref().map(|namespace| ["-n", namespace]);
    let words = ["kubectl", verb].into_iter().chain(namespace.into_iter().flatten());
    let words = words.chain([kind.as_str(), key.name.as_str()]).chain(rest.iter().copied());
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GroupKind;

    #[test]
    fn a_command_names_kind_group_and_namespace() {
        let key = Key::new(GroupKind::new("cluster.x-k8s.io", "Machine"), Some("ns"), "m");
        let get = kubectl("get", &key, &["-o", "yaml"]);
        assert_eq!(get, "kubectl get -n ns machine.cluster.x-k8s.io m -o yaml");
    }

    /// Anyone can write the files of a directory: a name in them may not be a valid name.
    // proves: T94
    #[test]
    fn a_pasted_command_stays_one_command() {
        let key = Key::new(GroupKind::new("", "Odd Kind"), Some("$(id)"), "it's; rm -rf /");
        assert_eq!(kubectl("delete", &key, &[]), r"kubectl delete -n '$(id)' 'odd kind' 'it'\''s; rm -rf /'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("it's\n\\n \u{202e}x"), r"$'it\'s\x0a\\n \xe2\x80\xaex'");
    }
}
