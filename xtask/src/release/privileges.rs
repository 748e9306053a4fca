//! Checks that the image's program runs without privileges.

use std::fs;
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::place::Place;

/// Begins the lines about capabilities in the kernel's status of a process: five sets of them.
const CAPABILITIES: &str = "Cap";
const SETS: usize = 5;
/// Only a process with this line can't get privileges from programs that it starts.
const NO_NEW_PRIVILEGES: &str = "NoNewPrivs:\t1";
/// Time until the program has connected, at most.
const LIMIT: Duration = Duration::from_mins(1);

/// Fails unless the program has no capabilities, and no way to any. The check reads its status while it waits
/// for a server, whose address is in this kubeconfig, with `PORT` in place of the port.
pub(super) fn ensure_none(container: &Place, kubeconfig: &str) -> Result<()> {
    let server = TcpListener::bind("127.0.0.1:0").context("listen")?;
    let port = server.local_addr().context("listen")?.port();
    let file = container.root.join("kubeconfig-of-listener");
    fs::write(&file, kubeconfig.replace("PORT", &port.to_string())).context("write a kubeconfig")?;
    let (sender, connections) = channel();
    thread::spawn(move || sender.send(server.accept()));
    let mut run = container.start(&["plan", "--kubeconfig", "/kubeconfig-of-listener", "-n", "metal3"])?;
    let connection = connections.recv_timeout(LIMIT);
    let status = fs::read_to_string(format!("/proc/{}/status", run.id()));
    run.kill().context("end the image's program")?;
    run.wait().context("end the image's program")?;
    drop(connection.context("the image's program didn't connect")?);
    let found = find_privileges(&status.context("read the status of the image's program")?);
    if found.is_empty() { Ok(()) } else { bail!("the image's program has privileges: {}", found.join(", ")) }
}

/// Returns the lines of a process's status that show a privilege.
fn find_privileges(status: &str) -> Vec<String> {
    let sets: Vec<&str> = status.lines().filter(|line| line.starts_with(CAPABILITIES)).collect();
    let mut found: Vec<String> = sets
        .iter()
        .filter(|line| line.split_once(":\t").is_none_or(|(_, set)| set.bytes().any(|digit| digit != b'0')))
        .map(|line| (*line).to_owned())
        .collect();
    if sets.len() != SETS {
        found.push(format!("{} sets of capabilities", sets.len()));
    }
    if !status.lines().any(|line| line == NO_NEW_PRIVILEGES) {
        found.push(format!("no line {NO_NEW_PRIVILEGES:?}"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: &str = "Name:\tpivot-host\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n\
                        CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n";

    #[test]
    fn each_privilege_is_found() {
        assert_eq!(find_privileges(NONE), Vec::<String>::new());
        for (old, new, count) in [
            ("CapBnd:\t0000000000000000", "CapBnd:\t000001ffffffffff", 1),
            ("CapEff:\t0000000000000000", "CapEff:\t0000000000040000", 1),
            ("CapAmb:\t0000000000000000\n", "", 1),
            ("NoNewPrivs:\t1", "NoNewPrivs:\t0", 1),
            ("Cap", "Other", 1),
        ] {
            assert_eq!(find_privileges(&NONE.replace(old, new)).len(), count, "{new}");
        }
    }
}
