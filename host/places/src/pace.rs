//! The slowest pace of an answer.

use std::time::Duration;

use tokio::time::Instant;

use crate::place::PlaceError;

/// Time that an answer may take, whatever its size.
const PATIENCE: Duration = Duration::from_secs(120);
/// Bytes a second that it has to bring beyond that.
const BYTES_PER_SECOND: u64 = 16 << 10;

/// The pace of an answer. A server that sends a byte now and then is never silent, and never ends: whoever waits for it would be held
/// for as long as it likes.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    began: Instant,
    patience: Duration,
}

impl Pace {
    /// Begins now.
    pub fn begin() -> Self {
        Self { began: Instant::now(), patience: PATIENCE }
    }

    /// Begins an answer that several requests bring.
    pub(crate) fn begin_many() -> Self {
        Self { patience: PATIENCE * 5, ..Self::begin() }
    }

    /// Checks the pace after so many bytes.
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
