//! The contract as a package of interface types, for the tools of any language.

use std::path::Path;

use anyhow::{Context, Result};
use wit_parser::Resolve;

/// Encodes the contract in a directory. Returns the name of the package's file, and its bytes.
pub fn encode_contract(wit: &Path) -> Result<(String, Vec<u8>)> {
    let mut resolve = Resolve::default();
    let (id, _) = resolve.push_dir(wit)?;
    let package = &resolve.packages.get(id).context("the contract has no package")?.name;
    let version = package.version.as_ref().context("the contract has no version")?;
    let file = format!("{}-{}-{version}.wasm", package.namespace, package.name);
    Ok((file, wit_component::encode(&resolve, id)?))
}

#[cfg(test)]
mod tests {
    use wit_component::{DecodedWasm, decode};

    use super::*;

    #[test]
    fn contract_is_a_readable_package() {
        let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
        let (file, bytes) = encode_contract(&wit).unwrap();
        assert_eq!(file, "pivot-provider-0.1.0.wasm");
        let DecodedWasm::WitPackage(resolve, id) = decode(&bytes).unwrap() else { panic!("no package") };
        assert_eq!(resolve.packages[id].name.to_string(), "pivot:provider@0.1.0");
        let hooks = ["relate", "check", "hold", "adapt", "restore", "settle"];
        assert!(hooks.iter().all(|hook| resolve.packages[id].interfaces.contains_key(*hook)));
    }
}
