//! A count with a limit.

use crate::error::Refused;

/// A count, and its limit.
#[derive(Debug)]
pub(super) struct Count {
    pub(super) what: &'static str,
    pub(super) is: u64,
    pub(super) most: u64,
}

impl Count {
    pub(super) const fn new(what: &'static str, most: u64) -> Self {
        Self { what, is: 0, most }
    }

    pub(super) fn add(&mut self, more: impl TryInto<u64>) -> Result<(), Refused> {
        self.is = self.is.saturating_add(more.try_into().unwrap_or(u64::MAX));
        self.check_limit()
    }

    pub(super) fn check_limit(&self) -> Result<(), Refused> {
        let Self { what, is, most } = *self;
        if is > most { Err(Refused::TooMany { what, most }) } else { Ok(()) }
    }
}
