//! By the harness: every rule, as the host would ask.

mod configuration;
mod rules;
