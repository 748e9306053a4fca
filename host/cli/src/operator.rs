//! The name of the local user.

use pivot_core::messages::safe_text;

/// The user who runs this, as far as the system knows: the record of a move names them to anyone who finds it, and plugins.lock to who asks who admitted a plugin.
pub(crate) fn user_name() -> String {
    let user = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = host.or_else(|| std::env::var("HOSTNAME").ok());
    let host = host.map(|host| host.trim().to_owned()).filter(|host| !host.is_empty());
    let name = match (user, host) {
        (Some(user), Some(host)) => format!("{user}@{host}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => String::new(),
    };
    safe_text::to_line(&name, 100)
}
