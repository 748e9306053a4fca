//! A Cluster to show: which, where, and how much of it.

use pivot_core::describe::{Filter, View};
use pivot_core::request::validate::find_name_error;

use super::between::{SourceEnd, source_end};
use super::flags::{ConnectionArgs, DescribeCluster, FromCluster};
use super::usage::{Result, usage};
use super::workload::Within;

/// A Cluster to show.
#[derive(Clone, Debug)]
pub(crate) struct DescribeArgs {
    pub(crate) end: SourceEnd,
    pub(crate) within: Within,
    pub(crate) name: String,
    pub(crate) view: View,
}

pub(super) fn description(typed: DescribeCluster) -> Result<DescribeArgs> {
    let DescribeCluster {
        cluster,
        kubeconfig,
        kubeconfig_context,
        namespace,
        from_directory,
        identity,
        as_user,
        as_group,
        show_conditions,
        show_machinesets,
        show_resourcesets,
        show_templates,
        echo,
        grouping,
        // Read before the rest, as all flags of output are.
        color: _,
    } = typed;
    let from = FromCluster { kubeconfig, kubeconfig_context, as_user, as_group, ..FromCluster::default() };
    let connection = ConnectionArgs { from, from_directory, identity, ..ConnectionArgs::default() };
    let end = source_end(&connection, None)?;
    let (of_name, name) = match cluster.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, cluster.as_str()),
    };
    if let Some(odd) = of_name.and_then(find_name_error).or_else(|| find_name_error(name)) {
        return usage(format!("{cluster:?}: {odd}; write NAME or NAMESPACE/NAME"));
    }
    let within = match (of_name, namespace) {
        (Some(typed), Some(other)) if typed != other => {
            return usage(format!("{cluster} is not in namespace {other}; leave out one of the two"));
        }
        (Some(namespace), _) => Within::Namespace(namespace.to_owned()),
        (None, Some(namespace)) => Within::Namespace(namespace),
        // A directory has no context.
        (None, None) if matches!(end, SourceEnd::Directory(_)) => Within::Any,
        (None, None) => Within::OfContext,
    };
    let typed = show_conditions.iter().filter(|typed| !typed.is_empty());
    let filters = typed.map(|typed| match Filter::parse(typed) {
        Some(filter) => Ok(filter),
        None => usage(format!(
            "--show-conditions {typed:?}: write Kind, Kind/name or all, without spaces, with a + at the end for only those that need attention"
        )),
    });
    let view = View {
        conditions: filters.collect::<Result<_>>()?,
        machine_sets: show_machinesets,
        resource_sets: show_resourcesets,
        templates: show_templates,
        echo,
        grouping,
    };
    Ok(DescribeArgs { end, within, name: name.to_owned(), view })
}
