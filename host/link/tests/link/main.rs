//! Links over TCP: with the time that a distance takes, and with certificates.

#[cfg(test)]
mod called;
#[cfg(test)]
mod distance;
#[cfg(test)]
mod papers;
#[cfg(test)]
mod relay;
