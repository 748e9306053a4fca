//! Luck that can be had again: what the dice say depends on the seed and on what they are asked about, never on how often
//! or in which order something else was asked before.

/// Dice of one seed, or of one subject below it.
#[derive(Clone, Copy, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The dice of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(mixed(seed))
    }

    /// Dice for one subject.
    #[must_use]
    pub fn about(self, subject: &str) -> Self {
        // FNV-1a: the same in each release of the compiler.
        let hash = subject.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(mixed(self.0 ^ hash))
    }

    /// A number below this one.
    #[must_use]
    pub fn below(self, limit: u64) -> u64 {
        self.0 % limit
    }

    /// True in so many of a hundred subjects.
    #[must_use]
    pub fn percent(self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of these. There must be one.
    ///
    /// # Panics
    /// Where there is none.
    #[must_use]
    pub fn pick<T: Copy>(self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap_or(0)]
    }
}

/// The finalizer of splitmix64.
fn mixed(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
