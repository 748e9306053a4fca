//! Every check that can refuse, before the first change and after it.

pub(crate) mod active_in_both;
pub(crate) mod agent;
pub(crate) mod approved;
pub(crate) mod awaited_signs;
pub(crate) mod before_pause;
pub(crate) mod blocking_owners;
pub(crate) mod converted_kinds;
pub(crate) mod dangling;
pub(crate) mod diagnosis;
pub(crate) mod drain_rules;
pub(crate) mod dry_run;
pub(crate) mod evidence;
pub(crate) mod existing;
pub(crate) mod extensions;
pub(crate) mod fitting_plugins;
pub(crate) mod from_manifests;
pub(crate) mod gitops;
pub(crate) mod guard;
pub(crate) mod new_dependents;
pub(crate) mod one_sided;
pub(crate) mod permissions;
pub(crate) mod restored_clusters;
pub(crate) mod same_cluster;
pub(crate) mod target_providers;
pub(crate) mod undone_moves;
pub(crate) mod unfinished_work;
