//! The command to type next, with the flags that name the same two sides.

use pivot_core::shell::quoted;
use pivot_engine::Next;

use super::args::{Connection, With};

/// How this program was called, and between what it works.
#[derive(Clone, Debug)]
pub(crate) struct Commands {
    program: String,
    /// What names the two sides.
    both: Vec<String>,
    /// What only goes on with a move: a rollback needs no plugins and waits for nobody, nor does a status.
    going_on: Vec<String>,
}

impl Commands {
    /// `decided` are the flags of this run that a later one needs to go on in the same way.
    pub(crate) fn new(program: &str, connection: &Connection, with: &With, decided: &[String]) -> Self {
        let both = flags(connection);
        let mut flags = Vec::new();
        if let Some(directory) = &with.plugins {
            flags.extend(["--plugins".to_owned(), directory.display().to_string()]);
        }
        if with.unlocked {
            flags.push("--unlocked".to_owned());
        }
        flags.extend_from_slice(decided);
        Self { program: program.to_owned(), both, going_on: flags }
    }

    /// The line for one command, about one move where several may be under way.
    pub(crate) fn line(&self, next: Next, move_id: Option<&str>) -> String {
        let (verb, goes_on) = match next {
            Next::Status => ("status", false),
            Next::Resume => ("resume", true),
            Next::Rollback => ("rollback", false),
            Next::ResumeWithoutSource => ("resume --source-gone", true),
            Next::RollbackWithoutTarget => ("rollback --target-gone", false),
        };
        let mut line = format!("{} {verb}", self.program);
        let going_on = self.going_on.iter().filter(|_| goes_on).map(String::as_str);
        let which = move_id.filter(|_| next != Next::Status).into_iter().flat_map(|id| ["--move", id]);
        for word in self.both.iter().map(String::as_str).chain(going_on).chain(which) {
            line.push(' ');
            line.push_str(&quoted(word));
        }
        line
    }
}

fn flags(connection: &Connection) -> Vec<String> {
    let Connection {
        kubeconfig,
        kubeconfig_context,
        to_kubeconfig,
        to_kubeconfig_context,
        from_directory,
        to_directory,
        as_user,
        as_group,
        to_as,
        to_as_group,
        record_namespace,
    } = connection;
    let path = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let one = [
        ("--kubeconfig", path(kubeconfig)),
        ("--kubeconfig-context", kubeconfig_context.clone()),
        ("--as", as_user.clone()),
        ("--from-directory", path(from_directory)),
        ("--to-kubeconfig", path(to_kubeconfig)),
        ("--to-kubeconfig-context", to_kubeconfig_context.clone()),
        ("--to-as", to_as.clone()),
        ("--to-directory", path(to_directory)),
        ("--record-namespace", Some(record_namespace.clone()).filter(|name| name != "kube-system")),
    ];
    let many = [("--as-group", as_group), ("--to-as-group", to_as_group)];
    let many = many.into_iter().flat_map(|(flag, values)| values.iter().map(move |v| (flag, v.clone())));
    let one = one.into_iter().filter_map(|(flag, value)| Some((flag, value?)));
    one.chain(many).flat_map(|(flag, value)| [flag.to_owned(), value]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_repeats_what_names_the_two_sides() {
        let connection = Connection {
            kubeconfig: Some("a b/it's".into()),
            to_kubeconfig: Some("/k/to".into()),
            as_user: Some("jane".into()),
            as_group: vec!["ops".into(), "dev".into()],
            record_namespace: "moves".into(),
            ..Connection::default()
        };
        assert_eq!(
            Commands::new("kubectl pivot", &connection, &With::default(), &[]).line(Next::Resume, None),
            r"kubectl pivot resume --kubeconfig 'a b/it'\''s' --as jane --to-kubeconfig /k/to --record-namespace moves --as-group ops --as-group dev"
        );
    }

    #[test]
    fn what_is_the_default_is_not_repeated() {
        let connection = Connection { record_namespace: "kube-system".into(), ..Connection::default() };
        assert_eq!(
            Commands::new("pivot-host", &connection, &With::default(), &[]).line(Next::Status, None),
            "pivot-host status"
        );
    }

    #[test]
    fn what_goes_on_with_a_move_names_its_plugins() {
        let with = With { plugins: Some("./plugins".into()), unlocked: true };
        let next = Commands::new(
            "pivot-host",
            &Connection { record_namespace: "kube-system".into(), ..Connection::default() },
            &with,
            &["--no-wait".to_owned()],
        );
        assert_eq!(
            next.line(Next::Resume, None),
            "pivot-host resume --plugins ./plugins --unlocked --no-wait"
        );
        assert_eq!(next.line(Next::Rollback, None), "pivot-host rollback");
        assert_eq!(next.line(Next::Rollback, Some("1234")), "pivot-host rollback --move 1234");
        assert_eq!(next.line(Next::RollbackWithoutTarget, None), "pivot-host rollback --target-gone");
        let without = "pivot-host resume --source-gone --plugins ./plugins --unlocked --no-wait";
        assert_eq!(next.line(Next::ResumeWithoutSource, None), without);
    }
}
