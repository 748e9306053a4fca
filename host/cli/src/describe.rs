//! Shows one Cluster with all that belongs to it. Nothing is changed, and there is no move to be careful of: the first signal ends it.

use std::sync::Arc;

use jiff::Timestamp;
use pivot_core::Both;
use pivot_core::describe::build_tree;
use pivot_engine::Exit;
use pivot_engine::describe::{WantedCluster, describe_cluster};

use crate::args::{DescribeArgs, Within};
use crate::output::{
    self, Advice, AlreadyShown, DescribeDocument, ErrorDocument, Output, PlanUse, Progress, Text,
};
use crate::workload::kubectl_flags;
use crate::{ends, exit};

const UNTOUCHED: &str = "this command changes nothing";

/// Shows it, and returns the exit code.
pub(crate) async fn run(description: &DescribeArgs, output: &Arc<Output>) -> u8 {
    let DescribeArgs { end, within, name, view } = description;
    let as_document = output.settings().format.is_document();
    let (place, of_context) = match ends::open_single_end(end).await {
        Ok(opened) => opened,
        Err(error) => {
            let message = Text::from(error.to_string());
            if as_document {
                output.result(
                    &ErrorDocument::outside_engine(Exit::Refused, &message, UNTOUCHED, Vec::new()),
                    Text::default,
                );
            }
            output.fail(message);
            return exit::exit_code(Exit::Refused);
        }
    };
    let namespace = match within {
        Within::Namespace(namespace) => Some(namespace.clone()),
        Within::OfContext => Some(of_context.unwrap_or_else(|| "default".to_owned())),
        Within::Any => None,
    };
    let flags = kubectl_flags(place.context());
    let wanted = WantedCluster { namespace, name: name.clone(), resource_sets: view.resource_sets };
    let progress = Progress::new(output.clone(), (place.label(), ""), PlanUse::Hidden);
    let described = describe_cluster(place.clone(), &wanted, progress.clone()).await;
    progress.end();
    match described {
        Ok(described) => {
            let (tree, now) = (build_tree(&described, view), Timestamp::now());
            let document = DescribeDocument::new(place.label(), &tree, now);
            output.result(&document, || output::tree_text(&tree, now));
            if !tree.unmatched.is_empty() {
                output.warn(output::no_match_text(&tree.unmatched));
            }
            exit::DONE
        }
        Err(stop) => {
            let advice = Advice::new(&stop, &Both::new(flags, Vec::new()), Vec::new());
            if as_document {
                output.result(&ErrorDocument::stop(&stop, advice.clone()), Text::default);
            }
            output.report_stop(&stop, AlreadyShown::Nothing, &advice);
            exit::exit_code(stop.exit)
        }
    }
}
