//! Opens 100,000 mutated and 1,000 generated components: the compiler is large, and no plugin may use more of a machine than its
//! budget.

use anyhow::Result;

use crate::executables::build_tested_pivot_host;
use crate::shell::{cargo, must, root, say, target};

const GUESTS: &str = "tests/guests";
/// The small ones: what is opened a hundred thousand times must compile quickly.
const SEEDS: [&str; 4] = ["older", "mute", "rival", "liar"];

pub(crate) fn run(mutated: &str, generated: &str) -> Result<()> {
    say("== Building pivot-host, and the components that are changed");
    let (root, host) = (root()?, build_tested_pivot_host()?);
    let out = target()?.join("fuzz");
    pivot_guests::build_guests(&root.join(GUESTS), &[&root.join("wit")], &out)?;
    let seeds = SEEDS.map(|name| out.join(format!("{name}.wasm")));
    say(&format!("== Opening {mutated} mutated and {generated} generated components"));
    let mut fuzz = cargo(&["run", "--quiet", "--"])?;
    fuzz.current_dir(root.join("tests/fuzz")).env("CARGO_TARGET_DIR", target()?.join("beside"));
    must(fuzz.arg(host).args([mutated, generated]).args(seeds))
}
