//! Reports fields that copies lose because the target stores their kind in a newer version.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::copies::conversion;
use pivot_core::messages::refusal::some_of;
use pivot_core::{GroupKind, Key, Side};

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::read::snapshot::Snapshot;

/// Reports each kind with such fields once, with all its fields and the first objects.
pub(crate) fn report_removed_fields(job: &Job, snapshot: &Snapshot) -> Result<(), Failure> {
    if !job.target.capabilities().judges {
        return Ok(());
    }
    let mut all: BTreeMap<&GroupKind, (BTreeSet<&str>, Vec<&Key>)> = BTreeMap::new();
    for step in &snapshot.plan.steps {
        let object = snapshot.object(step)?;
        // Kinds that the target doesn't serve are refused elsewhere.
        let Ok(kind) = job.kind_of_copy(object) else { continue };
        let fields = conversion::find_removed_fields(&kind, object);
        let fields = fields.map_err(|error| Failure::Object(Side::Source, error))?;
        if !fields.is_empty() {
            let (known, keys) = all.entry(&step.key.group_kind).or_default();
            known.extend(fields);
            keys.push(&step.key);
        }
    }
    for (kind, (fields, keys)) in all {
        let fields: Vec<&str> = fields.into_iter().collect();
        let text = format!(
            "the target stores {kind} in a newer version without {}: the copies of {} lose these values",
            some_of(&fields, fields.len()),
            some_of(&keys, 3)
        );
        job.report(Event::note("converted", text));
    }
    Ok(())
}
