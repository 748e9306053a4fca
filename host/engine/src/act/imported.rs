//! Compares the copies in the cluster that imported them with the source.
//!
//! An import leaves its copies in service, as the source's objects were before they were paused. Each copy is compared with the
//! source's object, which stayed paused: an object that is deleted from the source must be in the target.
//!
//! Fields that only the copy has may come from controllers and webhooks, and status is theirs, too. Clusters in service change,
//! so users can accept by kind that copies have changed or are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::copies::body;
use pivot_core::discovery::inventory::Inventory;
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::{merge, pause};
use pivot_core::plugins::hooks::Hook;
use pivot_core::records::release::{Entry, ReleaseFate, ReleaseList};
use pivot_core::{GroupKind, Key, Kind, Object, Side};

use crate::act::live;
use crate::act::release;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::calls;
use crate::base::requests::side_by_side::{self, LISTS};
use crate::check::evidence;

/// The objects that one list compares: the source's objects of one kind and namespace, with their entries.
type Collection<'a> = BTreeMap<(Arc<Kind>, Option<&'a str>), Vec<(&'a Entry, &'a Object)>>;

/// A copy that differs from the source's object.
enum UnlikeCopy {
    /// The copy lacks these fields, or has other values in them.
    Differs(Key, Vec<String>),
    /// The copy is paused, and the source's object was not.
    Paused(Key),
}

/// Refuses copies that are gone, replaced, changed or still paused, and names each of them.
pub(crate) async fn check_copies(
    job: &Arc<Job>,
    list: &ReleaseList,
    known: &Inventory,
    marks: &BTreeSet<String>,
    accepted: &BTreeSet<GroupKind>,
) -> Result<(), Failure> {
    let (mut refusals, unlike) = tokio::try_join!(
        live::refuse_missing_copies(job, list, marks, accepted),
        find_unlike(job, list, known, marks, accepted)
    )?;
    let (mut differ, mut paused) = (Vec::new(), Vec::new());
    for one in unlike {
        match one {
            UnlikeCopy::Differs(key, fields) => differ.push((key, fields)),
            UnlikeCopy::Paused(key) => paused.push(key),
        }
    }
    refusals.extend(refuse_differing(&differ));
    refusals.extend(refuse_paused(&paused));
    if refusals.is_empty() { Ok(()) } else { Err(Failure::Refused(refusals)) }
}

async fn find_unlike(
    job: &Arc<Job>,
    list: &ReleaseList,
    known: &Inventory,
    marks: &BTreeSet<String>,
    accepted: &BTreeSet<GroupKind>,
) -> Result<Vec<UnlikeCopy>, Failure> {
    let unlisted = evidence::get_unlisted(job, list, known).await?;
    let mut collections = Collection::new();
    for entry in list.entries.iter().filter(|entry| entry.fate == ReleaseFate::Delete) {
        let listed = known.get_by_key(&entry.key).filter(|object| object.meta.uid == entry.uid);
        let Some(object) = listed.or_else(|| unlisted.get_by_key(&entry.key)) else { continue };
        let of_copy = job.kind_of_copy(object)?;
        // A target that was upgraded since might not serve the source's version any more.
        let kind = match of_copy.served.contains(&of_copy.version) {
            true => of_copy,
            false => job.kind(Side::Target, &entry.key.group_kind)?.clone(),
        };
        collections.entry((kind, entry.key.namespace.as_deref())).or_default().push((entry, object));
    }
    let looks = collections.into_iter().map(|((kind, namespace), pairs)| {
        async move {
            let copies = job.target.list(&kind, namespace).await?.objects;
            let copies: BTreeMap<Key, Object> = copies.into_iter().map(|copy| (copy.key(), copy)).collect();
            let mut found = Vec::new();
            for (entry, object) in pairs {
                let Some(copy) = copies.get(&entry.key) else { continue };
                let used = !marks.iter().any(|mark| copy.meta.has_mark(mark));
                let (fields, paused) = compare_copy(job, entry, object, copy, used).await?;
                if paused {
                    found.push(UnlikeCopy::Paused(job.target.own_name(&entry.key)));
                }
                let kind = &entry.key.group_kind;
                if fields.is_empty() {
                    continue;
                }
                match accepted.contains(kind) {
                    true => job.used_risks.insert_kinds(Risk::CopyChanged, [kind.clone()]),
                    false => found.push(UnlikeCopy::Differs(job.target.own_name(&entry.key), fields)),
                }
            }
            Ok(found)
        }
        .boxed()
    });
    Ok(side_by_side::try_all(LISTS, looks.collect()).await?.into_iter().flatten().collect())
}

/// Returns the fields in which a copy differs from the source's object before the pause, and whether only the copy is paused.
/// An object that the target had before the import was not adapted, and has its own metadata.
async fn compare_copy(
    job: &Job,
    entry: &Entry,
    object: &Object,
    copy: &Object,
    used: bool,
) -> Result<(Vec<String>, bool), Failure> {
    let of_source = |error| Failure::Object(Side::Source, error);
    let of_target = |error| Failure::Object(Side::Target, error);
    let mut wanted = object.value().map_err(of_source)?;
    if let Some(undo) = pause::undo_patch(&object.meta, &job.move_id) {
        merge::apply_patch(&mut wanted, &undo);
    }
    let before = Object::from_value(object.kind.clone(), &wanted).map_err(of_source)?;
    let paused =
        pause::is_paused(copy).map_err(of_target)? && !pause::is_paused(&before).map_err(of_source)?;
    let adapted = match used {
        true => None,
        false => calls::ask_for_patch(&job.plugins, Hook::Adapt, object, None).await?,
    };
    if let Some(adapted) = adapted {
        merge::apply_patch(&mut wanted, &adapted.patch);
    }
    let copy = copy.value().map_err(of_target)?;
    let comparable = |value| release::shared_content(value, &entry.key.group_kind, used, false);
    Ok((body::find_lost_fields(&comparable(&wanted), &comparable(&copy)), paused))
}

fn refuse_differing(differ: &[(Key, Vec<String>)]) -> Option<Refusal> {
    let (first, _) = differ.first()?;
    let described: Vec<String> =
        differ.iter().map(|(key, fields)| format!("{key} ({})", some_of(fields, 3))).collect();
    let kinds: BTreeSet<&GroupKind> = differ.iter().map(|(key, _)| &key.group_kind).collect();
    let compare = "compare each with the source's, which is still there, paused; restore here what is missing, and resume";
    let accept = Remedy::accept_changes(kinds);
    Some(Refusal {
        code: "copy-differs",
        side: Side::Target,
        object: Some(first.clone()),
        others: differ.iter().skip(1).map(|(key, _)| key.clone()).collect(),
        message: format!(
            "copies of objects that were handed over differ from the source's: {}",
            some_of(&described, 5)
        ),
        remedies: std::iter::once(compare.into()).chain(accept).collect(),
    })
}

fn refuse_paused(paused: &[Key]) -> Option<Refusal> {
    let first = paused.first()?;
    Some(Refusal {
        code: "copy-paused",
        side: Side::Target,
        object: Some(first.clone()),
        others: paused.iter().skip(1).cloned().collect(),
        message: format!(
            "the target has not taken over {}: paused there, as it was not in the source",
            some_of(paused, 5)
        ),
        remedies: vec![
            "find out who paused them, and resume them there: nothing would act on them if the source were released".into(),
        ],
    })
}
