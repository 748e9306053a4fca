//! Kubeconfigs whose certificates, keys, tokens and programs are none, or print what nobody asked for.

use serde_json::{Value, json};

use crate::case::Case;
use crate::kubeconfigs::{changed, good, secure, with};

pub(crate) fn cases() -> Vec<Case> {
    [certificates(), users()].concat()
}

/// What is to be a certificate or a key, and is none.
fn certificates() -> Vec<Case> {
    // In base64: a PEM block of nothing, one of "hunter2", and one that says how long it is and lies.
    let block = |label: &str, body: &str| {
        base64(format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n").as_bytes())
    };
    let values = [
        ("no base64", "hunter2 *".to_owned()),
        (
            "a length that lies",
            block("CERTIFICATE", &base64(b"\x30\x84\xff\xff\xff\xff\x30\x84\xff\xff\xff\xff")),
        ),
        ("a megabyte", block("CERTIFICATE", &base64(&vec![0x30; 1 << 20]))),
        (
            "ten thousand blocks",
            base64(
                "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n".repeat(10_000).as_bytes(),
            ),
        ),
    ];
    let mut cases = Vec::new();
    for (sort, value) in values {
        let cluster = json!({"server": secure(), "certificate-authority-data": value});
        cases.push(changed(format!("certificate-authority-data is {sort}"), "/clusters/0/cluster", cluster));
    }
    for field in ["client-certificate-data", "client-key-data"] {
        let mut user = json!({"client-certificate-data": block("CERTIFICATE", "MAA="), "client-key-data": block("PRIVATE KEY", "MAA=")});
        user[field] = block("CERTIFICATE", &base64(b"hunter2")).into();
        let mut config = good();
        config["users"][0]["user"] = user;
        config["clusters"][0]["cluster"]["server"] = secure().into();
        cases.push(with(format!("{field} is a block of words"), config.to_string()));
    }
    cases
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0, |number, at| number << 8 | usize::from(*three.get(at).unwrap_or(&0)));
        let letters = (0..4).map(|at| char::from(LETTERS[number >> (18 - 6 * at) & 63]));
        text.extend(letters.enumerate().map(|(at, letter)| if at > three.len() { '=' } else { letter }));
    }
    text
}

fn users() -> Vec<Case> {
    let exec = |more: Value| {
        let mut exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/echo", "interactiveMode": "Never",
            "env": [{"name": "TOKEN", "value": "hunter2"}]});
        exec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "exec": exec })
    };
    // In JSON, in which a shell's echo may read escapes on its own.
    let gives = |token: &str, more: &str| {
        let status = format!("{{\"token\":\"{token}\"{more}}}");
        format!(
            "printf '%s' '{{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{status}}}'"
        )
    };
    let shell = |script: &str| exec(json!({"command": "/bin/sh", "args": ["-c", script]}));
    let users = [
        ("a plugin that is not there and has forged words", exec(json!({"command": "gone\nerror: FORGED"}))),
        ("a plugin that dies", shell("echo hunter2; kill -9 $$")),
        ("a plugin that forges lines", shell("printf '\\nerror: FORGED\\nnext: FORGED\\033[2J' >&2; exit 1")),
        ("a plugin that says much", shell("head -c 30000000 /dev/zero | tr '\\0' x >&2; exit 1")),
        (
            "a plugin that gives a day that there is not",
            shell(
                "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"hunter2\",\"expirationTimestamp\":\"2026-02-31T00:00:00Z\"}}'",
            ),
        ),
        ("a plugin that gives a token of two lines", shell(&gives("hunter2\\nx-more: FORGED", ""))),
        ("a token of two lines", json!({"token": "hunter2\nx-more: FORGED"})),
        ("a token of a megabyte", json!({"token": "hunter2".repeat(150_000)})),
        ("a password of two lines", json!({"username": "a", "password": "hunter2\r\nx: y"})),
        (
            "a file of a certificate that is another",
            json!({"client-certificate": "/etc/passwd", "client-key": "/etc/passwd"}),
        ),
        (
            "a way to log in that there is none of",
            json!({"auth-provider": {"name": "FORGED", "config": {"a": "hunter2"}}}),
        ),
        ("acting as words", json!({"token": "hunter2", "as": "a\nerror: FORGED"})),
    ];
    let of_user = |user: &Value| {
        let mut config = good();
        config["users"][0]["user"] = user.clone();
        config["clusters"][0]["cluster"]["server"] = secure().into();
        config
    };
    let of = |(name, user): &(&str, Value)| with(format!("a user with {name}"), of_user(user).to_string());
    users.iter().map(of).collect()
}
