//! Components that nobody vetted, opened by the program as users run it: refused in seconds, or compiled within limits.

#[cfg(test)]
mod bench;
#[cfg(test)]
mod bundled;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod host;
#[cfg(test)]
mod museum;
#[cfg(test)]
mod mutated;
#[cfg(test)]
mod options;
#[cfg(test)]
mod rehearsals;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod restores;
#[cfg(test)]
mod scenes;
#[cfg(test)]
#[path = "../schemas/mod.rs"]
mod schemas;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod site;
#[cfg(test)]
mod trials;
