//! Whole moves between two servers in memory: every failure a real server can have, at every request.

#[cfg(test)]
mod adapted;
#[cfg(test)]
mod added;
#[cfg(test)]
mod added_beside_others;
#[cfg(test)]
mod approved;
#[cfg(test)]
mod asked;
#[cfg(test)]
mod backup;
#[cfg(test)]
mod behind;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod carried;
#[cfg(test)]
mod changed_source;
#[cfg(test)]
mod clusters;
#[cfg(test)]
mod committed;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod dangling;
#[cfg(test)]
mod deleted_last;
#[cfg(test)]
mod described;
#[cfg(test)]
mod diagnosis;
#[cfg(test)]
mod directories;
#[cfg(test)]
mod drain_rules;
#[cfg(test)]
mod events;
#[cfg(test)]
mod evidence;
#[cfg(test)]
mod extensions;
#[cfg(test)]
mod fence;
#[cfg(test)]
mod finishing;
#[cfg(test)]
mod fitting_plugins;
#[cfg(test)]
mod forged;
#[cfg(test)]
mod forgotten;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod generated;
#[cfg(test)]
mod gitops;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod handover;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod importing;
#[cfg(test)]
mod imports;
#[cfg(test)]
mod leftover;
#[cfg(test)]
mod linked;
#[cfg(test)]
mod loading;
#[cfg(test)]
mod locked;
#[cfg(test)]
mod lost_workers;
#[cfg(test)]
mod lying;
#[cfg(test)]
mod many;
#[cfg(test)]
mod mapped;
#[cfg(test)]
mod modelled;
#[cfg(test)]
mod namespaces;
#[cfg(test)]
mod outdated;
#[cfg(test)]
mod parked;
#[cfg(test)]
mod parts;
#[cfg(test)]
mod plugins;
#[cfg(test)]
mod provider_deployments;
#[cfg(test)]
mod reaching;
#[cfg(test)]
mod record_namespace;
#[cfg(test)]
mod recovered;
#[cfg(test)]
mod recovered_machines;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod replaced;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod restored;
#[cfg(test)]
mod restores;
#[cfg(test)]
mod rolled_back;
#[cfg(test)]
mod round_trips;
#[cfg(test)]
mod run;
#[cfg(test)]
mod scale;
#[cfg(test)]
mod secret_watcher;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod seeds;
#[cfg(test)]
mod settling;
#[cfg(test)]
mod signs;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod stale_backup;
#[cfg(test)]
mod summaries;
#[cfg(test)]
mod taken_over;
#[cfg(test)]
mod target_checks;
#[cfg(test)]
mod trouble;
#[cfg(test)]
mod unmarked;
#[cfg(test)]
mod unneeded;
#[cfg(test)]
mod unruly;
#[cfg(test)]
mod upgrades;
#[cfg(test)]
mod weaknesses;
mod webhooks;
#[cfg(test)]
mod whole;
