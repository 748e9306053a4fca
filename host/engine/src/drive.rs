//! The commands and the order of the phases: run, resume, rollback, status, and the commands that make sense next.

pub(crate) mod advice;
pub(crate) mod after_commit;
pub(crate) mod backup;
pub(crate) mod begin;
pub(crate) mod carry_out;
pub mod describe;
pub mod diagnosis;
pub(crate) mod finish_alone;
pub(crate) mod left_guards;
pub(crate) mod leftover;
pub(crate) mod open;
pub(crate) mod outdated_source;
pub(crate) mod recovery;
pub(crate) mod report;
pub(crate) mod rollback;
pub mod run;
pub(crate) mod sequence;
pub(crate) mod status;
pub(crate) mod stopping;
