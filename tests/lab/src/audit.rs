//! Counts requests where they arrive: in the API server's own audit log.
//!
//! "Three mutating requests per moved object" is a promise, and what a client believes it has sent is no evidence: libraries
//! repeat requests, and discover kinds without the caller knowing. The log has each request's user agent, so that the program
//! under test, the peer, the controllers and the lab itself can be told apart.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::Server;
use crate::kinds::group_kind;

const WRITE_LIMIT: Duration = Duration::from_mins(1);
const MUTATING: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

/// A moment in a server's life, see [`Server::audit_mark`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Mark(u64);

/// One answered request; for a watch, its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The client's user agent.
    pub user_agent: String,
    /// The authenticated user.
    pub user: String,
    /// get, list, watch, create, update, patch, delete, deletecollection.
    pub verb: String,
    /// `machines.cluster.x-k8s.io`, `machines.cluster.x-k8s.io/status`, `secrets`; the path if it is not about a resource.
    pub resource: String,
    /// Empty outside namespaces.
    pub namespace: String,
    /// Empty for lists, and if the server generates the name.
    pub name: String,
    /// The answer's HTTP status.
    pub code: u16,
    /// It was a dry run.
    pub dry_run: bool,
    /// When it arrived and when it was answered, by the server's clock.
    pub times: Option<(Timestamp, Timestamp)>,
    /// Whether it pauses a Cluster, a class or a host, or resumes it.
    pub pausing: Option<Pausing>,
}

/// What a patch does to a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pausing {
    /// It pauses.
    Pauses,
    /// It undoes a pause.
    Resumes,
}

impl Pausing {
    /// Judges the merge patch: `spec.paused`, or any annotation with that name.
    fn of(patch: &Value) -> Option<Self> {
        let annotations = patch.pointer("/metadata/annotations").and_then(Value::as_object);
        let annotation = annotations.into_iter().flatten().find(|(name, _)| name.ends_with("/paused"));
        let pauses = match (patch.pointer("/spec/paused"), annotation) {
            (Some(paused), _) => paused.as_bool().unwrap_or_default(),
            (None, Some((_, value))) => !value.is_null(),
            (None, None) => return None,
        };
        Some(if pauses { Self::Pauses } else { Self::Resumes })
    }
}

impl Request {
    /// It could change something.
    #[must_use]
    pub fn is_mutating(&self) -> bool {
        !self.dry_run && MUTATING.contains(&self.verb.as_str())
    }

    /// It is about a Lease.
    #[must_use]
    pub fn is_lease(&self) -> bool {
        self.resource == "leases.coordination.k8s.io"
    }

    /// It is about a ConfigMap of the namespace in which moves keep their records.
    #[must_use]
    pub fn is_record(&self) -> bool {
        self.resource == "configmaps" && self.namespace == "pivot-host-records"
    }
}

/// Requests in the order in which they were answered.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// The requests.
    pub requests: Vec<Request>,
}

/// Requests, counted by their cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Not a dry run, lease, record or read: what a request budget covers.
    pub mutating: usize,
    /// Dry runs.
    pub dry_run: usize,
    /// Anything about leases.
    pub lease: usize,
    /// Anything about ConfigMaps in `pivot-host-records`.
    pub record: usize,
    /// get, list, watch and requests without a resource, such as discovery.
    pub read: usize,
}

impl Audit {
    /// Requests of clients whose user agent starts like this.
    #[must_use]
    pub fn of(&self, user_agent: &str) -> Self {
        self.only(|request| request.user_agent.starts_with(user_agent))
    }

    /// Requests that `wanted` selects.
    #[must_use]
    pub fn only(&self, wanted: impl Fn(&Request) -> bool) -> Self {
        Self { requests: self.requests.iter().filter(|request| wanted(request)).cloned().collect() }
    }

    /// Counts by user agent, verb and resource, without dry runs.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<(String, String, String), usize> {
        let mut counts = BTreeMap::new();
        for Request { user_agent, verb, resource, .. } in
            self.requests.iter().filter(|request| !request.dry_run)
        {
            *counts.entry((user_agent.clone(), verb.clone(), resource.clone())).or_default() += 1;
        }
        counts
    }

    /// Counts by cost.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for request in &self.requests {
            let count = match request {
                request if request.dry_run => &mut tally.dry_run,
                request if request.is_lease() => &mut tally.lease,
                request if request.is_record() => &mut tally.record,
                request if request.is_mutating() => &mut tally.mutating,
                _ => &mut tally.read,
            };
            *count += 1;
        }
        tally
    }

    /// From the arrival of the first pause in the source to the answer to the last resume in the target: the time in which
    /// nothing is reconciled. None if nothing was paused, or nothing resumed.
    #[must_use]
    pub fn pause_window(source: &Self, target: &Self) -> Option<Duration> {
        let times = |audit: &Self, what| -> Vec<(Timestamp, Timestamp)> {
            let wanted = |request: &&Request| request.pausing == Some(what) && request.code < 300;
            audit.requests.iter().filter(wanted).filter_map(|request| request.times).collect()
        };
        let first = times(source, Pausing::Pauses).into_iter().map(|(arrived, _)| arrived).min()?;
        let last = times(target, Pausing::Resumes).into_iter().map(|(_, answered)| answered).max()?;
        Duration::try_from(last.duration_since(first)).ok()
    }

    fn parse(log: &str) -> Result<Self> {
        let mut requests = Vec::new();
        for line in log.lines() {
            let event: Event =
                serde_json::from_str(line).with_context(|| format!("read the audit log: {line}"))?;
            requests.extend(event.request());
        }
        Ok(Self { requests })
    }
}

impl Server {
    /// All requests answered so far.
    pub async fn audit(&self) -> Result<Audit> {
        self.audit_since(Mark::default()).await
    }

    /// The requests answered since `mark`.
    pub async fn audit_since(&self, mark: Mark) -> Result<Audit> {
        self.flush_audit(mark).await.and_then(|log| Audit::parse(&log))
    }

    /// Now, for [`Server::audit_since`].
    pub async fn audit_mark(&self) -> Result<Mark> {
        Ok(Mark(u64::try_from(self.flush_audit(Mark::default()).await?.len())?))
    }

    /// The log since `mark`, in complete lines, with everything answered before this call.
    ///
    /// A client may have an answer before its line is in the file; so a recognisable request is sent and waited for. It arrives
    /// after the answers that the caller has already seen.
    async fn flush_audit(&self, mark: Mark) -> Result<String> {
        static FLUSHES: AtomicU64 = AtomicU64::new(0);
        let marker = format!("{BARRIER}{}-{}", std::process::id(), FLUSHES.fetch_add(1, Ordering::Relaxed));
        let request = http::Request::get(&marker).body(Vec::new())?;
        self.client().request_text(request).await.context("flush the audit log")?;
        let (path, start) = (self.dir().join("audit.log"), Instant::now());
        loop {
            let log = read_from(&path, mark.0)?;
            if log.rsplit_once('\n').is_some_and(|(complete, _)| complete.contains(&marker)) {
                return Ok(log
                    .rsplit_once('\n')
                    .map(|(complete, _)| format!("{complete}\n"))
                    .unwrap_or_default());
            }
            if start.elapsed() > WRITE_LIMIT {
                bail!("the {} server does not write its audit log", self.name());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The path of requests that flush the log; they are not counted.
const BARRIER: &str = "/version?lab-barrier=";

fn read_from(path: &Path, offset: u64) -> Result<String> {
    let mut file = std::fs::File::open(path).with_context(|| format!("open {}", path.display()))?;
    file.seek(SeekFrom::Start(offset))?;
    let mut log = Vec::new();
    file.read_to_end(&mut log)?;
    Ok(String::from_utf8_lossy(&log).into_owned())
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    user: User,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: Option<ObjectRef>,
    #[serde(default)]
    response_status: Status,
    #[serde(default)]
    request_received_timestamp: Option<Timestamp>,
    #[serde(default)]
    stage_timestamp: Option<Timestamp>,
    /// Only for patches, and only if the policy requests it.
    #[serde(default)]
    request_object: Value,
}

#[derive(Debug, Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Debug, Default, Deserialize)]
struct Status {
    #[serde(default)]
    code: u16,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct ObjectRef {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    api_group: String,
}

impl Event {
    fn request(self) -> Option<Request> {
        // A watch is complete when it ends, which may be never.
        let counts_at = if self.verb == "watch" { "ResponseStarted" } else { "ResponseComplete" };
        if self.stage != counts_at || self.request_uri.starts_with(BARRIER) {
            return None;
        }
        let (path, query) = self.request_uri.split_once('?').unwrap_or((&self.request_uri, ""));
        let object = self.object_ref.unwrap_or_default();
        let mut resource = group_kind(&object.api_group, &object.resource);
        if object.resource.is_empty() {
            resource = path.to_owned();
        } else if !object.subresource.is_empty() {
            resource = format!("{resource}/{}", object.subresource);
        }
        Some(Request {
            dry_run: query.split('&').any(|pair| pair.starts_with("dryRun=")),
            user_agent: self.user_agent,
            user: self.user.username,
            verb: self.verb,
            resource,
            namespace: object.namespace,
            name: object.name,
            code: self.response_status.code,
            times: self.request_received_timestamp.zip(self.stage_timestamp),
            pausing: Pausing::of(&self.request_object),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LOG: &str = r#"{"stage":"ResponseComplete","requestURI":"/apis/x.io/v1/namespaces/n/things/t/status?dryRun=All&a=b","verb":"patch","user":{"username":"u"},"userAgent":"pivot-host/1","objectRef":{"resource":"things","namespace":"n","name":"t","apiGroup":"x.io","apiVersion":"v1","subresource":"status"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","requestURI":"/api/v1/namespaces/pivot-host-records/configmaps","verb":"create","user":{"username":"u"},"userAgent":"pivot-host/1","objectRef":{"resource":"configmaps","namespace":"pivot-host-records"},"responseStatus":{"code":201}}
{"stage":"ResponseComplete","requestURI":"/apis/coordination.k8s.io/v1/namespaces/n/leases/l","verb":"update","user":{"username":"u"},"userAgent":"pivot-host/1","objectRef":{"resource":"leases","namespace":"n","name":"l","apiGroup":"coordination.k8s.io"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","requestURI":"/api/v1/namespaces/n/secrets/s","verb":"delete","user":{"username":"u"},"userAgent":"pivot-host/1","objectRef":{"resource":"secrets","namespace":"n","name":"s"},"responseStatus":{"code":200}}
{"stage":"ResponseStarted","requestURI":"/api/v1/secrets?watch=1","verb":"watch","user":{"username":"u"},"userAgent":"pivot-host/1","objectRef":{"resource":"secrets"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","requestURI":"/api/v1/secrets?watch=1","verb":"watch","user":{"username":"u"},"userAgent":"pivot-host/1","objectRef":{"resource":"secrets"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","requestURI":"/apis","verb":"get","user":{"username":"u"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","requestURI":"/version?lab-barrier=1-2","verb":"get","user":{"username":"u"},"responseStatus":{"code":200}}
"#;

    #[test]
    fn requests_are_told_apart_by_what_they_cost() {
        let audit = Audit::parse(LOG).unwrap();
        assert_eq!(audit.tally(), Tally { mutating: 1, dry_run: 1, lease: 1, record: 1, read: 2 });
        let own = audit.of("pivot-host");
        assert_eq!(own.requests.len(), 5);
        assert_eq!(own.requests[0].resource, "things.x.io/status");
        let key =
            |verb: &str, resource: &str| ("pivot-host/1".to_owned(), verb.to_owned(), resource.to_owned());
        assert_eq!(own.counts().get(&key("patch", "things.x.io/status")), None);
        assert_eq!(own.counts()[&key("delete", "secrets")], 1);
        assert_eq!(audit.only(|request| request.resource == "/apis").requests.len(), 1);
    }

    /// Patches, each with the seconds of its arrival and its answer.
    fn patches(all: &[(u32, u32, Value)]) -> Audit {
        let line = |(arrived, answered, body): &(u32, u32, Value)| {
            let event = json!({
                "stage": "ResponseComplete", "requestURI": "/apis/x.io/v1/namespaces/n/things/t", "verb": "patch", "user": {},
                "responseStatus": {"code": 200}, "requestObject": body,
                "requestReceivedTimestamp": format!("2026-01-01T00:00:{arrived:02}.000000Z"),
                "stageTimestamp": format!("2026-01-01T00:00:{answered:02}.500000Z"),
            });
            event.to_string()
        };
        Audit::parse(&all.iter().map(line).collect::<Vec<_>>().join("\n")).unwrap()
    }

    #[test]
    fn a_window_is_from_the_first_pause_to_the_last_resume() {
        let annotation = |name: &str, value: Value| json!({"metadata": {"annotations": {name: value}}});
        let source = patches(&[
            (1, 1, annotation("note", json!("x"))),
            (3, 4, annotation("cluster.x-k8s.io/paused", json!(""))),
            (2, 5, json!({"spec": {"paused": true}})),
            (30, 31, json!({"spec": {"paused": false}})),
        ]);
        let target = patches(&[
            (10, 11, json!({"spec": {"paused": null}})),
            (12, 13, annotation("baremetalhost.metal3.io/paused", Value::Null)),
            (40, 41, json!({"metadata": {"finalizers": null}})),
        ]);
        assert_eq!(Audit::pause_window(&source, &target), Some(Duration::from_millis(11_500)));
        assert_eq!(Audit::pause_window(&target, &source), None);
    }
}
