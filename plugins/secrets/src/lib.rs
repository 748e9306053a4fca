//! Which Secrets stay behind, and why; and which go along though nothing says that they belong to a Cluster.
//!
//! The host already moves the Secrets that a Cluster owns or that are named after it, and says of all others that they are
//! "not linked with any Cluster". What it can't know is what those others are for. This plugin says it of Secrets that serve
//! the management cluster itself, so that nobody has to wonder whether one was forgotten; and it lets an operator overrule
//! both.
//!
//! A plugin's "leave" outweighs everything, also another plugin's "need" (credentials of a host that no controller adopted yet
//! look like any other Secret). So nothing is left here only because nothing is known about it, and nothing is that shows
//! any sign of use.

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
        this.make_sense()?;
        Ok(this)
    }

    /// The operator's words first: what they leave stays, what they take goes, and only then do the rules count.
    fn relate(&self, secret: &Object) -> Result<Vec<Relation>> {
        if let Some(leave) = self.leave.iter().find(|leave| leave.means(secret)) {
            return Ok(vec![Relation::leave(leave.reason())]);
        }
        for (index, take) in self.take.iter().enumerate() {
            if take.means(secret) {
                return Ok(vec![Relation::link(take.cluster_of(index, secret)?)]);
            }
        }
        if rules::shows_use(secret) {
            return Ok(Vec::new());
        }
        let why = self.rules.iter().find_map(|rule| rule.reason(secret));
        Ok(why
            .map(|why| Relation::leave(format!("not linked with any Cluster: {why}")))
            .into_iter()
            .collect())
    }
}

pivot_sdk::export!(Secrets, hooks = [relate]);
