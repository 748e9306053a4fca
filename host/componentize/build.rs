//! Assembles the adapter.

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=src/adapter.wat");
    let module = wat::parse_file("src/adapter.wat").map_err(io::Error::other)?;
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("adapter.wasm"), module)
}
