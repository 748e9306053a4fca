//! A barrier: whatever was garbage before it has been collected after it.
//!
//! No API says how far the garbage collector has come. But it sees the changes of each kind in their order, and deals with what is
//! due in one queue. So an object of that kind that it has to collect, and has collected, is proof that it has dealt with
//! everything that was due before.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use futures::future::{join_all, try_join_all};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::{Value, json};

use super::{Dump, Server};
use crate::kinds::Kind;

const LIMIT: Duration = Duration::from_mins(2);

/// No test moves or compares anything there.
const NAMESPACE: &str = "kube-system";

impl Server {
    /// Waits until the garbage collector has dealt with every change that objects of the kinds in `like` have seen so far.
    ///
    /// For each kind it creates an orphan: an object of the same content as one in `like`, whose owner doesn't exist.
    ///
    /// # Errors
    ///
    /// If the garbage collector doesn't run, if `like` is empty, or if an orphan survives.
    pub async fn collect_garbage(&self, like: &Dump) -> Result<()> {
        ensure!(self.has_controllers().await, "no garbage collector runs on the {}", self.name());
        let models: BTreeMap<&str, &Value> =
            like.iter().map(|(key, object)| (key.kind.as_str(), object)).collect();
        let kinds = self.kinds().await?;
        let wanted = kinds.iter().filter_map(|kind| Some((kind, *models.get(kind.name().as_str())?)));
        let orphans = try_join_all(wanted.map(|(kind, model)| self.create_orphan(kind, model))).await?;
        ensure!(!orphans.is_empty(), "no kind of garbage is known for the {}", self.name());
        let start = Instant::now();
        loop {
            let lookups = join_all(orphans.iter().map(|(api, name)| api.get_opt(name))).await;
            let left = lookups.into_iter().collect::<kube::Result<Vec<_>>>()?.into_iter().flatten().next();
            let Some(left) = left else { return Ok(()) };
            if start.elapsed() > LIMIT {
                bail!("the garbage collector of the {} leaves {left:?}", self.name());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn create_orphan(&self, kind: &Kind, model: &Value) -> Result<(Api<DynamicObject>, String)> {
        static CREATED: AtomicU64 = AtomicU64::new(0);
        let number = CREATED.fetch_add(1, Ordering::Relaxed);
        let (name, absent) =
            (format!("lab-orphan-{number}"), format!("00000000-0000-4000-9000-{number:012x}"));
        let mut metadata = json!({
            "name": name,
            // Objects in and outside of namespaces can have an owner that is in none.
            "ownerReferences": [{ "apiVersion": "v1", "kind": "Namespace", "name": "lab-absent", "uid": absent }],
        });
        let mut api = kind.api(self.client());
        if let (true, Some(fields)) = (kind.namespaced, metadata.as_object_mut()) {
            fields.insert("namespace".to_owned(), NAMESPACE.into());
            api = api.constrain(NAMESPACE);
        }
        let mut object = model.clone();
        if let Some(fields) = object.as_object_mut() {
            fields.insert("metadata".to_owned(), metadata);
            fields.remove("status");
        }
        let object: DynamicObject = serde_json::from_value(object)?;
        let created = api.create(&PostParams::default(), &object).await;
        let created =
            created.with_context(|| format!("create an orphan {} in the {}", kind.name(), self.name()))?;
        Ok((api, created.name_any()))
    }
}
