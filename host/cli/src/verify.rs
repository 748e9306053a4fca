//! `pivot-host verify DIR`: has a directory changed since a move wrote it, and who signed it? Users run it before they carry the
//! directory elsewhere, and there.

use std::path::PathBuf;

use pivot_engine::Exit;
use pivot_places::{DirectoryError, Examined, Identities};
use serde_json::json;

use crate::args::DirectoryEnd;
use crate::authorship::Authors;
use crate::ends::flag_for;
use crate::exit;
use crate::output::{self, Document, ErrorDocument, Output, Text};

const UNTOUCHED: &str = "nothing in the directory is changed";

/// Examines a directory, and reports its content and its faults.
pub(crate) async fn run(directory: &DirectoryEnd, trust: &Option<PathBuf>, output: &Output) -> u8 {
    let directory = directory.clone();
    let (path, authors) = (directory.path.clone(), Authors { trust: trust.clone(), begins: true });
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
    });
    let all = output.settings().verbose > 0;
    output.result(&Document::new("Verification", content), || output::verification_text(&examined, all));
    if !exposed.is_empty() {
        output.warn(output::exposed_files_text(exposed));
    }
    let why = match signed {
        _ if examined.digest().is_none() => output::altered_files_text(&examined),
        Err(why) => why,
        Ok(note) => {
            note.into_iter().for_each(|note| output.note(note.message));
            return exit::DONE;
        }
    };
    output.fail(why);
    exit::exit_code(Exit::Refused)
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
