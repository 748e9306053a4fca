//! The slowest pace of an answer.

use std::time::Duration;

use tokio::time::Instant;

use crate::place::PlaceError;

/// Time that an answer may take, whatever its size.
const PATIENCE: Duration = Duration::from_secs(120);
/// Least bytes a second beyond that time.
const BYTES_PER_SECOND: u64 = 16 << 10;

/// The pace of an answer. A server that sends a byte now and then is never silent, and never ends, so a client would wait for as
/// long as the server likes.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    began: Instant,
    patience: Duration,
}

impl Pace {
    /// Begins an answer now.
    pub fn begin() -> Self {
        Self { began: Instant::now(), patience: PATIENCE }
    }

    /// Begins an answer that several requests bring.
    pub(crate) fn begin_many() -> Self {
        Self { patience: PATIENCE * 5, ..Self::begin() }
    }

    /// Checks the pace after this many bytes.
    ///
    /// # Errors
    /// If they took too long.
    pub fn check(&self, bytes: u64, about: &str) -> Result<(), PlaceError> {
        let took = self.began.elapsed();
        if took <= self.patience + Duration::from_secs(bytes / BYTES_PER_SECOND) {
            return Ok(());
        }
        Err(PlaceError::Unavailable(format!("{about}: {bytes} bytes in {} seconds", took.as_secs())))
    }
}
