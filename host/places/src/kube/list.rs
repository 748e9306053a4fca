//! Paged lists, with objects sliced out of the page without copying.

use std::sync::Arc;

use bytes::Bytes;
use pivot_core::messages::safe_text;
use pivot_core::request::validate::find_id_error;
use pivot_core::{Kind, Meta, Object};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::transport::{ErrorAnswer, JSON, KubeRequest, METADATA, Transport};
use super::url;
use crate::budget::Share;
use crate::pace::Pace;
use crate::place::{Listing, MetaListing, PlaceError, Result};

/// Objects per page, like kubectl's: small enough to be cheap for the server, large enough that most kinds of a management
/// cluster fit into one page.
const PAGE_SIZE: usize = 500;
/// Objects per page of a list by label, such as the list of records: each may be as large as a server accepts, and a page must stay
/// below its limit. Also the first page size after a page of metadata that didn't fit into the budget.
const SMALL_PAGE_SIZE: usize = 20;
/// The most objects of one list: a server that never ends a list is not a management cluster's.
const MAX_OBJECTS: usize = 1_000_000;
/// Most bytes of one page: 500 objects at the API server's limit of 1.5 MiB are 750 MiB.
const MAX_PAGE_BYTES: usize = 1 << 30;
/// Most bytes of one page of a list by label: 20 objects at the API server's limit, whose texts may take twice as much in an answer.
const MAX_SMALL_PAGE_BYTES: usize = 64 << 20;
/// Most characters of an unexpected version that are printed.
const MAX_VERSION_CHARACTERS: usize = 40;
/// Most bytes of one list.
const MAX_LIST_BYTES: u64 = 4 << 30;

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(default)]
    metadata: PageMeta,
    // `null` is how Go writes an empty list.
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PageMeta {
    resource_version: String,
    r#continue: String,
}

/// All items of a collection, and the version of the list.
pub(super) struct Items<T> {
    pub(super) items: Vec<T>,
    pub(super) resource_version: String,
}

/// The part of a collection that is listed.
#[derive(Clone, Copy, Default)]
struct Part<'a> {
    /// Only objects with this label; empty for all.
    label: &'a str,
    /// As the objects were at this version; none for the current one.
    version: Option<&'a str>,
}

impl Part<'_> {
    /// Returns the parameters of a page. Only the first names the version: the token of a later page has it.
    fn query(&self, limit: Option<usize>, token: &str) -> String {
        let mut query = Vec::new();
        if !self.label.is_empty() {
            query.push(format!("labelSelector={}", url::escape_segment(self.label)));
        }
        if let Some(limit) = limit {
            query.push(format!("limit={limit}"));
        }
        match self.version {
            _ if limit.is_some() && !token.is_empty() => {
                query.push(format!("continue={}", url::escape_segment(token)));
            }
            Some(version) => {
                let version = url::escape_segment(version);
                query.push(format!("resourceVersion={version}&resourceVersionMatch=Exact"));
            }
            None => {}
        }
        if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) }
    }

    /// Fails if an answer is of another version: its server ignores the parameter.
    fn check_version(&self, answered: &str, about: &str) -> Result<()> {
        match self.version {
            Some(version) if version != answered => {
                let answered = safe_text::to_line(answered, MAX_VERSION_CHARACTERS);
                Err(PlaceError::Invalid(format!(
                    "{about}: asked for resourceVersion {version}, and the answer has {answered:?}"
                )))
            }
            _ => Ok(()),
        }
    }
}

/// Makes the kept part of an item while its page is in memory: a list of metadata has pages several times as large as the kept
/// parts.
type Keep<'a, T> = &'a (dyn Fn(Bytes) -> Result<T> + Sync);

/// An item of which something is kept.
pub(super) trait Item {
    fn meta_mut(&mut self) -> &mut Meta;

    /// Returns the bytes of its page that are kept, if not the whole page is.
    fn kept_bytes(&self) -> Option<usize>;
}

impl Item for Object {
    fn meta_mut(&mut self) -> &mut Meta {
        &mut self.meta
    }

    /// Returns none, because an object is a slice of its page.
    fn kept_bytes(&self) -> Option<usize> {
        None
    }
}

impl Item for Meta {
    fn meta_mut(&mut self) -> &mut Meta {
        self
    }

    fn kept_bytes(&self) -> Option<usize> {
        Some(self.text_len())
    }
}

/// Has the share of a page held for as long as one of its items is.
fn hold_share<T: Item>(mut share: Share, items: &mut [T], about: &str) -> Result<()> {
    if let Some(kept) = items.iter().map(Item::kept_bytes).sum::<Option<usize>>() {
        share.shrink_to(kept);
    }
    share.grow_by_objects(items.len(), about)?;
    let held = share.into_held();
    items.iter_mut().for_each(|item| item.meta_mut().held = held.clone());
    Ok(())
}

/// Returns the size of the next page to try if one of metadata, or the list in one piece, doesn't fit into the budget. Little of a page is
/// kept, and one full namespace must not keep others from a list of all. Smaller pages of whole objects would hold no less.
fn smaller_page(refusal: &ErrorAnswer, accept: &str, limit: Option<usize>) -> Option<usize> {
    match limit {
        _ if !refusal.exceeds_budget || accept != METADATA => None,
        Some(0 | 1) => None,
        Some(limit) if limit <= SMALL_PAGE_SIZE => Some(limit / 2),
        Some(_) | None => Some(SMALL_PAGE_SIZE),
    }
}

/// Reads a collection page by page. If a continue token expires partway, starts over, once and without paging: pages of two
/// different versions don't make one list.
pub(super) async fn list_all<T: Item>(
    transport: &Transport,
    path: &str,
    accept: &str,
    about: &str,
    keep: Keep<'_, T>,
) -> Result<Items<T>, ErrorAnswer> {
    list_part(transport, path, Part::default(), accept, about, keep).await
}

/// Reads a part of a collection.
async fn list_part<T: Item>(
    transport: &Transport,
    path: &str,
    part: Part<'_>,
    accept: &str,
    about: &str,
    keep: Keep<'_, T>,
) -> Result<Items<T>, ErrorAnswer> {
    let limit = if part.label.is_empty() { PAGE_SIZE } else { SMALL_PAGE_SIZE };
    match list_pages(transport, path, part, accept, about, Some(limit), keep).await {
        // A list at one version can only expire again.
        Err(ErrorAnswer { error: PlaceError::Expired(reason), .. }) if part.version.is_none() => {
            tracing::debug!(about, reason, "the list expired between two pages; reading it in one piece");
            match list_pages(transport, path, part, accept, about, None, keep).await {
                Err(refusal) => match smaller_page(&refusal, accept, None) {
                    Some(limit) => {
                        let list = list_pages(transport, path, part, accept, about, Some(limit), keep).await;
                        list.map_err(|refusal| end_retries(refusal, about))
                    }
                    None => Err(refusal),
                },
                list => list,
            }
        }
        other => other,
    }
}

/// Makes an error that callers report of a list that expired again: they take one that expired for a reason to begin at once.
fn end_retries(mut refusal: ErrorAnswer, about: &str) -> ErrorAnswer {
    if let PlaceError::Expired(reason) = refusal.error {
        let why = "the list expires between pages, and the budget is too small for it in one piece";
        refusal.error = PlaceError::Unreadable(format!("{about}: {why} ({reason})"));
    }
    refusal
}

async fn list_pages<T: Item>(
    transport: &Transport,
    path: &str,
    part: Part<'_>,
    accept: &str,
    about: &str,
    mut limit: Option<usize>,
    keep: Keep<'_, T>,
) -> Result<Items<T>, ErrorAnswer> {
    let mut items = Vec::new();
    let mut token = String::new();
    let mut bytes = 0;
    let pace = Pace::begin_many();
    let mut asked = 0;
    while asked < MAX_OBJECTS {
        asked += limit.unwrap_or(PAGE_SIZE);
        let url = format!("{path}{}", part.query(limit, &token));
        let most = if part.label.is_empty() { MAX_PAGE_BYTES } else { MAX_SMALL_PAGE_BYTES };
        let ask = KubeRequest::get(url, about.to_owned()).with_accept(accept).with_limit(most);
        let (body, share) = match transport.call_held(ask).await {
            Err(refusal) if limit.is_some() => match smaller_page(&refusal, accept, limit) {
                Some(less) => {
                    limit = Some(less);
                    continue;
                }
                None => return Err(refusal),
            },
            answer => answer?,
        };
        bytes += u64::try_from(body.len()).unwrap_or(u64::MAX);
        pace.check(bytes, about)?;
        let page: Page<'_> = parse_json(&body, about)?;
        part.check_version(&page.metadata.resource_version, about)?;
        if let Some(odd) = find_unusable_id(&[&page.metadata.resource_version]) {
            return Err(PlaceError::Unreadable(format!("{about}: {odd}")).into());
        }
        let before = items.len();
        // Slices share the page's memory.
        for item in page.items.iter().flatten() {
            items.push(keep(body.slice_ref(item.get().as_bytes()))?);
        }
        if let (Some(share), Some(new)) = (share, items.get_mut(before..)) {
            hold_share(share, new, about)?;
        }
        let PageMeta { resource_version, r#continue } = page.metadata;
        if r#continue.is_empty() || limit.is_none() {
            return Ok(Items { items, resource_version });
        }
        if r#continue == token {
            return Err(PlaceError::Unreadable(format!("{about}: the same page again and again")).into());
        }
        if bytes > MAX_LIST_BYTES {
            break;
        }
        token = r#continue;
    }
    let text = format!("{about}: more than {MAX_OBJECTS} objects or {MAX_LIST_BYTES} bytes, and no end");
    Err(PlaceError::Unreadable(text).into())
}

/// Parses an answer; the error gives the position but not the content.
pub(super) fn parse_json<'a, T: Deserialize<'a>>(body: &'a [u8], about: &str) -> Result<T> {
    serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        PlaceError::Unreadable(format!("{about}: not the expected JSON (line {line}, column {column})"))
    })
}

/// Lists whole objects: all, or those that carry a label.
pub(super) async fn list_objects(
    transport: &Transport,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
    label: &str,
) -> Result<Listing> {
    list_objects_of(transport, kind, namespace, Part { label, version: None }).await
}

/// Lists whole objects as they were at a version.
pub(super) async fn list_snapshot(
    transport: &Transport,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
    version: &str,
) -> Result<Listing> {
    list_objects_of(transport, kind, namespace, Part { label: "", version: Some(version) }).await
}

async fn list_objects_of(
    transport: &Transport,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
    part: Part<'_>,
) -> Result<Listing> {
    let about = describe_list(kind, namespace);
    let path = url::collection_path(kind, namespace);
    // Most of what is listed is kept, and kept whole.
    let list = list_part(transport, &path, part, JSON, &about, &|raw| parse_object(kind, raw)).await?;
    Ok(Listing { objects: list.items, resource_version: list.resource_version })
}

/// Returns the version of a plain list. One object is enough, and only its metadata.
pub(super) async fn read_version(
    transport: &Transport,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
) -> Result<String> {
    let about = describe_list(kind, namespace);
    let path = format!("{}?limit=1", url::collection_path(kind, namespace));
    let ask = KubeRequest::get(path, about.clone()).with_accept(METADATA).with_limit(MAX_SMALL_PAGE_BYTES);
    let (body, _share) = transport.call_held(ask).await?;
    let version = parse_json::<Page<'_>>(&body, &about)?.metadata.resource_version;
    match find_unusable_id(&[&version]) {
        Some(odd) => Err(PlaceError::Unreadable(format!("{about}: {odd}"))),
        None => Ok(version),
    }
}

/// Lists metadata only, each reduced as it is read.
pub(super) async fn list_metas(
    transport: &Transport,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
    reduce: impl Fn(&mut Meta) + Sync,
) -> Result<MetaListing> {
    let about = describe_list(kind, namespace);
    let path = url::collection_path(kind, namespace);
    let reduced = |raw: Bytes| {
        let mut meta = parse_meta(&raw, &about)?;
        reduce(&mut meta);
        Ok(meta)
    };
    let list = list_all(transport, &path, METADATA, &about, &reduced).await?;
    Ok(MetaListing { metas: list.items, resource_version: list.resource_version })
}

/// Parses an object of an answer.
pub(super) fn parse_object(kind: &Arc<Kind>, raw: Bytes) -> Result<Object> {
    let object =
        Object::parse(Arc::clone(kind), raw).map_err(|error| PlaceError::Unreadable(error.to_string()))?;
    match find_unusable_id_of(&object.meta) {
        Some(odd) => Err(PlaceError::Unreadable(format!("{} object: {odd}", kind.group_kind))),
        None => Ok(object),
    }
}

/// Parses an item's metadata.
pub(super) fn parse_meta(raw: &[u8], about: &str) -> Result<Meta> {
    #[derive(Deserialize)]
    struct Envelope {
        metadata: Meta,
    }
    let Envelope { metadata } = parse_json(raw, about)?;
    match find_unusable_id_of(&metadata) {
        Some(odd) => Err(PlaceError::Unreadable(format!("{about}: {odd}"))),
        None => Ok(metadata),
    }
}

/// Describes the error in an object's UID or version.
fn find_unusable_id_of(meta: &Meta) -> Option<String> {
    find_unusable_id(&[&meta.uid.0, &meta.resource_version])
}

/// Describes the error in a UID or version. Both are kept for longer than their answer, and count against no budget. Servers that
/// are aggregated into a cluster may leave them out.
fn find_unusable_id(ids: &[&str]) -> Option<String> {
    ids.iter().filter(|id| !id.is_empty()).find_map(|id| find_id_error(id))
}

fn describe_list(kind: &Kind, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) if kind.namespaced => format!("list {} in {namespace}", kind.group_kind),
        _ => format!("list {}", kind.group_kind),
    }
}
