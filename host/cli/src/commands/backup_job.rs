//! Prints a CronJob that backs up a cluster, with the permissions that it needs.

use pivot_controller::{BackupInstallation, backup_manifests, backup_user};
use pivot_core::Side;
use pivot_core::request::scope::Namespaces;
use pivot_engine::{Exit, backup_permissions};
use pivot_places::read_regular_file;
use serde_json::{Value, json};

use super::{Command, UNTOUCHED};
use crate::args::BackupJob;
use crate::ends;
use crate::exit;
use crate::output::{self, AlreadyShown, PlanUse, Progress};
use crate::plugins::Loading;

impl Command<'_> {
    pub(crate) async fn backup_job(&self, job: &BackupJob) -> u8 {
        let recipients = match self.read_recipients(job) {
            Ok(recipients) => recipients,
            Err(code) => return code,
        };
        // The job makes later backups, too, which other kinds may concern.
        let plugins = Loading::begin_all(&self.choices.with);
        let opened = match ends::to_read(&self.choices.ends, None).await {
            Ok(opened) => opened,
            Err(error) => return self.not_opened(&error, &plugins).await,
        };
        let options = self.options(&opened);
        let namespaces = match &options.scope.namespaces {
            Namespaces::All => vec!["-A".to_owned()],
            Namespaces::One(name) => vec!["-n".to_owned(), name.clone()],
        };
        let progress = Progress::new(self.output.clone(), opened.labels(), PlanUse::Hidden);
        let result = backup_permissions(self.setup(&opened, options, &progress, &plugins)).await;
        let result = result.map_err(|stop| self.name_kubeconfigs(stop));
        progress.end();
        if let Some(code) = self.plugins_refused(result.as_ref().err(), &plugins).await {
            return code;
        }
        let rights = match result {
            Ok(rights) => rights,
            Err(stop) => return self.report_stop(&stop, AlreadyShown::Nothing, &plugins.disabled_plugins()),
        };
        let BackupJob { image, namespace, schedule, storage, encrypt_to: _, has_plugins, selection } = job;
        let installed = backup_manifests(&BackupInstallation {
            image: image.clone(),
            namespace: namespace.clone(),
            schedule: schedule.clone(),
            storage: storage.clone(),
            recipients,
            has_plugins: *has_plugins,
            arguments: [namespaces, selection.clone()].concat(),
        });
        let roles = output::build_roles(&rights, Side::Source, Some(&backup_user(namespace)));
        let objects: Vec<Value> = installed.into_iter().chain(output::role_objects(roles)).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        if job.encrypt_to.is_none() {
            self.output.warn("without --encrypt-to, the backups have the data of Secrets in plain text");
        }
        self.output.result(&list, || output::manifests_text(&objects));
        exit::DONE
    }

    /// Returns the content of the file with public keys. On failure, returns the exit code.
    fn read_recipients(&self, job: &BackupJob) -> Result<Option<String>, u8> {
        let Some(path) = &job.encrypt_to else { return Ok(None) };
        let read = read_regular_file(path).map_err(|error| error.to_string());
        let text = read.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not text".to_owned()));
        text.map(Some).map_err(|why| {
            let why = format!("--encrypt-to {}: {why}", path.display());
            self.report_failure(Exit::Refused, &why.into(), UNTOUCHED)
        })
    }
}
