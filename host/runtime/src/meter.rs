//! The meter that enforces the limits of one call.

use wasmtime::ResourceLimiter;

use pivot_vetting::permissions::Limits;

/// Most module instances of a component. Components of interpreted languages are linked from dozens of modules (Python: 38).
pub(crate) const INSTANCES: usize = 200;

/// A limit that was reached. It traps the call that reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Exceeded {
    #[error("it needs {wanted} bytes of memory; its limit is {limit} (limits.memory)")]
    Memory { wanted: usize, limit: usize },
    #[error("it needs tables of {wanted} elements; its limit is {limit} (limits.table-elements)")]
    Tables { wanted: usize, limit: usize },
    #[error("it asked the host more than {limit} questions in one call (limits.host-calls)")]
    HostCalls { limit: u32 },
}

/// Enforces the limits of one store.
pub(crate) struct Meter {
    limits: Limits,
    memory: usize,
    /// The peak memory.
    pub(crate) peak: usize,
    elements: usize,
    host_calls: u32,
    /// Bytes that the host may still return; none if the limit was exceeded.
    input: Option<usize>,
}

impl Meter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, memory: 0, peak: 0, elements: 0, host_calls: 0, input: Some(limits.input) }
    }

    /// Counts questions to the host.
    pub(crate) fn count_questions(&mut self, questions: usize) -> Result<(), Exceeded> {
        let limit = self.limits.host_calls;
        let questions = u32::try_from(questions).unwrap_or(u32::MAX);
        self.host_calls = self.host_calls.saturating_add(questions);
        if self.host_calls > limit { Err(Exceeded::HostCalls { limit }) } else { Ok(()) }
    }

    /// Counts bytes of answers; false: over the limit.
    pub(crate) fn charge_answer(&mut self, bytes: usize) -> bool {
        self.input = self.input.and_then(|left| left.checked_sub(bytes));
        !self.is_exceeded()
    }

    /// Returns true if the limit was exceeded. Then nothing more is returned.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.input.is_none()
    }
}

/// Growth beyond the limit traps instead of failing: a guest whose allocation fails aborts anyway, with a worse message.
impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let wanted = self.memory.saturating_sub(current).saturating_add(desired);
        let limit = self.limits.memory;
        if wanted > limit {
            return Err(Exceeded::Memory { wanted, limit }.into());
        }
        self.memory = wanted;
        self.peak = self.peak.max(wanted);
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let wanted = self.elements.saturating_sub(current).saturating_add(desired);
        let limit = self.limits.table_elements;
        if wanted > limit {
            return Err(Exceeded::Tables { wanted, limit }.into());
        }
        self.elements = wanted;
        Ok(true)
    }

    fn instances(&self) -> usize {
        INSTANCES
    }

    fn tables(&self) -> usize {
        50
    }

    fn memories(&self) -> usize {
        20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_counted_across_all_memories() {
        let limits = Limits { memory: 100, ..Limits::default() };
        let mut meter = Meter::new(limits);
        assert!(meter.memory_growing(0, 60, None).unwrap());
        assert!(!meter.memory_growing(0, 60, Some(50)).unwrap());
        assert!(meter.memory_growing(0, 30, None).unwrap());
        let error = meter.memory_growing(60, 80, None).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&Exceeded::Memory { wanted: 110, limit: 100 }));
        assert_eq!(meter.peak, 90);
    }
}
