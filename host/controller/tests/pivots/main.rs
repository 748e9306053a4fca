//! Pivots from beginning to end, in memory: controllers that die, Pivots that are deleted, clusters that don't answer.

#[cfg(test)]
mod budget;
#[cfg(test)]
mod deaths;
#[cfg(test)]
mod distant;
#[cfg(test)]
mod lies;
#[cfg(test)]
mod life;
#[cfg(test)]
mod plugins;
#[cfg(test)]
mod restored;
#[cfg(test)]
mod returned;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod suspended;
#[cfg(test)]
mod tenants;
