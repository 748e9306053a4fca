//! What a cluster that manages itself is protected from. The doc comments are the help texts.

use clap::{ArgAction, Args};
use pivot_core::request::validate::find_name_error;

/// Which objects, and from whom.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub(crate) struct Protection {
    /// The namespace of the objects that describe the cluster
    #[arg(short, long, value_name = "NAME", value_parser = name)]
    pub(crate) namespace: String,
    /// Leave out what belongs to other Clusters of the namespace than this one; can be repeated
    #[arg(long, value_name = "NAME", action = ArgAction::Append, value_parser = name)]
    pub(crate) cluster: Vec<String>,
    /// Let this user delete too, such as Cluster API's manager if it isn't in capi-system; can be repeated
    ///
    /// A service account is system:serviceaccount:NAMESPACE:NAME.
    #[arg(long, value_name = "USER", action = ArgAction::Append)]
    pub(crate) allow_user: Vec<String>,
}

fn name(typed: &str) -> Result<String, String> {
    find_name_error(typed).map_or_else(|| Ok(typed.to_owned()), Err)
}
