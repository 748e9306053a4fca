//! Servers that are missing, silent or unusable, and the kubeconfigs that name them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::example::{code, err, example, host, out};

#[test]
fn unopened_side_changes_nothing() {
    let dir = TempDir::new().unwrap();
    let good = dir.path().join("good");
    fs::write(&good, "{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}]}").unwrap();
    let good = good.to_str().unwrap();
    for (line, expected) in [
        (&["plan", "--kubeconfig", "/nope"][..], "kubeconfig /nope"),
        (&["plan", "--kubeconfig", good, "--context", "b"], "no context \"b\"; there are: a"),
        (&["plan", "--kubeconfig", good], "context \"a\": its user \"a\" does not exist; there are: none"),
        (&["plan"], "does not exist; name one with --kubeconfig or KUBECONFIG"),
        (&["plan", "--from-directory", "/nope"], "/nope"),
    ] {
        let output = host(line);
        assert_eq!(code(&output), 3, "{line:?}: {}", err(&output));
        assert!(err(&output).contains(expected), "{line:?}: {}", err(&output));
        assert!(err(&output).contains("nothing is changed"), "{line:?}: {}", err(&output));
    }
}

/// A kubeconfig of a server at this address.
fn kubeconfig(dir: &TempDir, name: &str, server: &str) -> String {
    let path = dir.path().join(name);
    let config = serde_json::json!({
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {}}],
    });
    fs::write(&path, config.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// One takes connections and never says a word, the other refuses them.
#[test]
fn silent_server_is_named_and_given_up() {
    let dir = TempDir::new().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let servers = [
        ("silent", silent.local_addr().unwrap(), "nothing came back for 10 seconds"),
        ("closed", closed, "Connection refused"),
    ];
    std::thread::scope(|scope| {
        for (name, address, why) in servers {
            let server = format!("http://{address}/");
            let config = kubeconfig(&dir, name, &server);
            let source = ["--kubeconfig".to_owned(), config.clone()];
            let to =
                ["--to-directory".to_owned(), dir.path().join(format!("copy-{name}")).display().to_string()];
            let both = [&source[..], &["--to-kubeconfig".to_owned(), config.clone()]].concat();
            for line in [
                [&["plan".to_owned()], &source[..]].concat(),
                [&["move".to_owned()], &source[..], &to].concat(),
                [&["status".to_owned()], &source[..]].concat(),
                [&["resume".to_owned()], &both[..]].concat(),
            ] {
                let (server, config) = (server.clone(), config.clone());
                scope.spawn(move || {
                    let begun = Instant::now();
                    let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
                    command.env_clear().args(&line).stderr(Stdio::piped()).stdout(Stdio::null());
                    let mut child = command.spawn().unwrap();
                    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
                    let lines: Vec<(Duration, String)> =
                        lines.map(|line| (begun.elapsed(), line.unwrap())).collect();
                    let text: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
                    let text = text.join("\n");
                    assert_eq!(child.wait().unwrap().code(), Some(9), "{line:?}: {text}");
                    // A machine that is busy has some seconds more.
                    assert!(begun.elapsed() < Duration::from_secs(30), "{line:?}: {text}");
                    let (first, asking) =
                        lines.iter().find(|(_, line)| line.contains("no answer for")).expect(&text);
                    assert!(*first < Duration::from_secs(5), "{line:?}: {first:?}");
                    assert!(asking.contains(&server) && asking.contains(name), "{line:?}: {asking}");
                    assert!(text.matches("no answer for").count() > 1, "{line:?}: {text}");
                    let error = lines.iter().find(|(_, line)| line.starts_with("error: ")).expect(&text);
                    assert!(error.1.contains(why), "{line:?}: {text}");
                    for part in ["no answer from the ", &server, &config, why, "nothing is changed"] {
                        assert!(text.contains(part), "{line:?}, {part}: {text}");
                    }
                    assert!(text.contains("fix:   check that this is the right cluster"), "{text}");
                    // That would ask the same server.
                    let plan = line.first().is_some_and(|verb| verb == "plan");
                    assert!(!(plan && text.contains("next:")), "{text}");
                });
            }
        }
    });
}

/// A script can repeat such a command, as it can repeat a move.
#[test]
fn silent_servers_of_other_commands_exit_9() {
    let dir = TempDir::new().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let of = |name: &str, address| kubeconfig(&dir, name, &format!("http://{address}/"));
    let (silent, refusing) = (of("silent", silent.local_addr().unwrap()), of("closed", closed));
    let bundle = dir.path().join("bundle").display().to_string();
    let invite = "agent invite edge -n shop --image i --call a:1 --allow-namespace shop --kubeconfig";
    let lines = [
        format!("{invite} {silent}"),
        format!("{invite} {refusing}"),
        format!("agent remove edge -n shop --kubeconfig {silent}"),
        format!("agent remove edge -n shop --kubeconfig {refusing}"),
        format!("plugin pull {closed}/plugins:1 --out {bundle} --plain-http"),
    ];
    std::thread::scope(|scope| {
        for line in &lines {
            scope.spawn(move || {
                let begun = Instant::now();
                let ended = host(&line.split(' ').collect::<Vec<_>>());
                assert_eq!(code(&ended), 9, "{line}: {}", err(&ended));
                // The first answer has ten seconds, and a busy machine some more.
                assert!(begun.elapsed() < Duration::from_secs(20), "{line}: {:?}", begun.elapsed());
            });
        }
    });
}

#[test]
fn verbose_logs_the_cause_of_failures() {
    for line in [["--kubeconfig", "/nope"], ["--from-directory", "/nope"]] {
        let cause = "sources=[No such file or directory (os error 2)]";
        let told = |verbose: &[&str]| err(&host(&[&["plan"], &line[..], verbose].concat())).contains(cause);
        assert!(
            told(&["-vv"]) && !told(&["-v"]),
            "{line:?}: {}",
            err(&host(&["plan", line[0], line[1], "-vv"]))
        );
    }
}

#[test]
fn implied_target_is_named_first() {
    let dir = TempDir::new().unwrap();
    let config = unusable_kubeconfig(&dir, "prod");
    let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
    command.env_clear().env("KUBECONFIG", &config).args(["move", "-q", "--from-directory"]);
    let output = command.arg(example()).output().unwrap();
    let said = err(&output);
    let named = said.lines().next().unwrap();
    assert!(
        named.starts_with("target: context ") && named.ends_with(" (current context, as clusterctl does)"),
        "{said}"
    );
    assert_eq!(code(&output), 3, "{said}");
    let planned = host(&["plan", "-q", "--from-directory", example().to_str().unwrap()]);
    assert_eq!((code(&planned), err(&planned).contains("target: ")), (0, false), "{}", err(&planned));
}

/// A kubeconfig whose token can't be sent: it is refused before anything is asked.
fn unusable_kubeconfig(dir: &TempDir, name: &str) -> String {
    let config = kubeconfig(dir, name, "https://192.0.2.2:6443");
    let text = fs::read_to_string(&config).unwrap().replace(r#""user":{}"#, r#""user":{"token":"a\nb"}"#);
    fs::write(&config, text).unwrap();
    config
}

#[test]
fn clusterctls_examples_open_their_sides() {
    let dir = TempDir::new().unwrap();
    let current = kubeconfig(&dir, "current", "https://192.0.2.2:6443");
    let unusable = unusable_kubeconfig(&dir, "target-kubeconfig.yaml");
    let backup = dir.path().join("backup-directory");
    std::os::unix::fs::symlink(example(), &backup).unwrap();
    let program = dir.path().join("clusterctl-pivot");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pivot-host"), &program).unwrap();
    let run = |config: &str, line: &str| {
        let mut command = Command::new(&program);
        command.env_clear().env("KUBECONFIG", config).current_dir(dir.path());
        let line = line.replace("/tmp/backup-directory", backup.to_str().unwrap());
        let output = command.args(line.split_whitespace().skip(1)).output().unwrap();
        assert_eq!(code(&output), 3, "{line}: {}", err(&output));
        err(&output)
    };
    for (config, line, side) in [
        (&current, "clusterctl move --to-kubeconfig=target-kubeconfig.yaml", "target"),
        (&unusable, "clusterctl move --to-directory /tmp/backup-directory", "source"),
        (&unusable, "clusterctl move --from-directory /tmp/backup-directory", "target"),
    ] {
        let said = run(config, line);
        assert!(
            said.contains(&format!("error: {side}: ")) && said.contains("can't be sent"),
            "{line}: {said}"
        );
    }
}

#[test]
fn implied_target_needs_a_context() {
    let dir = TempDir::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
    command.env_clear().env("KUBECONFIG", dir.path().join("none")).args(["move", "--from-directory"]);
    let output = command.arg(example()).output().unwrap();
    let said = err(&output);
    assert!(said.contains("no current context") && said.contains("--to-kubeconfig"), "{said}");
    assert_eq!(code(&output), 2, "{said}");
}

/// A server that knows no user, at the address that is returned.
fn serve_nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream
                .write_all(b"HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}");
        }
    });
    format!("http://{address}")
}

// proves: T131
#[test]
fn rust_log_changes_no_output() {
    let dir = TempDir::new().unwrap();
    let config = kubeconfig(&dir, "one", &serve_nobody());
    let run = |variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
        command.env_clear().envs(variables.iter().copied()).args(["plan", "--kubeconfig", &config]);
        let output = command.output().unwrap();
        let text = out(&output) + &err(&output);
        // Sometimes one of two questions fails first, sometimes the other.
        let begins = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
        (code(&output), text.lines().map(begins).collect::<Vec<_>>())
    };
    let usual = ["warning", "error", "state"].map(str::to_owned).to_vec();
    for log in ["", "trace", "kube_client=trace,hyper_util=trace,pivot_places=trace"] {
        assert_eq!(run(&[("RUST_LOG", log)]), (3, usual.clone()), "{log}");
    }
}

#[test]
fn no_proxy_may_have_empty_elements() {
    let dir = TempDir::new().unwrap();
    let config = unusable_kubeconfig(&dir, "one");
    for no_proxy in ["localhost,", "a,,b", "localhost 192.0.2.2"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
        command.env_clear().args(["plan", "--kubeconfig", &config]);
        command.env("HTTPS_PROXY", "http://127.0.0.1:1").env("NO_PROXY", no_proxy);
        let said = err(&command.output().unwrap());
        assert!(said.contains("characters that can't be sent"), "{no_proxy:?}: {said}");
    }
}
