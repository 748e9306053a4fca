//! Hostile files and servers, tried with the program as users run it.
//!
//! A family is a cause: what a file of one sort can do to whoever opens it. Each case says what is fed, how the run must end,
//! and what it may take: time, memory, and bytes of what it says. All are held against the same rules of output (`judge.rs`).
//! There is one case for each way in which a parser refuses or could be overwhelmed. Which values it refuses is tested beside the
//! parser, and that nothing of other people's text begins a line or drives a terminal in `words.rs`.
//! What came of each is in `hostile/FAMILY.tsv` below cargo's directory for temporary files; the path is printed with
//! `--nocapture`. `CASE=WORDS` runs only the cases whose name has those words.

#[cfg(test)]
mod case;
#[cfg(test)]
mod components;
#[cfg(test)]
mod credentials;
#[cfg(test)]
mod directories;
#[cfg(test)]
mod judge;
#[cfg(test)]
mod kubeconfigs;
#[cfg(test)]
mod manifests;
#[cfg(test)]
mod opened;
#[cfg(test)]
mod records;
#[cfg(test)]
mod server;
#[cfg(test)]
mod table;
#[cfg(test)]
mod texts;
#[cfg(test)]
mod trust;
#[cfg(test)]
mod workload;
