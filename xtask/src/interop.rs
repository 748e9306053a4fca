//! What other people's tools make of what is made here, and the other way round: cosign signs and verifies, wkg takes components. A
//! command of its own, because both take minutes to build. A line that cosign signed lies in `host/vetting/samples`, and is read by
//! each run of the tests.

use anyhow::Result;

use crate::executables::{build_test, build_tested_pivot_host};
use crate::shell::must;

/// The test binary.
pub(crate) const TEST: &str = "interop";

/// `cargo xtask interop`
pub(crate) fn run() -> Result<()> {
    let program = build_tested_pivot_host()?;
    must(build_test(TEST)?.env("PIVOT_HOST_BIN", &program))
}
