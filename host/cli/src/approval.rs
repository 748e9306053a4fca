//! Plans that others approve: `plan sign`, and the site's rule that nothing moves without.

use std::path::Path;

use pivot_core::messages::shell::quote;
use pivot_core::plan::Note;
use pivot_core::records::saved_plan::{Decisions, SavedPlan};
use pivot_engine::Exit;
use pivot_vetting::digest::sha256;
use pivot_vetting::signatures::judge::Subject;
use pivot_vetting::signatures::statement::{Claim, Topic};

use crate::args::Signing;
use crate::exit::Result;
use crate::output::{Output, Text};
use crate::plugins::sign::{self, SignatureSubject};
use crate::plugins::trust::{TrustFile, accepted_signers};
use crate::saved;

/// `plan sign`: approves a saved plan.
pub(crate) fn sign_plan(signing: &Signing, output: &Output) -> Result<()> {
    let (plan, bytes) = saved::read_with_bytes(&signing.file).map_err(|why| (Exit::Usage, why))?;
    let called = format!("the plan {}", signing.file.display());
    for why in saved::preventing_reasons(&plan) {
        output.warn(format!("{called} {why}, and can't be carried out"));
    }
    let (sha256, checksum) = (sha256(&bytes), Some(plan.checksum().to_owned()));
    let signed =
        SignatureSubject { called, sha256, checksum, claim: Claim::Approved, card: None, checked: None };
    sign::sign_subject(signing, signed, output)
}

/// A saved plan to carry out, and its approvals.
#[derive(Default)]
pub(crate) struct Approved {
    pub(crate) plan: Option<SavedPlan>,
    pub(crate) notes: Vec<Note>,
}

/// The trust file, if it requires that plans are approved.
pub(crate) fn trust_file_requiring_approval(named: Option<&Path>) -> Result<Option<TrustFile>, Text> {
    TrustFile::with_rules(named, Topic::Plan)
}

/// Reads the plan to carry out, if one is named, and judges its approvals by the trust file. If plans must be approved, a move
/// without a plan is refused. A resume continues its move, and accepts no more risks than the approved plan:
/// `unapproved_risk_flags` returns the flags of this run that a plan's decisions lack.
pub(crate) fn read_approved_plan(
    plan: Option<&Path>,
    trust: Option<&Path>,
    begins: bool,
    unapproved_risk_flags: impl FnOnce(&Decisions) -> Vec<String>,
) -> Result<Approved, Text> {
    let trust = trust_file_requiring_approval(trust)?;
    let Some(file) = plan else {
        return match trust {
            Some(_) if begins => Err(
                "the trust file requires a plan that was approved: save one with `plan --out FILE`, have it \
                 approved with `plan sign FILE`, and carry it out with `move --plan FILE`; a move that has begun goes on \
                 with `resume`"
                    .into(),
            ),
            _ => Ok(Approved::default()),
        };
    };
    // What is judged is what is carried out: the file is read once.
    let (plan, bytes) = saved::read_with_bytes(file)?;
    let Some(trust) = trust else { return Ok(Approved { plan: Some(plan), notes: Vec::new() }) };
    let open = trust.open()?;
    let by = approved_by(file, &bytes, trust, begins)?;
    let shown = file.display();
    let beyond = unapproved_risk_flags(&plan.decisions);
    if !beyond.is_empty() {
        let beyond = beyond.join(", ");
        return Err(format!(
            "the plan {shown} was approved without {beyond}: resume without that, or without --plan, and the report then lists no approval"
        )
        .into());
    }
    let message = format!("the plan {shown} was approved by {}", by.join(", "));
    let note = |code: &'static str, message| Note { code: code.into(), object: None, message };
    let open = open.map(|open| note("open-to-others", open));
    let notes = [note("plan-approved", message)].into_iter().chain(open).collect();
    Ok(Approved { plan: Some(plan), notes })
}

fn approved_by(file: &Path, bytes: &[u8], trust: TrustFile, begins: bool) -> Result<Vec<String>, Text> {
    let digest = sha256(bytes);
    // A source stays paused until its move is finished or rolled back: no day that passes may prevent that.
    let trust = if begins { trust.for_admitting() } else { trust.for_loading() };
    accepted_signers(file, &Subject::Plan { sha256: &digest }, &trust).map_err(|why| {
        let (shown, typed) = (file.display(), quote(&file.display().to_string()));
        Text::from(format!(
            "the plan {shown} is not approved: {why}; have it signed with `pivot-host plan sign {typed} --key PEM`; a move \
             under way can be rolled back"
        ))
    })
}
