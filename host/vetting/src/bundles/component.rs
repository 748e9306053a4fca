//! The imports and exports of a component. They are written into the component's own manifest, where other tools look for them.
//! No decision depends on them, so the component isn't validated here; every loader validates it.

use wasmparser::{BinaryReaderError, Chunk, Encoding, Parser, Payload};

use crate::bundles::document;
use crate::bundles::kind::FileError;

/// The names of a component's imports and exports, in its own order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) imports: Vec<String>,
    pub(crate) exports: Vec<String>,
    /// Total bytes of the names.
    size: usize,
}

impl Interface {
    /// Reads the outermost sections. Nested sections are skipped, so neither their depth nor their number costs anything.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, FileError> {
        let mut found = Self::default();
        let mut parser = Parser::new(0);
        let mut rest = bytes;
        loop {
            let (consumed, payload) = match parser.parse(rest, true).map_err(not_component)? {
                Chunk::Parsed { consumed, payload } => (consumed, payload),
                Chunk::NeedMoreData(_) => return Err(ends_early()),
            };
            rest = rest.get(consumed..).unwrap_or_default();
            match payload {
                Payload::Version { encoding: Encoding::Module, .. } => {
                    return Err(FileError::NotComponent("it is a core module".to_owned()));
                }
                Payload::ComponentImportSection(section) => {
                    for import in section {
                        let name = found.take_name(import.map_err(not_component)?.name.name)?;
                        found.imports.push(name);
                    }
                }
                Payload::ComponentExportSection(section) => {
                    for export in section {
                        let name = found.take_name(export.map_err(not_component)?.name.name)?;
                        found.exports.push(name);
                    }
                }
                Payload::ModuleSection { unchecked_range: range, .. }
                | Payload::ComponentSection { unchecked_range: range, .. } => {
                    rest = rest.get(range.len()..).ok_or_else(ends_early)?;
                }
                Payload::End(_) if rest.is_empty() => return Ok(found),
                Payload::End(_) => return Err(FileError::NotComponent("something follows it".to_owned())),
                _ => {}
            }
        }
    }

    /// Takes a name while there is room for it: a component is mostly as large as it likes, its manifest isn't.
    fn take_name(&mut self, name: &str) -> Result<String, FileError> {
        // Two quotes and a comma.
        self.size += name.len() + 3;
        if self.size > document::SIZE { Err(FileError::Names) } else { Ok(name.to_owned()) }
    }
}

fn ends_early() -> FileError {
    FileError::NotComponent("it ends too early".to_owned())
}

/// The parser's messages quote names from the component; where it went wrong is enough.
fn not_component(error: BinaryReaderError) -> FileError {
    FileError::NotComponent(format!("it can't be understood (offset {:#x})", error.offset()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundles::tests::sample;

    #[test]
    fn only_outermost_imports_and_exports_are_found() {
        let found = Interface::parse(&sample::wasm("a")).unwrap();
        assert_eq!(found.imports, ["test:a/import@1.0.0", "second"]);
        assert_eq!(found.exports, ["test:a/export"]);
        assert_eq!(Interface::parse(sample::EMPTY).unwrap(), Interface::default());
        let nested = Interface::parse(&sample::nested(&sample::wasm("a"))).unwrap();
        assert_eq!(nested, Interface::default());
    }

    #[test]
    fn what_is_no_component_is_refused() {
        let module = b"\0asm\x01\0\0\0";
        let short = &sample::EMPTY[..7];
        let wasm = sample::nested(&sample::wasm("a"));
        let cut = &wasm[..wasm.len() - 1];
        for bytes in [&module[..], short, b"", b"\x7fELF\0\0\0\0", cut] {
            assert_eq!(Interface::parse(bytes).unwrap_err().code(), "not-a-component", "{bytes:?}");
        }
        assert_eq!(Interface::parse(&sample::importing(20, 60_000)).unwrap_err(), FileError::Names);
    }
}
