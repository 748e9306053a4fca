//! Turns a core module into a component that imports the contract and no WASI.
//!
//! Compilers without a component model, such as Go's, make core modules that import `wasi_snapshot_preview1`. The adapter
//! (`adapter.wat`) answers those imports inside the component. Unlike the standard adapter, its clock never leaves the component,
//! which the component model forbids while Go's garbage collector asks for the time.

use std::collections::BTreeSet;
use std::path::Path;

use thiserror::Error;
use wasmparser::{BinaryReaderError, Encoding, Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, WorldId};

const CONTRACT: &str = include_str!("../../../wit/provider.wit");
const ADAPTER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/adapter.wasm"));
const ADAPTED_MODULE: &str = "wasi_snapshot_preview1";
/// Version of the contract, as names of exports end with it.
const VERSION: &str = "0.1.0";

/// A reason for which a file can't become a component.
#[derive(Debug, Error)]
pub enum ComponentizeError {
    /// The file has another format, or is broken.
    #[error("it is not a valid WebAssembly module: {0}")]
    NotAModule(#[from] BinaryReaderError),
    /// The module exports no function of the contract.
    #[error(
        "it exports nothing of the contract pivot:provider@{VERSION}. Build it with bindings of the contract, or pass the WIT \
         of its world with --wit"
    )]
    NoPlugin,
    /// The module exports an interface that the contract doesn't have.
    #[error("it exports {0}, which the contract pivot:provider@{VERSION} does not have")]
    UnknownInterface(String),
    /// The WIT has a mistake, or lacks the world.
    #[error("the WIT of its world can't be used: {0}")]
    World(String),
    /// The module lacks what the world requires, or imports what neither the world nor the adapter has.
    #[error("it does not fit its world: {0}")]
    Mismatch(String),
}

/// The WIT of a world, and the name of the world if there are several.
#[derive(Clone, Copy, Debug)]
pub struct WorldSource<'a> {
    /// A WIT file, or a directory of them.
    pub wit: &'a Path,
    /// Name of the world.
    pub world: Option<&'a str>,
}

/// Returns the component of a core module. Returns a component unchanged. Without a source of the world, the world is the one in
/// the module, or the contract's imports with the hooks that the module exports.
pub fn componentize(bytes: &[u8], source: Option<WorldSource<'_>>) -> Result<Vec<u8>, ComponentizeError> {
    let Some(module) = read_module(bytes)? else { return Ok(bytes.to_vec()) };
    let mut with_world = bytes.to_vec();
    if let Some(WorldSource { wit, world }) = source {
        let mut resolve = Resolve::default();
        let package = resolve.push_path(wit).map_err(world_error)?.0;
        let world = resolve.select_world(&[package], world).map_err(world_error)?;
        embed_world(&mut with_world, &resolve, world)?;
    } else if !module.has_world {
        let contract = parse_contract()?;
        let known: BTreeSet<String> =
            contract.interfaces.iter().filter_map(|(id, _)| contract.id_of(id)).collect();
        if let Some(unknown) = module.exports.difference(&known).next() {
            return Err(ComponentizeError::UnknownInterface(unknown.clone()));
        }
        let exports: Vec<String> = module.exports.iter().map(|name| format!("export {name};")).collect();
        let items = format!("include pivot:provider/plugin@{VERSION}; {}", exports.concat());
        embed_contract(&mut with_world, "module", &items)?;
    }
    let mut adapter = ADAPTER.to_vec();
    embed_contract(&mut adapter, "adapter", &format!("import pivot:provider/log@{VERSION};"))?;
    let encoder =
        ComponentEncoder::default().module(&with_world).and_then(|it| it.adapter(ADAPTED_MODULE, &adapter));
    let component = encoder.and_then(|encoder| encoder.validate(true).encode());
    component.map_err(|error| ComponentizeError::Mismatch(format!("{error:#}")))
}

/// The parts of a core module that choose its world.
#[derive(Default)]
struct Module {
    /// Exported interfaces of the contract.
    exports: BTreeSet<String>,
    /// Whether the module contains the description of its world.
    has_world: bool,
}

/// Reads a module, or returns none for a component.
fn read_module(bytes: &[u8]) -> Result<Option<Module>, ComponentizeError> {
    let mut module = Module::default();
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::Version { encoding: Encoding::Component, .. } => return Ok(None),
            Payload::CustomSection(section) if section.name().starts_with("component-type") => {
                module.has_world = true;
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let interface = export?.name.split_once('#').map(|(interface, _)| interface);
                    // Functions that free an answer are `cabi_post_` and the function's name.
                    let interface = interface.filter(|name| name.starts_with("pivot:provider/"));
                    module.exports.extend(interface.map(str::to_owned));
                }
            }
            _ => {}
        }
    }
    if module.exports.is_empty() {
        return Err(ComponentizeError::NoPlugin);
    }
    Ok(Some(module))
}

/// Embeds a world of items of the contract, under a name that no other world in the component has.
fn embed_contract(module: &mut Vec<u8>, name: &str, items: &str) -> Result<(), ComponentizeError> {
    let mut resolve = parse_contract()?;
    let text = format!("package pivot:{name}; world {name} {{ {items} }}");
    let package = resolve.push_str("world.wit", &text).map_err(world_error)?;
    let world = resolve.select_world(&[package], None).map_err(world_error)?;
    embed_world(module, &resolve, world)
}

fn parse_contract() -> Result<Resolve, ComponentizeError> {
    let mut resolve = Resolve::default();
    resolve.push_str("provider.wit", CONTRACT).map_err(world_error)?;
    Ok(resolve)
}

fn embed_world(module: &mut Vec<u8>, resolve: &Resolve, world: WorldId) -> Result<(), ComponentizeError> {
    embed_component_metadata(module, resolve, world, StringEncoding::UTF8).map_err(world_error)
}

fn world_error(error: impl std::fmt::Display) -> ComponentizeError {
    ComponentizeError::World(format!("{error:#}"))
}

#[cfg(test)]
mod tests;
