//! Calls of one hook: natively, on bare wasmtime, through the product. They take turns, so that a temporary load affects all of
//! them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use pivot_core::{GroupKind, Kind, KindLabels, Object};
use pivot_runtime::{LoadOptions, Plugin, Runtime};
use serde_json::{Value, json};

use super::bare::Bare;
use super::work;

/// Calls of each contender in one round.
const IN_A_ROUND: usize = 20;

/// The contenders.
pub(crate) const CONTENDERS: [&str; 4] = ["native", "wasmtime", "wasmtime, epochs", "pivot-host"];

/// The question to a hook, and how long each contender took: all calls, in the order of [`CONTENDERS`].
pub(crate) struct Calls {
    pub(crate) name: &'static str,
    pub(crate) bytes: usize,
    pub(crate) took: [Vec<Duration>; 4],
}

/// A question.
struct Task {
    name: &'static str,
    object: Object,
    text: String,
    /// None: the hook that does nothing.
    patch: Option<Value>,
}

/// Measures all tasks on the component in `directory`, which is admitted there.
pub(crate) async fn measure(directory: &Path, rounds: usize) -> Result<Vec<Calls>> {
    let component = directory.join("measured.wasm");
    let bare = [Bare::new(&component, false)?, Bare::new(&component, true)?];
    let loaded = Runtime::new().load(directory, LoadOptions::default()).await;
    let loaded = loaded.map_err(|errors| anyhow::anyhow!("{errors:?}"))?;
    let plugin = loaded.plugins.first().context("no plugin to measure")?;
    let mut all = Vec::new();
    for task in [task("empty hook", 0, false)?, task("5 KB", 5_000, true)?, task("50 KB", 50_000, true)?] {
        let mut calls = Calls { name: task.name, bytes: task.text.len(), took: Default::default() };
        for _ in 0..rounds {
            let [native, free, epochs, product] = &mut calls.took;
            for _ in 0..IN_A_ROUND {
                native.push(natively(&task)?);
            }
            for (floor, took) in bare.iter().zip([free, epochs]) {
                for _ in 0..IN_A_ROUND {
                    took.push(barely(floor, &task).await?);
                }
            }
            for _ in 0..IN_A_ROUND {
                product.push(sandboxed(plugin, &task).await?);
            }
        }
        all.push(calls);
    }
    Ok(all)
}

fn natively(task: &Task) -> Result<Duration> {
    let begun = Instant::now();
    let said = match &task.patch {
        Some(_) => Some(work::patch(std::hint::black_box(&task.text)).map_err(anyhow::Error::msg)?),
        None => None,
    };
    let took = begun.elapsed();
    same(task, said.as_deref().map(serde_json::from_str).transpose()?)?;
    Ok(took)
}

async fn barely(bare: &Bare, task: &Task) -> Result<Duration> {
    let begun = Instant::now();
    let said = match &task.patch {
        Some(_) => bare.hold(&task.text).await?,
        None => bare.adapt(&task.text).await?,
    };
    let took = begun.elapsed();
    same(task, said.as_deref().map(serde_json::from_str).transpose()?)?;
    Ok(took)
}

async fn sandboxed(plugin: &Plugin, task: &Task) -> Result<Duration> {
    let begun = Instant::now();
    let said = match &task.patch {
        Some(_) => plugin.hold(&task.object).await?,
        None => plugin.adapt(&task.object).await?,
    };
    let took = begun.elapsed();
    same(task, said)?;
    Ok(took)
}

/// A fast answer that differs is no result.
fn same(task: &Task, said: Option<Value>) -> Result<()> {
    ensure!(said == task.patch, "{}: {said:?} is not the answer, {:?} is", task.name, task.patch);
    Ok(())
}

fn task(name: &'static str, bytes: usize, asks: bool) -> Result<Task> {
    let value = host(bytes);
    let kind = Kind {
        group_kind: GroupKind::new("test.io", "Host"),
        version: "v1".into(),
        plural: "hosts".into(),
        namespaced: true,
        status_subresource: true,
        served: vec!["v1".into()],
        labels: KindLabels::default(),
    };
    let text = value.to_string();
    let object = Object::parse(Arc::new(kind), Bytes::from(text.clone()))?;
    // Spelled out here, and not taken from the measured code.
    let patch = asks.then(|| {
        json!({"metadata": {"annotations": {
            "measured.test.io/Ready": "True", "measured.test.io/Healthy": "True", "measured.test.io/fields": "3",
        }}})
    });
    Ok(Task { name, object, text, patch })
}

/// An object of at least so many bytes: a few fields of its own, and a list of inspection results, as in a host's status.
fn host(bytes: usize) -> Value {
    let truth =
        |kind: &str| json!({"type": kind, "status": "True", "reason": "Done", "observedGeneration": 3});
    let mut host = json!({
        "apiVersion": "test.io/v1", "kind": "Host",
        "metadata": {"name": "h", "namespace": "n", "labels": {"rack": "r1"}, "generation": 3},
        "spec": {"online": true, "bmc": {"address": "redfish://192.0.2.7/redfish/v1/Systems/7"}},
        "status": {"conditions": [truth("Ready"), truth("Healthy")], "poweredOn": true, "hardware": {"nics": []}},
    });
    let mut size = host.to_string().len();
    let mut nics = Vec::new();
    while size < bytes {
        let index = nics.len();
        let nic = json!({
            "name": format!("eth{index}"), "mac": format!("00:16:3e:00:00:{index:02x}"), "speedGbps": 25, "pxe": index == 0,
            "model": "0x8086 0x159b", "vlans": [{"id": 100 + index, "name": "tenant"}], "ratio": 0.5, "note": null,
        });
        size += nic.to_string().len() + 1;
        nics.push(nic);
    }
    if let Some(place) = host.pointer_mut("/status/hardware/nics") {
        *place = Value::Array(nics);
    }
    host
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_as_large_as_their_names_say() {
        for bytes in [5_000, 50_000] {
            let size = host(bytes).to_string().len();
            assert!((bytes..bytes + 300).contains(&size), "{size}");
        }
    }

    #[test]
    fn the_native_code_gives_the_answer_that_is_written_down() {
        natively(&task("5 KB", 5_000, true).unwrap()).unwrap();
    }
}
