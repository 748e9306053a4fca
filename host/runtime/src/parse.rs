//! Inspects a file before anything in it is compiled.
//!
//! The compiler is large; a file that is not a component, is broken, or wants what no plugin gets never reaches it. The names of
//! imports and exports are read here, from the binary.

mod code;
mod count;
mod counts;
#[cfg(test)]
mod hostile;
mod nested;
mod unfolded;

use pivot_bounds::options::{SECTION, Schema};
use wasmparser::{BinaryReaderError, Encoding, Parser, Payload, Validator, WasmFeatures};

use crate::contract;
use crate::error::Refused;
use crate::inert;
use crate::interface::InterfaceName;
use crate::text;
use unfolded::Unfolded;

pub(crate) use counts::CompileWork;

/// The declarations in a component's binary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BinaryDeclarations {
    /// Interfaces of the contract it imports, without version: `objects`, `log`.
    pub(crate) imports: Vec<String>,
    /// WASI interfaces it imports, served without authority.
    pub(crate) inert: Vec<String>,
    /// Interfaces of the contract it exports, without version.
    pub(crate) exports: Vec<String>,
    /// Schema of its configuration, if it declares one.
    pub(crate) schema: Option<Schema>,
}

/// Fails if a file is not a component, or is larger in some respect than any plugin. Costs no more than reading it.
pub(crate) fn count(bytes: &[u8]) -> Result<CompileWork, Refused> {
    kind(bytes)?;
    counts::count_contents(bytes)
}

/// Reads a binary, and refuses one that can't be a plugin. The validator's memory is not bounded: only for files that passed
/// their trial.
pub(crate) fn inspect_component(bytes: &[u8]) -> Result<BinaryDeclarations, Refused> {
    kind(bytes)?;
    // The same features as in the engine: what it would refuse is refused here, with an offset.
    let mut validator = Validator::new_with_features(features());
    validator.validate_all(bytes)?;
    let mut names = Names::default();
    let mut unfolded = Unfolded::default();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        unfolded.count_payload(&payload)?;
        match payload {
            Payload::ComponentImportSection(section) if unfolded.is_outermost() => {
                for import in section {
                    names.imports.push(import?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if unfolded.is_outermost() => {
                for export in section {
                    names.exports.push(export?.name.name.to_owned());
                }
            }
            // Compilers and linkers leave it in a core module of the component.
            Payload::CustomSection(section) if section.name() == SECTION => {
                names.schemas.push(section.data().to_vec());
            }
            _ => {}
        }
    }
    names.sort_out()
}

fn features() -> WasmFeatures {
    WasmFeatures::default() | WasmFeatures::COMPONENT_MODEL
}

/// The output of `wasm32-unknown-unknown`, and of compilers without a component model.
const CORE_MODULE: &str = "a core module (`pivot-host plugin componentize` makes a component of it; in Rust, build with \
                           `--target wasm32-wasip2`)";

impl From<BinaryReaderError> for Refused {
    fn from(error: BinaryReaderError) -> Self {
        Self::Malformed(error.to_string())
    }
}

/// Checks the file type by its first bytes.
fn kind(bytes: &[u8]) -> Result<(), Refused> {
    if wasmtime::Engine::detect_precompiled(bytes).is_some() || bytes.starts_with(b"\x7fELF") {
        return Err(Refused::NotAComponent("compiled native code"));
    }
    if bytes.is_empty() {
        return Err(Refused::NotAComponent("empty"));
    }
    if !bytes.starts_with(b"\0asm") {
        let text = bytes.iter().take(512).all(|b| matches!(b, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..));
        return Err(Refused::NotAComponent(if text { "text" } else { "no WebAssembly" }));
    }
    match Parser::new(0).parse_all(bytes).next() {
        Some(Ok(Payload::Version { encoding: Encoding::Component, .. })) => Ok(()),
        Some(Ok(Payload::Version { encoding: Encoding::Module, .. })) => {
            Err(Refused::NotAComponent(CORE_MODULE))
        }
        Some(Err(error)) => Err(error.into()),
        _ => Err(Refused::NotAComponent("no WebAssembly")),
    }
}

#[derive(Default)]
struct Names {
    imports: Vec<String>,
    exports: Vec<String>,
    schemas: Vec<Vec<u8>>,
}

impl Names {
    fn sort_out(self) -> Result<BinaryDeclarations, Refused> {
        let mut seen = BinaryDeclarations::default();
        let mut foreign = Vec::new();
        for import in self.imports {
            match InterfaceName::parse(&import) {
                Some(i) if i.package == contract::PACKAGE => {
                    i.check_line()?;
                    seen.imports.push(i.name.to_owned());
                }
                Some(i) if inert::is_served(&i) => seen.inert.push(import),
                _ => foreign.push(import),
            }
        }
        if !foreign.is_empty() {
            return Err(Refused::ForeignImports(foreign));
        }
        for export in &self.exports {
            if let Some(i) = InterfaceName::parse(export).filter(|i| i.package == contract::PACKAGE) {
                i.check_line()?;
                seen.exports.push(i.name.to_owned());
            }
        }
        seen.schema = match self.schemas.as_slice() {
            [] => None,
            [schema] => Some(Schema::parse(schema).map_err(|why| {
                Refused::Description(format!("its configuration schema: {}", text::to_line(&why, 300)))
            })?),
            _ => return Err(Refused::Description("it has several configuration schemas".to_owned())),
        };
        if !seen.exports.iter().any(|name| name == "describe") {
            return Err(Refused::Mismatch(
                "it does not export `describe`, which every plugin must; export it and at least one hook"
                    .into(),
            ));
        }
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> String {
        inspect_component(bytes).unwrap_err().to_string()
    }

    #[test]
    fn asynchronous_components_are_refused_with_advice() {
        let why = "`task.cancel` requires the component model async feature";
        let refused = Refused::Malformed(why.to_owned()).to_string();
        assert!(
            refused.ends_with("; plugins are synchronous: build it without async (componentize-qjs: --sync)")
        );
        assert!(!Refused::Malformed("cut".to_owned()).to_string().contains("async"));
    }

    #[test]
    fn other_file_formats_are_named() {
        assert_eq!(refused(b""), "is empty, not a WebAssembly component");
        assert_eq!(refused(b"(component)"), "is text, not a WebAssembly component");
        assert_eq!(refused(b"\x7fELF\x02\x01\x01"), "is compiled native code, not a WebAssembly component");
        assert_eq!(refused(b"\x01\x02\x03\x04\x05"), "is no WebAssembly, not a WebAssembly component");
        assert!(refused(b"\0asm\x01\0\0\0").starts_with("is a core module"));
        assert!(refused(b"\0asm\x0d\0\x01").starts_with("is not a valid component"));
        assert!(refused(b"\0asm\x0d\0\x01\0\xff").starts_with("is not a valid component"));
    }

    #[test]
    fn an_empty_component_lacks_describe() {
        assert!(refused(b"\0asm\x0d\0\x01\0").contains("does not export `describe`"));
    }

    #[test]
    fn imports_are_classified() {
        let names = |imports: &[&str]| Names {
            imports: imports.iter().map(|i| (*i).to_owned()).collect(),
            exports: vec!["pivot:provider/describe@0.1.0".into()],
            schemas: vec![],
        };
        let seen = names(&["pivot:provider/log@0.1.7", "wasi:cli/stderr@0.2.6"]).sort_out().unwrap();
        assert_eq!((seen.imports, seen.inert.len()), (vec!["log".to_owned()], 1));
        for foreign in
            ["wasi:sockets/tcp@0.2.6", "wasi:http/types@0.2.0", "wasi:cli/stderr@0.3.0", "acme:x/y", "env"]
        {
            let error = names(&[foreign]).sort_out().unwrap_err().to_string();
            let expected = format!("imports interfaces that no plugin gets: {foreign}; ");
            assert!(error.starts_with(&expected), "{error}");
        }
        for other in ["pivot:provider/log@0.2.0", "pivot:provider/log@0.1.0-rc.1", "pivot:provider/log"] {
            assert!(matches!(names(&[other]).sort_out(), Err(Refused::Mismatch(_))), "{other}");
        }
    }
}
