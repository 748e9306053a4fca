//! Notes next to a command's result: files that other users may write, and plugins that no move calls.

use pivot_runtime::Disabled;

use crate::output::Text;

/// Names, with versions.
pub(super) fn switched_off(all: &[Disabled]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

/// Returns a note about files that other users may write, and should not.
pub(super) fn written_by_others(open: &[String]) -> Text {
    let mut text = Text::default();
    if !open.is_empty() {
        text.add_line(format!("warning: {}", by_others(open)));
    }
    text
}

pub(super) fn by_others(open: &[String]) -> String {
    let what = open.join(", ");
    format!("others may write what decides which plugins run: {what}; `chmod go-w` takes it from them")
}

/// The plugins that are installed but not enabled.
pub(super) fn not_called(disabled: &[String]) -> Text {
    let mut text = Text::default();
    if !disabled.is_empty() {
        text.add_line("Not called, because plugins.toml doesn't enable them:");
        disabled.iter().for_each(|name| text.add_line(format!("  {name}")));
    }
    text
}
