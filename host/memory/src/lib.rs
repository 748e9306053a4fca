//! A small API server in memory, for the engine's tests.
//!
//! The server behaves like a real one wherever a move can tell the difference: versions, UIDs and generations, merge patches with
//! preconditions, the status subresource, finalizers, namespaces, dry runs, unknown fields, watches. It has no controllers, and
//! no garbage collector except [`MemoryPlace::collect_garbage`].
//!
//! Beyond [`Place`](pivot_places::Place), tests can insert objects as a controller would ([`MemoryPlace::insert`],
//! [`MemoryPlace::edit`]). They can make calls fail before or after they take effect ([`MemoryPlace::on_call`]), and read which
//! calls were made ([`MemoryPlace::journal`]).

#[path = "../../places/src/body.rs"]
mod body;
mod schema;
mod state;
mod verbs;
mod write;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pivot_core::objects::names::RECORD_NAMESPACE;
use pivot_core::{GroupKind, Key, Kind, Object};
// The name by which `body` imports from its crate.
use pivot_places as place;
use pivot_places::{Access, AgentDescription, Change, PlaceError, Result, Throttled, builtin_kinds};
use serde_json::{Value, json};
use tokio::sync::watch;

pub use schema::Schema;
pub use state::Call;

use state::State;

/// A failure that a test injects.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The call has no effect, and the caller gets this error.
    Before(PlaceError),
    /// The call takes effect, but the caller gets this error: a lost answer.
    After(PlaceError),
}

type OnCall = dyn Fn(&str, &Key) -> Option<Fault> + Send + Sync;

/// An API server in memory. Clones are the same server.
#[derive(Clone)]
pub struct MemoryPlace {
    server: Arc<Server>,
}

struct Server {
    label: String,
    state: Mutex<State>,
    on_call: Mutex<Option<Arc<OnCall>>>,
    throttled: Throttled,
    agent: Mutex<Option<AgentDescription>>,
    /// Notifies watches of new events.
    news: watch::Sender<()>,
}

impl MemoryPlace {
    /// Creates a server with the built-in kinds and the namespaces `default` and `kube-system`, in which moves have kept records
    /// before.
    pub fn new(label: impl Into<String>) -> Self {
        let place = Self {
            server: Arc::new(Server {
                label: label.into(),
                state: Mutex::new(State::default()),
                on_call: Mutex::new(None),
                throttled: Throttled::default(),
                agent: Mutex::new(None),
                news: watch::Sender::new(()),
            }),
        };
        for kind in builtin_kinds() {
            place.add_kind(kind);
        }
        for name in ["default", "kube-public", "kube-system", RECORD_NAMESPACE] {
            place.add_namespace(name);
        }
        place
    }

    /// Serves a kind; replaces one of the same group and kind.
    pub fn add_kind(&self, kind: Kind) -> &Self {
        self.lock_state().kinds.insert(kind.group_kind.clone(), Arc::new(kind));
        self
    }

    /// Sets the fields of a kind; without a schema it has all.
    pub fn set_schema(&self, kind: &GroupKind, schema: Schema) -> &Self {
        self.lock_state().schemas.insert(kind.clone(), schema);
        self
    }

    /// Sets the clock, which stands still.
    pub fn set_time(&self, time: &str) -> &Self {
        self.lock_state().time = Some(time.to_owned());
        self
    }

    /// Creates a namespace.
    pub fn add_namespace(&self, name: &str) -> &Self {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        if let Err(error) = self.insert(body) {
            tracing::error!(%error, name, "the namespace was not made");
        }
        self
    }

    /// Sets the description of an agent that answers for the server.
    pub fn set_agent(&self, agent: AgentDescription) -> &Self {
        *lock_mutex(&self.server.agent) = Some(agent);
        self
    }

    /// Revokes one of the user's permissions.
    pub fn deny(&self, access: Access) -> &Self {
        self.lock_state().denied.insert(access);
        self
    }

    /// Inserts a complete object with its status and, if it has them, its UID and deletionTimestamp; creates its namespace.
    /// Faults don't apply, and the journal has no entry.
    pub fn insert(&self, body: Value) -> Result<Object> {
        let object = self.lock_state().insert(body);
        self.server.news.send_replace(());
        object
    }

    /// Changes an object as a controller would, all parts of it at once.
    pub fn edit(&self, key: &Key, change: impl FnOnce(&mut Value)) -> Result<Object> {
        let object = self.lock_state().edit(key, change);
        self.server.news.send_replace(());
        object
    }

    /// Removes an object, whatever its finalizers.
    pub fn remove(&self, key: &Key) -> Result<()> {
        let removed = self.lock_state().remove(key);
        self.server.news.send_replace(());
        removed
    }

    /// Deletes objects whose owners are all gone, like the garbage collector, until nothing is left to delete. Removes references
    /// to owners that are gone from the other objects. Returns the keys of the deleted objects.
    pub fn collect_garbage(&self) -> Vec<Key> {
        let keys = self.lock_state().collect_garbage();
        self.server.news.send_replace(());
        keys
    }

    /// Returns the current state of an object.
    pub fn body(&self, key: &Key) -> Option<Value> {
        self.lock_state().objects.get(key).cloned()
    }

    /// Returns the keys of all objects, in order.
    pub fn keys(&self) -> Vec<Key> {
        self.lock_state().objects.keys().cloned().collect()
    }

    /// Calls `fault` before each call to decide whether it fails. The verb is as in [`Call::verb`], or `get`, `list`,
    /// `list-snapshot`, `list-meta`, `list-version`, `watch`; the key has no name, except for `get`.
    pub fn on_call(&self, fault: impl Fn(&str, &Key) -> Option<Fault> + Send + Sync + 'static) -> &Self {
        *lock_mutex(&self.server.on_call) = Some(Arc::new(fault));
        self
    }

    /// Returns the calls that were meant to change something, since the start or since this was last called.
    pub fn journal(&self) -> Vec<Call> {
        std::mem::take(&mut self.lock_state().journal)
    }

    /// Forgets past events: older watches must start over.
    pub fn expire_watches(&self) {
        self.lock_state().expire_watches();
        self.server.news.send_replace(());
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        lock_mutex(&self.server.state)
    }

    fn injected_fault(&self, verb: &str, key: &Key) -> Option<Fault> {
        // The closure may use this very place, so no lock is held while it runs.
        let on_call = lock_mutex(&self.server.on_call).clone();
        on_call.and_then(|fault| fault(verb, key))
    }

    fn record_access(&self, verb: &str, key: &Key) {
        let mut state = self.lock_state();
        let Some(kind) = state.kinds.get(&key.group_kind) else { return };
        let access = Access {
            verb: verb.split_once('-').map_or(verb, |(verb, _)| verb).to_owned().into(),
            group: key.group_kind.group.clone(),
            resource: kind.plural.clone(),
            subresource: "".into(),
            namespace: key.namespace.clone(),
        };
        state.used.insert(access);
    }

    fn read_state<T>(&self, verb: &str, key: &Key, read: impl FnOnce(&State) -> Result<T>) -> Result<T> {
        self.record_access(verb, key);
        match self.injected_fault(verb, key) {
            Some(Fault::Before(error) | Fault::After(error)) => Err(error),
            None => read(&self.lock_state()),
        }
    }

    fn write_state<T>(
        &self,
        verb: &str,
        key: &Key,
        body: &Value,
        change: Change,
        write: impl FnOnce(&mut State) -> Result<T>,
    ) -> Result<T> {
        let verb = if change == Change::DryRun { format!("dry-run {verb}") } else { verb.to_owned() };
        let fault = self.injected_fault(&verb, key);
        let result = match fault {
            Some(Fault::Before(error)) => {
                let call = Call { verb, key: key.clone(), body: body.clone(), done: false };
                self.lock_state().journal.push(call);
                return Err(error);
            }
            Some(Fault::After(_)) | None => {
                let mut state = self.lock_state();
                let result = write(&mut state);
                let call = Call { verb, key: key.clone(), body: body.clone(), done: result.is_ok() };
                state.journal.push(call);
                result
            }
        };
        self.server.news.send_replace(());
        match fault {
            Some(Fault::After(error)) => Err(error),
            _ => result,
        }
    }
}

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
