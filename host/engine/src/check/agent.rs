//! Checks that the target's agent can finish the move alone, if the move asks for that.
//!
//! Only the agent's own statement counts, and no other decision depends on it. An agent that lies only fails to finish its own
//! move.

use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;

use crate::base::job::Job;

/// Refuses a move that the target's agent can't finish alone, because it finishes none or has other plugins than this run. A target
/// without an agent passes: a person finishes the move there.
pub(crate) fn refuse_unable_agent(job: &Job) -> Option<Refusal> {
    let agent = job.target.place.agent()?;
    let own = job.plugin_set();
    let refusal = match agent.finishes_with {
        Some(plugins) if plugins.matches(&own) => return None,
        Some(plugins) => {
            let differences = plugins.describe_differences(&own);
            let message = format!(
                "the agent's plugins differ from the plugins of this move, so that it can't finish the move alone: {differences}"
            );
            Refusal::target("agent-plugins-differ", message, Remedy::StartFinishingAgent)
        }
        None => {
            let message =
                "the agent doesn't finish moves alone, as this one asks for, or is too old to say so";
            Refusal::target("agent-cannot-finish", message, Remedy::StartFinishingAgent)
        }
    };
    Some(refusal.with_remedy(Remedy::WaitForLink))
}
