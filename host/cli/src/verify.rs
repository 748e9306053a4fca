//! `pivot-host verify DIR`: has a directory changed since a move wrote it, and who signed it? Can it be restored? Users run it before
//! they carry the directory elsewhere, and there.

use pivot_engine::Exit;
use pivot_places::{DirectoryError, Examined, Identities};
use serde_json::{Value, json};

use crate::args::{DirectoryEnd, PluginArgs};
use crate::authorship::Authors;
use crate::ends::flag_for;
use crate::exit;
use crate::output::{self, Document, ErrorDocument, Output, Text};
use crate::plugins::{RestoreComparison, restore_into_memory};

const UNTOUCHED: &str = "nothing in the directory is changed";

/// Examines a directory, and reports its content and its faults. `restores`: restores it into memory, too, if it has no faults.
pub(crate) async fn run(end: &DirectoryEnd, with: &PluginArgs, restores: bool, output: &Output) -> u8 {
    let directory = end.clone();
    let (path, authors) = (directory.path.clone(), Authors { trust: with.trust.clone(), begins: true });
    // Examining a large directory takes time, which must not delay the handling of signals.
    let examined = tokio::task::spawn_blocking(move || examine_directory(&directory)).await;
    let examined = match examined {
        Ok(Ok(examined)) => examined,
        Ok(Err(error)) => return report_refusal(Text::from(format!("{error}{}", flag_for(&error))), output),
        Err(_) => {
            let bug = "the task that reads files panicked; this is a bug in pivot-host, please report it";
            return report_refusal(Text::from(bug), output);
        }
    };
    let signed = authors.check(&path, examined.digest());
    let restored = match restores && examined.digest().is_some() && signed.is_ok() {
        true => Some(restore_into_memory(end, with).await),
        false => None,
    };
    let Examined {
        path,
        manifest,
        encrypted,
        count,
        objects,
        missing,
        unreadable,
        changed,
        added,
        exposed,
        ..
    } = &examined;
    let whole = examined.is_whole();
    let of_kind = |(kind, count)| json!({"kind": kind, "objects": count});
    let kinds = objects.as_ref().map(|objects| objects.iter().map(of_kind).collect::<Vec<_>>());
    let content = json!({
        "directory": path,
        "asWritten": manifest.as_ref().map(|_| whole),
        "moveId": manifest.as_ref().map(|manifest| &manifest.move_id),
        "handover": manifest.as_ref().map(|manifest| manifest.handover),
        "backup": manifest.as_ref().and_then(|manifest| manifest.backup.as_ref()),
        "encrypted": encrypted,
        "objects": count,
        "kinds": kinds,
        "missing": missing,
        "unreadable": unreadable,
        "changed": changed,
        "added": added,
        "exposed": exposed,
        "signed": signed.as_ref().ok().and_then(Option::as_ref).map(|note| &note.message),
        "restore": restored.as_ref().map(describe_restore),
    });
    let all = output.settings().verbose > 0;
    output.result(&Document::new("Verification", content), || {
        let mut text = output::verification_text(&examined, all);
        if let Some(Ok(RestoreComparison { objects, changed_by_plugins, differences })) = &restored {
            text.append(output::restored_text(*objects, *changed_by_plugins, differences.len()));
        }
        text
    });
    if !exposed.is_empty() {
        output.warn(output::exposed_files_text(exposed));
    }
    let why = match signed {
        _ if examined.digest().is_none() => output::altered_files_text(&examined),
        Err(why) => why,
        Ok(note) => {
            note.into_iter().for_each(|note| output.note(note.message));
            match restored {
                None => return exit::DONE,
                Some(Err(why)) => why,
                Some(Ok(restored)) => match restored.describe_differences() {
                    None => return exit::DONE,
                    Some(why) => why,
                },
            }
        }
    };
    output.fail(why);
    exit::exit_code(Exit::Refused)
}

/// Returns the result of a restore into memory, for documents.
fn describe_restore(restored: &Result<RestoreComparison, Text>) -> Value {
    match restored {
        Err(why) => json!({"objects": 0, "changedByPlugins": 0, "differences": [], "stopped": why.message()}),
        Ok(RestoreComparison { objects, changed_by_plugins, differences }) => json!({
            "objects": objects,
            "changedByPlugins": changed_by_plugins,
            "differences": differences,
            "stopped": null,
        }),
    }
}

fn examine_directory(DirectoryEnd { path, keys }: &DirectoryEnd) -> Result<Examined, DirectoryError> {
    let identities = keys.as_deref().map(Identities::read).transpose()?;
    Examined::examine(path, identities)
}

fn report_refusal(message: Text, output: &Output) -> u8 {
    if output.settings().format.is_document() {
        output.result(
            &ErrorDocument::outside_engine(Exit::Refused, &message, UNTOUCHED, Vec::new()),
            Text::default,
        );
    }
    output.fail(message);
    exit::exit_code(Exit::Refused)
}
