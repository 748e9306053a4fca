//! From what was named to places.

use pivot_core::Side;
use std::path::Path;
use std::sync::Arc;

use pivot_engine::run;
use pivot_engine::{Exit, Halter, Options, Setup, Sides, Stop};
use pivot_places::{ConnectError, ConnectOptions, DirectoryError, DirectoryPlace, KubePlace, Place};

use crate::args::{Ends, SourceEnd, TargetEnd};
use crate::nowhere::Nowhere;

/// Both sides, and what was learned on the way to them.
pub(crate) struct Opened {
    pub(crate) source: Arc<dyn Place>,
    pub(crate) target: Arc<dyn Place>,
    /// The directory that is written to.
    pub(crate) directory: Option<Arc<DirectoryPlace>>,
    /// The context's namespace.
    pub(crate) namespace: Option<String>,
}

impl Opened {
    pub(crate) fn labels(&self) -> (&str, &str) {
        (self.source.label(), self.target.label())
    }

    pub(crate) fn sides(&self) -> Sides {
        Sides { source: self.source.clone(), target: self.target.clone() }
    }

    /// After a run that wrote nothing: its directory is free for another. Says whether that is so.
    pub(crate) fn free(&self) -> bool {
        let Some(directory) = &self.directory else { return true };
        directory.give_up().unwrap_or_else(|error| {
            tracing::warn!(%error, "the directory still says that a move is writing it");
            false
        })
    }

    /// After a run that stopped. Between two directories there is no record that the engine could read, so what was
    /// written shows only here.
    pub(crate) fn let_go(&self, stop: &mut Stop) {
        if self.free() || stop.phase.is_some() {
            return;
        }
        stop.standing = format!(
            "the source is as it was; {} holds a part of the copy: delete it, or name another directory",
            self.target.label()
        );
        if matches!(stop.exit, Exit::Refused | Exit::Unexpected) {
            stop.exit = Exit::PartWay;
        }
    }
}

/// Why a side could not be opened. Nothing has happened yet.
#[derive(Debug)]
pub(crate) enum OpenError {
    Connect(Side, ConnectError),
    Directory(Side, DirectoryError),
    /// A move to a cluster is under way: it can't go on into a directory.
    OtherTarget(String),
    Stop(Box<Stop>),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Connect(side, error) => write!(f, "{side}: {error}"),
            Self::Directory(side, error) => write!(f, "{side}: {error}"),
            Self::OtherTarget(id) => write!(
                f,
                "source: move {id} to a cluster is under way; resume it or roll it back with --to-kubeconfig first"
            ),
            Self::Stop(stop) => write!(f, "{stop}"),
        }
    }
}

/// Opens both sides to look at; no directory is made.
pub(crate) async fn to_read(ends: &Ends) -> Result<Opened, OpenError> {
    let (source, namespace) = source(&ends.source).await?;
    let target: Arc<dyn Place> = match &ends.target {
        TargetEnd::Kube(options) => Arc::new(connect(Side::Target, options).await?),
        TargetEnd::Directory(path) => Arc::new(Nowhere::target(format!("directory {}", path.display()))),
        TargetEnd::None => Arc::new(Nowhere::target("a target that is not named")),
        TargetEnd::Gone => Arc::new(Nowhere::gone(Side::Target)),
    };
    Ok(Opened { source, target, directory: None, namespace })
}

/// Opens both sides to work on. A directory is made for the move that the source's record names, or for a new one,
/// whose id the options then have.
pub(crate) async fn to_write(ends: &Ends, options: &mut Options) -> Result<Opened, OpenError> {
    let TargetEnd::Directory(path) = &ends.target else { return to_read(ends).await };
    let (source, namespace) = source(&ends.source).await?;
    let move_id = match &ends.source {
        SourceEnd::Kube(_) => begun(&source, options).await?,
        SourceEnd::Directory(_) | SourceEnd::Gone => None,
    };
    let move_id = move_id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    let directory =
        DirectoryPlace::create(path, &move_id).map_err(|error| OpenError::Directory(Side::Target, error))?;
    let directory = Arc::new(directory);
    options.move_id = Some(move_id);
    Ok(Opened { source, target: directory.clone(), directory: Some(directory), namespace })
}

/// The id of the move that the source's record names.
async fn begun(source: &Arc<dyn Place>, options: &Options) -> Result<Option<String>, OpenError> {
    let setup = Setup {
        sides: Sides { source: source.clone(), target: Arc::new(Nowhere::target("a directory")) },
        options: options.clone(),
        plugins: Vec::new(),
        watcher: Arc::new(pivot_engine::events::Nobody),
        halter: Halter::default(),
    };
    let status = run::status(setup).await.map_err(|stop| OpenError::Stop(Box::new(stop)))?;
    match status.record {
        Some((_, record)) if record.target.is_some() => Err(OpenError::OtherTarget(record.move_id)),
        found => Ok(found.map(|(_, record)| record.move_id)),
    }
}

async fn source(end: &SourceEnd) -> Result<(Arc<dyn Place>, Option<String>), OpenError> {
    match end {
        SourceEnd::Kube(options) => {
            let place = connect(Side::Source, options).await?;
            let namespace = place.default_namespace().to_owned();
            Ok((Arc::new(place), Some(namespace)))
        }
        SourceEnd::Directory(path) => Ok((Arc::new(open(path)?), None)),
        SourceEnd::Gone => Ok((Arc::new(Nowhere::gone(Side::Source)), None)),
    }
}

async fn connect(side: Side, options: &ConnectOptions) -> Result<KubePlace, OpenError> {
    KubePlace::connect(options.clone()).await.map_err(|error| OpenError::Connect(side, error))
}

fn open(path: &Path) -> Result<DirectoryPlace, OpenError> {
    DirectoryPlace::open(path).map_err(|error| OpenError::Directory(Side::Source, error))
}
