//! What cosign signs, and what it verifies, without a network: a command of its own, because cosign takes minutes to build. A line
//! that it signed lies in `host/signatures/samples`, and is read by each run of the tests.

use anyhow::Result;

use crate::shell::{built_test, must, tested_pivot_host};

/// The test binary.
pub(crate) const TEST: &str = "cosign";

/// `cargo xtask cosign`
pub(crate) fn run() -> Result<()> {
    let program = tested_pivot_host()?;
    must(built_test(TEST)?.env("PIVOT_HOST_BIN", &program))
}
