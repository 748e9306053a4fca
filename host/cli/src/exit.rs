//! Exit codes. [`Exit::meaning`] has the table; `docs/exit-codes.md` is made from it.

use std::process::ExitCode;

use pivot_engine::Exit;

use crate::output::Text;

/// The result of a command other than a move: on failure, the exit code and the message.
pub(crate) type Result<T, E = (Exit, Text)> = std::result::Result<T, E>;

/// Done.
pub(crate) const DONE: u8 = 0;

/// The exit if a server refused a request of a command other than a move, or didn't answer it.
pub(crate) fn of_server(is_silent: bool) -> Exit {
    if is_silent { Exit::Unreachable } else { Exit::Refused }
}

/// The engine's exit as a number.
pub(crate) fn exit_code(exit: Exit) -> u8 {
    exit as u8
}

/// The code as the operating system wants it.
pub(crate) fn to_system(code: u8) -> ExitCode {
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    #[test]
    fn page_of_exit_codes_has_every_code() {
        let mut page = PAGE_BEGINS.to_owned();
        let mut last = DONE;
        for exit in Exit::ALL {
            assert!(exit_code(exit) > last, "{exit:?}: by their codes");
            last = exit_code(exit);
            page.push_str(&format!("| {last} | `{exit:?}` | {} |\n", exit.meaning()));
        }
        page.push_str(PAGE_ENDS);
        expect_file!["../../../docs/exit-codes.md"].assert_eq(&page);
    }

    const PAGE_BEGINS: &str = "# Exit codes

A command ends with one of these codes. With `-o json`, `reason` of the error document is the name. [The runbook](runbook.md#by-exit-code)
says what to do for each.

| code | name | meaning |
|--:|---|---|
| 0 | | Done. |
";
    const PAGE_ENDS: &str = "
A script may repeat a command that ended with 8 or 9: nothing was changed. After 4 and 5 a move is under way, so `resume` continues it.
A signal ends commands that only read with 128 and the signal's number.
";
}
