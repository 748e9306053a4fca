//! Decides which Secrets stay, with reasons, and which move although nothing links them to a Cluster.
//!
//! The host already moves the Secrets that a Cluster owns or that are named after it, and reports all others as "not linked with
//! any Cluster". It can't know what those others are for. This plugin explains Secrets that serve the management cluster itself,
//! so that users needn't wonder whether one was forgotten; and it lets an operator override both.
//!
//! A plugin's "leave" outweighs everything, also another plugin's "need" (credentials of a host that no controller has adopted
//! yet look like any other Secret). So this plugin never leaves a Secret merely because nothing is known about it, nor one that
//! shows any sign of use.

mod operator;
mod rules;
#[cfg(test)]
mod tests;

use pivot_sdk::prelude::*;

pub use operator::{Leave, Secrets, Take};
pub use rules::Rule;

const SECRET: Kind = Kind::core("Secret");

impl Plugin for Secrets {
    fn about() -> About {
        pivot_sdk::about!().sees(SECRET)
    }

    fn configure() -> Result<Self> {
        let this: Self = config::get()?;
        this.validate()?;
        Ok(this)
    }

    /// The operator's entries come first: Secrets they leave stay, those they take move, and the rules apply only to the rest.
    fn relate(&self, secret: &Object) -> Result<Vec<Relation>> {
        if let Some(leave) = self.leave.iter().find(|leave| leave.matches(secret)) {
            return Ok(vec![Relation::leave(leave.reason())]);
        }
        for (index, take) in self.take.iter().enumerate() {
            if take.matches(secret) {
                return Ok(vec![Relation::link(take.cluster_of(index, secret)?)]);
            }
        }
        if rules::has_signs_of_use(secret) {
            return Ok(Vec::new());
        }
        let why = self.rules.iter().find_map(|rule| rule.reason_to_leave(secret));
        Ok(why
            .map(|why| Relation::leave(format!("not linked with any Cluster: {why}")))
            .into_iter()
            .collect())
    }
}

pivot_sdk::export!(Secrets, hooks = [relate], schema = include_bytes!("options.json"));
