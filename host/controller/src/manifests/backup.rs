//! A CronJob that backs its cluster up into a volume. Its permissions depend on what is backed up, and are left out.

use serde_json::{Value, json};

use super::deployment::{restrict_container, restrict_pod, set_field};
use super::{PLUGINS_PATH, namespace_manifest, service_account};

const BACKUP_NAME: &str = "pivot-host-backup";
/// Path of the volume.
const BACKUPS_PATH: &str = "/backups";
/// Path of the ConfigMap with the public keys.
const RECIPIENTS_PATH: &str = "/recipients";
const RECIPIENTS_FILE: &str = "recipients.txt";
/// The variable with the name of the pod's Job. The name ends in the scheduled time in minutes, so each night has another directory. A
/// second pod of the same Job continues in it.
const JOB_NAME: &str = "JOB_NAME";
/// The memory of a backup, which holds the bodies of all objects.
const MEMORY_LIMIT: &str = "1Gi";
/// Pods of one Job after the first one failed.
const RETRIES: u32 = 2;
/// Seconds after which a Job ends. A pod that never starts would keep all later Jobs from starting, and no Job would have failed.
const DEADLINE_SECONDS: u32 = 6 * 60 * 60;

/// Settings of an installation of backups.
#[derive(Clone, Debug)]
pub struct BackupInstallation {
    /// The image.
    pub image: String,
    /// Namespace of the CronJob.
    pub namespace: String,
    /// Schedule of the CronJob, in UTC unless it names another zone.
    pub schedule: String,
    /// Size of the volume, as a quantity.
    pub storage: String,
    /// Public keys to which the backups are encrypted, as in their file. None: the backups have Secrets in plain text.
    pub recipients: Option<String>,
    /// True if the plugins of the image take part.
    pub has_plugins: bool,
    /// Arguments with the selection of objects and the accepted risks.
    pub arguments: Vec<String>,
}

/// Returns the user name of the account that makes the backups.
pub fn backup_user(namespace: &str) -> String {
    format!("system:serviceaccount:{namespace}:{BACKUP_NAME}")
}

/// Returns the objects of an installation of backups, in the order in which they are applied.
pub fn backup_manifests(installation: &BackupInstallation) -> Vec<Value> {
    let BackupInstallation { namespace, storage, recipients, .. } = installation;
    let metadata = json!({"name": BACKUP_NAME, "namespace": namespace});
    let keys = recipients.as_ref().map(|keys| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {RECIPIENTS_FILE: keys}})
    });
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata,
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}},
    });
    let before = [namespace_manifest(namespace), service_account(BACKUP_NAME, namespace)];
    before.into_iter().chain(keys).chain([claim, cron_job(installation)]).collect()
}

fn cron_job(installation: &BackupInstallation) -> Value {
    let BackupInstallation { image, namespace, schedule, recipients, has_plugins, arguments, .. } =
        installation;
    let labels = json!({"app.kubernetes.io/name": BACKUP_NAME});
    let pair = |flag: &str, value: String| [flag.to_owned(), value];
    let keys =
        recipients.as_ref().map(|_| pair("--encrypt-to", format!("{RECIPIENTS_PATH}/{RECIPIENTS_FILE}")));
    let plugins = has_plugins.then(|| pair("--plugins", PLUGINS_PATH.to_owned()));
    let args: Vec<String> = pair("backup", format!("{BACKUPS_PATH}/$({JOB_NAME})"))
        .into_iter()
        .chain(arguments.iter().cloned())
        .chain(keys.into_iter().chain(plugins).flatten())
        .collect();
    let field = "metadata.labels['batch.kubernetes.io/job-name']";
    let mut container = json!({
        "name": BACKUP_NAME, "image": image, "args": args,
        "env": [{"name": JOB_NAME, "valueFrom": {"fieldRef": {"fieldPath": field}}}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": MEMORY_LIMIT}},
    });
    let mut volumes = vec![json!({"name": "backups", "persistentVolumeClaim": {"claimName": BACKUP_NAME}})];
    let mut mounts = vec![json!({"name": "backups", "mountPath": BACKUPS_PATH})];
    if recipients.is_some() {
        volumes.push(json!({"name": "recipients", "configMap": {"name": BACKUP_NAME}}));
        mounts.push(json!({"name": "recipients", "mountPath": RECIPIENTS_PATH, "readOnly": true}));
    }
    set_field(&mut container, "volumeMounts", mounts.into());
    restrict_container(&mut container);
    let mut pod = json!({"serviceAccountName": BACKUP_NAME, "restartPolicy": "Never", "volumes": volumes});
    restrict_pod(&mut pod);
    set_field(&mut pod, "containers", json!([container]));
    json!({
        "apiVersion": "batch/v1", "kind": "CronJob",
        "metadata": {"name": BACKUP_NAME, "namespace": namespace, "labels": labels},
        "spec": {
            "schedule": schedule, "concurrencyPolicy": "Forbid",
            "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 3,
            "jobTemplate": {"spec": {
                "backoffLimit": RETRIES, "activeDeadlineSeconds": DEADLINE_SECONDS,
                "template": {"metadata": {"labels": labels}, "spec": pod},
            }},
        },
    })
}
