//! Reads every object of a side that could be relevant to the move.
//!
//! Kinds are read in parallel, with one list each and without a GET per object. The exception is a class in another namespace
//! with its templates: a few objects, read one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::checks::providers::Provider;
use pivot_core::discovery::cluster_scoped_references::discount_unreferred;
use pivot_core::discovery::implicit_links;
use pivot_core::discovery::inventory::Inventory;
use pivot_core::messages::refusal::some_of;
use pivot_core::objects::names::{GROUP_CLUSTER, GROUP_CLUSTERCTL};
use pivot_core::plugins::reach::{self, Wishes};
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, Key, Kind, Object, Side};
use pivot_places::{Listing, PlaceError};

use crate::base::outcome::failure::Failure;
use crate::base::requests::side::Handle;
use crate::base::requests::side_by_side::{self, LISTS, Work};
use crate::read::also_copied;

/// Everything that was read from the source.
pub(crate) struct SourceObjects {
    pub(crate) inventory: Inventory,
    /// Clusters of namespaces that don't move: they may share classes with Clusters that do.
    pub(crate) elsewhere: Vec<Object>,
    pub(crate) providers: Vec<Provider>,
    /// Warnings about objects that were not read, each with its code.
    pub(crate) cautions: Vec<(&'static str, String)>,
}

/// Reads every object that could move. Once plugins are loaded, also reads the objects that they want to see and reach.
///
/// If the source is confined, an object outside of namespaces moves only if an object of the moving namespace refers to it.
pub(crate) async fn discover_objects(
    handle: &Handle,
    kinds: &BTreeMap<GroupKind, Arc<Kind>>,
    (scope, confined): (&Scope, Option<Side>),
    wishes: impl Future<Output = Result<Wishes, Failure>>,
) -> Result<SourceObjects, Failure> {
    let namespace = requested_namespace(scope);
    let cluster = GroupKind::new(GROUP_CLUSTER, "Cluster");
    let at_once = find_lists(kinds, &Wishes::default(), scope);
    let wished = async {
        let all = find_lists(kinds, &wishes.await?, scope);
        let more = read_lists(handle, all.difference(&at_once).cloned()).await?;
        Ok((all, more))
    };
    let (lists, (all, more), clusters, (providers, provider_secrets)) = tokio::try_join!(
        read_lists(handle, at_once.iter().cloned()),
        wished,
        read_clusters(handle, kinds.get(&cluster), namespace),
        read_providers(handle, kinds, namespace)
    )?;
    let Clusters { here, elsewhere, caution } = clusters;
    // If a plugin widened a list, the wider list includes the narrower one.
    let lists: BTreeMap<_, _> =
        lists.into_iter().chain(more).filter(|(list, _)| all.contains(list)).collect();
    let looked_for =
        |object: &Object| reach::is_looked_for(&object.kind, object.meta.namespace.as_deref(), scope);
    let (mut objects, mut reached): (Vec<Object>, Vec<Object>) =
        lists.into_values().flatten().partition(looked_for);
    let (lists, single) = also_copied::select_reads(kinds, scope, &all);
    if !(lists.is_empty() && single.is_empty()) {
        let (lists, single) =
            tokio::try_join!(read_lists(handle, lists.into_iter()), get_existing(handle, kinds, single))?;
        let lists = lists.into_iter().flat_map(|(_, objects)| also_copied::keep_relevant(scope, objects));
        reached.extend(lists.chain(single));
    }
    objects.extend(here);
    objects.extend(provider_secrets);
    let objects = add_distant_classes(handle, kinds, objects).await?;
    let mut inventory = Inventory::with_reached(objects, reached);
    if confined == Some(Side::Source) {
        inventory = discount_unreferred(inventory, scope);
    }
    let caution = caution.map(|text| ("classes-unreadable", text));
    let left = describe_left_in_files(handle, kinds, &all, scope).await?;
    Ok(SourceObjects { inventory, elsewhere, providers, cautions: caution.into_iter().chain(left).collect() })
}

/// Returns the namespace to read; `None` means all.
fn requested_namespace(scope: &Scope) -> Option<&str> {
    match &scope.namespaces {
        Namespaces::All => None,
        Namespaces::One(one) => Some(one),
    }
}

/// Returns a warning about objects in files whose kinds the move doesn't read. In a cluster such objects are normal; files were
/// copied to be moved.
async fn describe_left_in_files(
    handle: &Handle,
    kinds: &BTreeMap<GroupKind, Arc<Kind>>,
    read: &BTreeSet<List<'_>>,
    scope: &Scope,
) -> Result<Option<(&'static str, String)>, Failure> {
    let namespace = requested_namespace(scope);
    let cluster = GroupKind::new(GROUP_CLUSTER, "Cluster");
    if handle.capabilities().judges {
        return Ok(None);
    }
    let mut left = Vec::new();
    // Providers install definitions.
    let definition = GroupKind::new("apiextensions.k8s.io", "CustomResourceDefinition");
    for kind in kinds.values().filter(|kind| {
        let group_kind = &kind.group_kind;
        group_kind.group.contains('.') && ![&cluster, &definition].contains(&group_kind)
    }) {
        let carried = scope.also_copy.iter().any(|part| part.kind == kind.group_kind);
        let asked_for = carried || read.iter().any(|(read, _)| read.group_kind == kind.group_kind);
        let number = if asked_for { 0 } else { handle.list(kind, namespace).await?.objects.len() };
        if number > 0 {
            left.push(format!("{number} {}", kind.group_kind));
        }
    }
    let text = format!(
        "not copied from the files, because no definition in the target labels these kinds for a move: {}",
        some_of(&left, 8)
    );
    Ok((!left.is_empty()).then_some(("left-in-files", text)))
}

/// A kind, and the namespace to read its objects from; `None` means all.
type List<'a> = (&'a Arc<Kind>, Option<String>);

/// Returns the lists to read for these wishes, except the list of Clusters.
fn find_lists<'a>(
    kinds: &'a BTreeMap<GroupKind, Arc<Kind>>,
    wishes: &Wishes,
    scope: &Scope,
) -> BTreeSet<List<'a>> {
    let others = kinds.values().filter(|kind| !implicit_links::is_cluster(&kind.group_kind));
    others
        .flat_map(|kind| {
            reach::namespaces_to_list(kind, wishes, scope).into_iter().map(move |list| (kind, list))
        })
        .collect()
}

/// Reads lists side by side.
async fn read_lists<'a>(
    handle: &Handle,
    lists: impl Iterator<Item = List<'a>>,
) -> Result<Vec<(List<'a>, Vec<Object>)>, Failure> {
    let lists = lists.map(|(kind, namespace)| -> Work<'_, (List<'a>, Vec<Object>)> {
        async move {
            let objects = list_if_served(handle, kind, namespace.as_deref()).await?.objects;
            Ok(((kind, namespace), objects))
        }
        .boxed()
    });
    side_by_side::try_all(LISTS, lists.collect()).await
}

async fn list_if_served(
    handle: &Handle,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
) -> Result<Listing, Failure> {
    match handle.list(kind, namespace).await {
        // The definition was removed between discovery and list, so no objects are left either.
        Err(Failure::Place { error: PlaceError::NotFound(_), .. }) => {
            Ok(Listing { objects: Vec::new(), resource_version: String::new() })
        }
        other => other,
    }
}

struct Clusters {
    here: Vec<Object>,
    elsewhere: Vec<Object>,
    caution: Option<String>,
}

/// Reads the Clusters of all namespaces, because a Cluster of another namespace may use a class of this one. If the user can't
/// list all, only the Clusters that move are read.
async fn read_clusters(
    handle: &Handle,
    kind: Option<&Arc<Kind>>,
    namespace: Option<&str>,
) -> Result<Clusters, Failure> {
    let Some(kind) = kind else {
        return Ok(Clusters { here: Vec::new(), elsewhere: Vec::new(), caution: None });
    };
    match (list_if_served(handle, kind, None).await, namespace) {
        (Ok(all), None) => Ok(Clusters { here: all.objects, elsewhere: Vec::new(), caution: None }),
        (Ok(all), Some(namespace)) => {
            let (here, elsewhere) = all
                .objects
                .into_iter()
                .partition(|object| object.meta.namespace.as_deref() == Some(namespace));
            Ok(Clusters { here, elsewhere, caution: None })
        }
        (Err(Failure::Place { error: PlaceError::Forbidden(_), .. }), Some(namespace)) => {
            let here = list_if_served(handle, kind, Some(namespace)).await?.objects;
            let caution = format!(
                "Clusters of other namespaces can't be listed in the {}, so it is not known whether they use a ClusterClass of {namespace}",
                handle.side
            );
            Ok(Clusters { here, elsewhere: Vec::new(), caution: Some(caution) })
        }
        (Err(failure), _) => Err(failure),
    }
}

/// Reads the provider inventory, and the Secrets in the namespaces of infrastructure providers: global identities own some.
async fn read_providers(
    handle: &Handle,
    kinds: &BTreeMap<GroupKind, Arc<Kind>>,
    namespace: Option<&str>,
) -> Result<(Vec<Provider>, Vec<Object>), Failure> {
    let Some(kind) = kinds.get(&GroupKind::new(GROUP_CLUSTERCTL, "Provider")) else {
        return Ok((Vec::new(), Vec::new()));
    };
    let listing = match list_if_served(handle, kind, None).await {
        Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => return Ok((Vec::new(), Vec::new())),
        other => other?,
    };
    let mut providers = Vec::new();
    for object in &listing.objects {
        providers.push(Provider::from_object(object).map_err(|error| Failure::Object(handle.side, error))?);
    }
    let namespaces: BTreeSet<&str> = providers
        .iter()
        .filter(|provider| provider.kind_of == "InfrastructureProvider")
        .map(|provider| provider.namespace.as_str())
        .collect();
    let mut secrets = Vec::new();
    // In a move of all namespaces, these were already read.
    let more = namespace.is_some() && handle.side == Side::Source;
    if let Some(secret) = kinds.get(&GroupKind::new("", "Secret")).filter(|_| more) {
        let lists = namespaces.into_iter().map(|namespace| -> Work<'_, Vec<Object>> {
            async move {
                match list_if_served(handle, secret, Some(namespace)).await {
                    Ok(listing) => Ok(listing.objects),
                    // Users with permission to move a namespace may have none to read a provider's credentials.
                    Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Ok(Vec::new()),
                    Err(failure) => Err(failure),
                }
            }
            .boxed()
        });
        secrets = side_by_side::try_all(LISTS, lists.collect()).await?.into_iter().flatten().collect();
    }
    Ok((providers, secrets))
}

/// Adds the ClusterClasses of other namespaces that Clusters reference, and the templates of these classes, regardless of the
/// reach of plugins.
async fn add_distant_classes(
    handle: &Handle,
    kinds: &BTreeMap<GroupKind, Arc<Kind>>,
    mut objects: Vec<Object>,
) -> Result<Vec<Object>, Failure> {
    let wanted = implicit_links::missing_classes(&objects);
    if wanted.is_empty() {
        return Ok(objects);
    }
    // The plan refuses a missing class, together with all other refusals.
    let mut found = get_existing(handle, kinds, wanted).await?;
    let mut templates = BTreeSet::new();
    for class in &found {
        let named = implicit_links::template_references(class)
            .map_err(|error| Failure::Object(handle.side, error))?;
        templates.extend(named.iter().map(|template| template.key()));
    }
    found.extend(get_existing(handle, kinds, templates).await?);
    objects.extend(found);
    Ok(objects)
}

/// Reads these objects one by one. Leaves out objects that don't exist.
async fn get_existing(
    handle: &Handle,
    kinds: &BTreeMap<GroupKind, Arc<Kind>>,
    keys: impl IntoIterator<Item = Key>,
) -> Result<Vec<Object>, Failure> {
    let known = keys.into_iter().filter_map(|key| Some((kinds.get(&key.group_kind)?, key)));
    let looks = known.map(|(kind, key)| async move { handle.get(kind, &key).await }.boxed());
    Ok(side_by_side::try_all(LISTS, looks.collect()).await?.into_iter().flatten().collect())
}
