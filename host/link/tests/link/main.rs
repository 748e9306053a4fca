//! Links over TCP, with the time that a distance takes.

#[cfg(test)]
mod distance;
#[cfg(test)]
mod relay;
