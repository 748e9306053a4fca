//! A plugin's description: its identity, and the permissions that it asks for.
//!
//! The host grants nothing that is not declared here; the operator may grant less. Operators also read this to decide whether to
//! admit a plugin (`pivot-host plugin inspect`).

use crate::{Hook, Kind, Side};

/// The objects that a hook changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `hold`, `adapt`, `restore` or `settle`.
    pub hook: Hook,
    /// Kind of the changed objects.
    pub kind: Kind,
}

/// A kind the plugin reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The kind.
    pub kind: Kind,
    /// The side.
    pub side: Side,
    /// None: the namespaces that move. Some: this one, `*` for all.
    pub namespace: Option<String>,
}

/// The API versions of a kind that the plugin understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The kind.
    pub kind: Kind,
    /// Without the group: `v1beta2`.
    pub versions: Vec<String>,
}

/// A part of the source, outside the namespaces that move, that relations reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The kind.
    pub kind: Kind,
    /// In this namespace; `*` for all, and for cluster-scoped objects.
    pub namespace: String,
    /// Whether these objects are deleted from the source; otherwise they are copied and kept.
    pub delete: bool,
}

/// A plugin's description of itself. [`about!`](crate::about!) starts one from Cargo.toml.
///
/// ```
/// use pivot_sdk::{About, Kind, Side};
///
/// const HOST: Kind = Kind::new("metal3.io", "BareMetalHost");
/// let about = About::new("my-hosts", "0.1.0", "Keeps hosts from being touched while they move.")
///     .sees(HOST)
///     .holds(HOST)
///     .settles(HOST)
///     .reads(Side::Target, HOST)
///     .reads_in(Side::Target, Kind::new("apps", "Deployment"), "my-system")
///     .probes("*:6385");
/// assert_eq!(about.kinds, [HOST]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct About {
    /// Lower-case words joined by dashes; the name in `plugins.toml`.
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// A one-sentence summary.
    pub summary: String,
    /// Kinds whose objects the hooks want to see, listed even if they are not labelled for moving.
    pub kinds: Vec<Kind>,
    /// The versions of kinds that the plugin understands. A kind that isn't listed here may have any version.
    pub versions: Vec<Versions>,
    /// Parts of the source, outside the namespaces that move, that `relate` reaches.
    pub reach: Vec<Reach>,
    /// Kinds that the hooks change.
    pub changes: Vec<Change>,
    /// Kinds that the plugin reads.
    pub reads: Vec<Read>,
    /// Endpoints that the plugin probes, as `host:port` patterns.
    pub probes: Vec<String>,
    /// Whether the plugin needs the data of Secrets.
    pub secret_data: bool,
    /// Codes of the plugin's problems. Only a plugin that needs the data of Secrets must declare them.
    pub codes: Vec<String>,
    /// Additions for newer hosts.
    pub extra: Vec<(String, String)>,
}

impl About {
    /// A plugin that sees and changes nothing yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            summary: summary.into(),
            kinds: Vec::new(),
            versions: Vec::new(),
            reach: Vec::new(),
            changes: Vec::new(),
            reads: Vec::new(),
            probes: Vec::new(),
            secret_data: false,
            codes: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// The hooks want to see objects of this kind.
    pub fn sees(mut self, kind: impl Into<Kind>) -> Self {
        let kind = kind.into();
        if !self.kinds.iter().any(|seen| seen.matches(&kind)) {
            self.kinds.push(kind);
        }
        self
    }

    /// The hooks want to see objects of this kind, and understand these versions of it: `["v1beta1", "v1beta2"]`. If the host reads
    /// it in another one, the move is refused before anything is changed.
    pub fn understands<V: Into<String>>(
        mut self,
        kind: impl Into<Kind>,
        versions: impl IntoIterator<Item = V>,
    ) -> Self {
        let kind = kind.into();
        let versions = versions.into_iter().map(Into::into).collect();
        self.versions.push(Versions { kind: kind.clone(), versions });
        self.sees(kind)
    }

    /// `relate` reaches objects of this kind in another namespace, `*` for all and for cluster-scoped objects. The host passes it
    /// objects of the kinds that it sees, and it may link, need or share them. They are copied, and kept in the source.
    pub fn reaches(self, kind: impl Into<Kind>, namespace: impl Into<String>) -> Self {
        self.add_reach(kind.into(), namespace.into(), false)
    }

    /// `relate` reaches objects as with [`reaches`](Self::reaches), and they are deleted from the source. Cluster-scoped objects
    /// are kept anyway.
    pub fn reaches_and_deletes(self, kind: impl Into<Kind>, namespace: impl Into<String>) -> Self {
        self.add_reach(kind.into(), namespace.into(), true)
    }

    fn add_reach(mut self, kind: Kind, namespace: String, delete: bool) -> Self {
        self.reach.push(Reach { kind, namespace, delete });
        self
    }

    /// `hold` changes source objects of this kind (and sees them).
    pub fn holds(self, kind: impl Into<Kind>) -> Self {
        self.add_change(Hook::Hold, kind.into())
    }

    /// `adapt` changes objects of this kind before they are created (and sees them).
    pub fn adapts(self, kind: impl Into<Kind>) -> Self {
        self.add_change(Hook::Adapt, kind.into())
    }

    /// `restore` changes the status of created objects of this kind (and sees them).
    pub fn restores(self, kind: impl Into<Kind>) -> Self {
        self.add_change(Hook::Restore, kind.into())
    }

    /// `settle` changes target objects of this kind at the end (and sees them).
    pub fn settles(self, kind: impl Into<Kind>) -> Self {
        self.add_change(Hook::Settle, kind.into())
    }

    fn add_change(self, hook: Hook, kind: Kind) -> Self {
        let mut this = self.sees(kind.clone());
        let change = Change { hook, kind };
        if !this.changes.contains(&change) {
            this.changes.push(change);
        }
        this
    }

    /// The plugin reads objects of this kind in the namespaces that move.
    pub fn reads(self, side: Side, kind: impl Into<Kind>) -> Self {
        self.add_read(side, kind.into(), None)
    }

    /// The plugin reads objects of this kind in another namespace; `*` for all, and for cluster-scoped kinds.
    pub fn reads_in(self, side: Side, kind: impl Into<Kind>, namespace: impl Into<String>) -> Self {
        self.add_read(side, kind.into(), Some(namespace.into()))
    }

    fn add_read(mut self, side: Side, kind: Kind, namespace: Option<String>) -> Self {
        self.reads.push(Read { kind, side, namespace });
        self
    }

    /// The plugin probes endpoints that match: `host:port`, where host is a name, `*.example.com`, `*`, an address, a network in
    /// CIDR notation, or `namespace/service`, and port a number or `*`.
    pub fn probes(mut self, pattern: impl Into<String>) -> Self {
        self.probes.push(pattern.into());
        self
    }

    /// The plugin needs the data of Secrets. Such a plugin can't probe endpoints, and its output is limited to codes. Each code
    /// that was declared with [`problem_codes`](Self::problem_codes) is reported once, with the number of objects.
    pub fn reads_secret_data(mut self) -> Self {
        self.secret_data = true;
        self
    }

    /// Declares the codes of the plugin's problems, 32 at most.
    pub fn problem_codes<C: Into<String>>(mut self, codes: impl IntoIterator<Item = C>) -> Self {
        self.codes.extend(codes.into_iter().map(Into::into));
        self
    }

    /// Adds an entry for newer hosts.
    pub fn with_extra(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.extra.push((key.into(), value.into()));
        self
    }
}

/// An [`About`](crate::About) whose name, version and summary are the crate's in Cargo.toml.
#[macro_export]
macro_rules! about {
    () => {
        $crate::About::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
    };
}
