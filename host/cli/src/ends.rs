//! From flags to opened places.

use pivot_core::plan::Note;
use pivot_core::request::manifest_object::Addition;
use pivot_core::{Both, Key, Side};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pivot_engine::{Exit, Sides};
use pivot_places::{
    ConnectError, ConnectOptions, DirectoryError, DirectoryPlace, Identities, KubePlace, Place, Recipients,
    additions_of_files,
};

use crate::args::{ConnectionArgs, DirectoryEnd, Ends, FromCluster, SourceEnd, TargetEnd, ToCluster};
use crate::authorship::Authors;
use crate::missing_side::MissingSide;
use crate::output::Text;
use crate::workload::{self, WorkloadError};

const PANICKED: &str = "the task that reads it panicked; this is a bug in pivot-host, please report it";

/// Both opened sides, and the findings from opening them.
pub(crate) struct SourceAndTarget {
    pub(crate) source: Arc<dyn Place>,
    pub(crate) target: Arc<dyn Place>,
    /// The context's namespace.
    pub(crate) namespace: Option<String>,
    /// The target's Cluster, if the source has its kubeconfig.
    pub(crate) workload: Option<Key>,
    /// Note about the signer of the source's files, if a signature is required.
    pub(crate) signed: Option<Note>,
}

impl SourceAndTarget {
    pub(crate) fn labels(&self) -> (&str, &str) {
        (self.source.label(), self.target.label())
    }

    /// The kubectl flags that name the server and the user of each side.
    pub(crate) fn kubectl_flags(&self, connection: &ConnectionArgs) -> Both<Vec<String>> {
        let FromCluster { as_user, as_group, .. } = &connection.from;
        let ToCluster { to_as, to_as_group, .. } = &connection.to;
        // The note about this cluster has a command that saves its kubeconfig to that file.
        let saved = self.workload.as_ref().map(workload::saved_kubeconfig);
        let users = Both::new((as_user, as_group), (to_as, to_as_group));
        let flags = |side: Side, place: &dyn Place| {
            let named = workload::kubectl_flags(place.context());
            let saved = saved.iter().filter(|_| side == Side::Target).map(|file| ("--kubeconfig", file));
            let (user, groups) = *users.get(side);
            let user = user.iter().map(|user| ("--as", user));
            let groups = groups.iter().map(|group| ("--as-group", group));
            let more = saved.chain(user).chain(groups);
            named.into_iter().chain(more.flat_map(|(flag, value)| [flag.to_owned(), value.clone()])).collect()
        };
        Both::new(flags(Side::Source, &*self.source), flags(Side::Target, &*self.target))
    }

    pub(crate) fn sides(&self) -> Sides {
        Sides { source: self.source.clone(), target: self.target.clone() }
    }
}

/// Reasons why a side could not be opened. Nothing has been changed yet.
#[derive(Debug)]
pub(crate) enum OpenError {
    Connect(Side, ConnectError),
    Directory(Side, DirectoryError),
    Added(DirectoryError),
    Workload(WorkloadError),
    Unsigned(Text),
}

impl OpenError {
    /// The exit code for it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Workload(WorkloadError::Source(error)) if error.is_transient() => Exit::Unreachable,
            _ => Exit::Refused,
        }
    }
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Connect(side, error @ ConnectError::Missing { .. }) => {
                let flag = match side {
                    Side::Source => "--kubeconfig",
                    Side::Target => "--to-kubeconfig",
                };
                write!(f, "{side}: {error}; name one with {flag} or KUBECONFIG")
            }
            Self::Connect(side, error) => write!(f, "{side}: {error}"),
            Self::Directory(side, error) => write!(f, "{side}: {error}{}", flag_for(error)),
            Self::Added(error) => write!(f, "--with-manifest: {error}"),
            Self::Workload(error) => error.fmt(f),
            Self::Unsigned(why) => why.fmt(f),
        }
    }
}

/// Returns the flag to pass for a directory that needs keys.
pub(crate) fn flag_for(error: &DirectoryError) -> &'static str {
    match error {
        DirectoryError::Encrypted { .. } => "; pass --identity FILE",
        DirectoryError::OtherwiseEncrypted { encrypted: true, .. } => "; continue with --encrypt-to FILE",
        // Never advice to write plain text: whoever can write to the directory can make it look so.
        DirectoryError::OtherwiseEncrypted { encrypted: false, .. } => {
            "; to encrypt, roll back, and write to a new directory"
        }
        _ => "",
    }
}

impl std::error::Error for OpenError {
    /// The cause of the error behind the text.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connect(_, error) => error.source(),
            Self::Directory(_, error) | Self::Added(error) => error.source(),
            Self::Workload(error) => error.source(),
            Self::Unsigned(_) => None,
        }
    }
}

/// Opens both sides read-only; creates no directory. `authors` is the rule for the source's files; without one, anyone may have
/// written them.
pub(crate) async fn to_read(ends: &Ends, authors: Option<&Authors>) -> Result<SourceAndTarget, OpenError> {
    let source = open_source(&ends.source, authors).await?;
    if let TargetEnd::Directory(DirectoryEnd { keys: Some(keys), .. }) = &ends.target {
        // A plan ends where the move would.
        off_thread(Side::Target, keys, Recipients::read).await?;
    }
    with_target(ends, source).await
}

/// Opens the only end of a command that has one, read-only; with its context's namespace, if it has a context.
pub(crate) async fn open_single_end(end: &SourceEnd) -> Result<(Arc<dyn Place>, Option<String>), OpenError> {
    let OpenedSource { place, namespace, .. } = open_source(end, None).await?;
    Ok((place, namespace))
}

/// Opens the target read-only.
async fn with_target(ends: &Ends, source: OpenedSource) -> Result<SourceAndTarget, OpenError> {
    let OpenedSource { place: source, namespace, signed } = source;
    let mut cluster = None;
    let target: Arc<dyn Place> = match &ends.target {
        TargetEnd::Workload(workload) => {
            let (place, found) = workload::open_workload(&*source, namespace.as_deref(), workload)
                .await
                .map_err(OpenError::Workload)?;
            cluster = Some(found);
            Arc::new(place)
        }
        TargetEnd::Kube(options) => Arc::new(connect_to_side(Side::Target, options).await?),
        TargetEnd::Directory(DirectoryEnd { path, keys }) => {
            Arc::new(MissingSide::directory(path, keys.is_some()))
        }
        TargetEnd::None => Arc::new(MissingSide::target()),
        TargetEnd::Gone => Arc::new(MissingSide::missing_cluster(Side::Target)),
    };
    Ok(SourceAndTarget { source, target, namespace, workload: cluster, signed })
}

/// Both sides, or the only one given, to query for moves.
pub(crate) enum QueriedSides {
    Both(Box<SourceAndTarget>),
    One(Side, Arc<dyn Place>),
}

/// Opens the sides that were given: a cluster on its own is queried for moves out of it and into it. `source_given` says whether
/// flags name the source; if none does, and no kubeconfig is found for it, only the target is opened.
pub(crate) async fn to_ask(ends: &Ends, source_given: bool) -> Result<QueriedSides, OpenError> {
    match (open_source(&ends.source, None).await, &ends.target) {
        (Ok(source), TargetEnd::None) => Ok(QueriedSides::One(Side::Source, source.place)),
        (Err(OpenError::Connect(Side::Source, ConnectError::Missing { .. })), TargetEnd::Kube(options))
            if !source_given && options.kubeconfig.is_some() =>
        {
            Ok(QueriedSides::One(Side::Target, Arc::new(connect_to_side(Side::Target, options).await?)))
        }
        (Err(error), _) => Err(error),
        (Ok(source), _) => Ok(QueriedSides::Both(Box::new(with_target(ends, source).await?))),
    }
}

/// Opens both sides for writing.
pub(crate) async fn to_write(ends: &Ends, authors: Option<&Authors>) -> Result<SourceAndTarget, OpenError> {
    let TargetEnd::Directory(DirectoryEnd { path, keys }) = &ends.target else {
        return to_read(ends, authors).await;
    };
    let OpenedSource { place: source, namespace, signed } = open_source(&ends.source, authors).await?;
    let target = match keys {
        None => off_thread(Side::Target, path, DirectoryPlace::to_write).await?,
        Some(keys) => {
            let recipients = off_thread(Side::Target, keys, Recipients::read).await?;
            off_thread(Side::Target, path, |path| DirectoryPlace::to_encrypt(path, recipients)).await?
        }
    };
    Ok(SourceAndTarget { source, target: Arc::new(target), namespace, workload: None, signed })
}

/// The source, opened.
struct OpenedSource {
    place: Arc<dyn Place>,
    namespace: Option<String>,
    signed: Option<Note>,
}

impl OpenedSource {
    fn new(place: impl Place + 'static, namespace: Option<String>) -> Self {
        Self { place: Arc::new(place), namespace, signed: None }
    }

    /// A directory, if it is signed as the rule requires. Nothing is done with its contents before.
    fn check_signed(
        place: DirectoryPlace,
        path: &Path,
        authors: Option<&Authors>,
    ) -> Result<Self, OpenError> {
        let signed = authors.map(|authors| authors.check(path, place.digest())).transpose();
        let signed = signed.map_err(OpenError::Unsigned)?.flatten();
        Ok(Self { signed, ..Self::new(place, None) })
    }
}

/// Opens the source; a directory only if it is signed as its reader's trust file requires.
async fn open_source(end: &SourceEnd, authors: Option<&Authors>) -> Result<OpenedSource, OpenError> {
    match end {
        SourceEnd::Kube(options) => {
            let place = connect_to_side(Side::Source, options).await?;
            let namespace = place.default_namespace().to_owned();
            Ok(OpenedSource::new(place, Some(namespace)))
        }
        SourceEnd::Directory(DirectoryEnd { path, keys: None }) => {
            let place = off_thread(Side::Source, path, DirectoryPlace::to_read).await?;
            OpenedSource::check_signed(place, path, authors)
        }
        SourceEnd::Directory(DirectoryEnd { path, keys: Some(keys) }) => {
            let identities = off_thread(Side::Source, keys, Identities::read).await?;
            let place =
                off_thread(Side::Source, path, |path| DirectoryPlace::to_decrypt(path, identities)).await?;
            OpenedSource::check_signed(place, path, authors)
        }
        SourceEnd::Gone => Ok(OpenedSource::new(MissingSide::missing_cluster(Side::Source), None)),
    }
}

async fn connect_to_side(side: Side, options: &ConnectOptions) -> Result<KubePlace, OpenError> {
    KubePlace::connect(options.clone()).await.map_err(|error| OpenError::Connect(side, error))
}

/// The objects that are added from these files.
pub(crate) async fn read_additions(files: &[PathBuf]) -> Result<Vec<Addition>, OpenError> {
    let files = files.to_vec();
    let read = tokio::task::spawn_blocking(move || additions_of_files(&files)).await;
    let panicked =
        |_| Err(DirectoryError::Unusable { path: "the files".to_owned(), reason: PANICKED.to_owned() });
    read.unwrap_or_else(panicked).map_err(OpenError::Added)
}

/// Reads files on a separate thread: a large or slow directory must not delay the handling of signals.
async fn off_thread<T: Send + 'static>(
    side: Side,
    path: &Path,
    read: impl FnOnce(&Path) -> Result<T, DirectoryError> + Send + 'static,
) -> Result<T, OpenError> {
    let (shown, path) = (path.display().to_string(), path.to_owned());
    let opened = tokio::task::spawn_blocking(move || read(&path)).await;
    // The join error quotes the panic, which may quote the object being processed.
    opened
        .unwrap_or_else(|_| Err(DirectoryError::Unusable { path: shown, reason: PANICKED.to_owned() }))
        .map_err(|error| OpenError::Directory(side, error))
}

#[cfg(test)]
mod tests {
    use pivot_places::PlaceError;

    use super::*;

    #[test]
    fn silent_workload_source_is_unreachable() {
        let exit = |error| OpenError::Workload(WorkloadError::Source(error)).exit();
        assert_eq!(exit(PlaceError::Unavailable("no route".into())), Exit::Unreachable);
        assert_eq!(exit(PlaceError::Forbidden("secrets".into())), Exit::Refused);
    }

    #[tokio::test]
    async fn kubectl_gets_the_context_of_each_side() {
        let kubeconfig = serde_json::json!({
            "contexts": [{"name": "boot", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "boot",
            "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
            "users": [{"name": "u", "user": {}}],
        });
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("boot");
        std::fs::write(&file, kubeconfig.to_string()).unwrap();
        let options = ConnectOptions { kubeconfig: Some(file.clone()), ..ConnectOptions::default() };
        let cluster = Key::new(pivot_core::GroupKind::new("cluster.x-k8s.io", "Cluster"), Some("ns"), "edge");
        let opened = SourceAndTarget {
            source: Arc::new(connect_to_side(Side::Source, &options).await.unwrap()),
            target: Arc::new(MissingSide::target()),
            namespace: None,
            workload: Some(cluster),
            signed: None,
        };
        let from = FromCluster { as_user: Some("jane".into()), ..FromCluster::default() };
        let to = ToCluster { to_as_group: vec!["ops".into()], ..ToCluster::default() };
        let connection = ConnectionArgs { from, to, ..ConnectionArgs::default() };
        let Both { source, target } = opened.kubectl_flags(&connection);
        let file = file.display().to_string();
        assert_eq!(source, ["--kubeconfig", &file, "--context", "boot", "--as", "jane"]);
        assert_eq!(target, ["--kubeconfig", "edge.kubeconfig", "--as-group", "ops"]);
    }

    #[test]
    fn missing_kubeconfig_is_named_with_its_flag() {
        let missing =
            |side| OpenError::Connect(side, ConnectError::Missing { looked: "/c".into() }).to_string();
        let expected = "source: no kubeconfig: /c does not exist; name one with --kubeconfig or KUBECONFIG";
        assert_eq!(missing(Side::Source), expected);
        let expected =
            "target: no kubeconfig: /c does not exist; name one with --to-kubeconfig or KUBECONFIG";
        assert_eq!(missing(Side::Target), expected);
    }
}
