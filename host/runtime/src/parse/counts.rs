//! Counts the work of validating and compiling a component before either starts.
//!
//! Some small files take minutes: the work of a validator or a compiler for one byte may depend on what a thousand others
//! declare. So one pass, linear in the size of the file, counts first: how many of each thing there are, and how many values
//! blocks, branches and calls transfer in total. The limits leave room for the largest components that we know (CPython,
//! SpiderMonkey, Go's runtime); what passes can still be expensive, which is what trials are for.

use wasmparser::{CompositeInnerType, FunctionBody, Parser, Payload, RecGroup, SectionLimited, TypeRef};

use super::code::{Code, Module, Signature};
use super::count::Count;
use super::nested;
use crate::error::Refused;

/// Deepest nesting of components.
const DEPTH: usize = 100;
/// Bytes of one function's code.
const FUNCTION: u64 = 4 << 20;
/// Values that a component may have as locals, or transfer, per byte of its code and in addition. Compilers declare a local for
/// every 50 bytes, and an instruction transfers one or two.
const LOCALS: (u64, u64) = (1, 1_000_000);
const CARRIED: (u64, u64) = (8, 1_000_000);

/// The work of compiling a component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompileWork {
    /// Bytes of code.
    pub(crate) code: u64,
}

/// Counts a component's contents, and refuses more than any plugin has.
pub(crate) fn count_contents(bytes: &[u8]) -> Result<CompileWork, Refused> {
    let mut counts = Counts::new();
    for payload in Parser::new(0).parse_all(bytes) {
        counts.count_payload(&payload?, bytes)?;
    }
    counts.check_values()?;
    Ok(CompileWork { code: counts.code })
}

/// The contents of all modules and components of a file.
#[derive(Debug)]
struct Counts {
    parts: Count,
    types: Count,
    imports: Count,
    exports: Count,
    functions: Count,
    globals: Count,
    tables: Count,
    segments: Count,
    elements: Count,
    definitions: Count,
    /// Bytes of code of the file's functions.
    code: u64,
    locals: u64,
    carried: u64,
    depth: usize,
    /// The module being read.
    module: Option<Module>,
}

impl Counts {
    const fn new() -> Self {
        Self {
            parts: Count::new("modules and components", 500),
            types: Count::new("types", 100_000),
            imports: Count::new("imports", 50_000),
            exports: Count::new("exports", 200_000),
            functions: Count::new("functions", 200_000),
            globals: Count::new("globals", 100_000),
            tables: Count::new("tables, memories and tags", 1_000),
            segments: Count::new("segments", 200_000),
            elements: Count::new("elements of segments", 1_000_000),
            definitions: Count::new("instances, aliases and adapters", 100_000),
            code: 0,
            locals: 0,
            carried: 0,
            depth: 0,
            module: None,
        }
    }

    fn count_payload(&mut self, payload: &Payload<'_>, bytes: &[u8]) -> Result<(), Refused> {
        match payload {
            Payload::ModuleSection { .. } => {
                self.parts.add(1_u64)?;
                self.module = Some(Module::default());
            }
            Payload::ComponentSection { .. } => {
                self.parts.add(1_u64)?;
                self.depth += 1;
                if self.depth > DEPTH {
                    return Err(Refused::TooMany { what: "levels of components", most: DEPTH as u64 });
                }
            }
            Payload::End(_) => self.close_part(),
            Payload::TypeSection(section) => self.count_core_types(section)?,
            Payload::CoreTypeSection(section) => {
                for ty in section.clone() {
                    self.types.add(nested::count_core_types(&ty?))?;
                }
            }
            Payload::ComponentTypeSection(section) => {
                let range = section.range();
                let text = bytes.get(range.clone()).unwrap_or_default();
                nested::for_each_type(text, range.start, &mut || self.types.add(1_u64))?;
            }
            Payload::ImportSection(section) => {
                for import in section.clone().into_imports() {
                    self.imports.add(1_u64)?;
                    if let (TypeRef::Func(ty) | TypeRef::FuncExact(ty), Some(module)) =
                        (import?.ty, &mut self.module)
                    {
                        module.import_function(ty);
                    }
                }
            }
            Payload::FunctionSection(section) => {
                self.functions.add(section.count())?;
                for ty in section.clone() {
                    let ty = ty?;
                    let Some(module) = &mut self.module else { continue };
                    self.locals += module.declare_function(ty).total();
                }
            }
            Payload::CodeSectionStart { size, .. } => self.code += u64::from(*size),
            Payload::CodeSectionEntry(body) => self.count_function_body(body)?,
            Payload::ElementSection(section) => {
                self.segments.add(section.count())?;
                for element in section.clone() {
                    match element?.items {
                        wasmparser::ElementItems::Functions(items) => self.elements.add(items.count())?,
                        wasmparser::ElementItems::Expressions(_, items) => {
                            self.elements.add(items.count())?;
                        }
                    }
                }
            }
            Payload::DataSection(section) => self.segments.add(section.count())?,
            Payload::GlobalSection(section) => self.globals.add(section.count())?,
            Payload::TableSection(section) => self.tables.add(section.count())?,
            Payload::MemorySection(section) => self.tables.add(section.count())?,
            Payload::TagSection(section) => self.tables.add(section.count())?,
            Payload::ExportSection(section) => self.exports.add(section.count())?,
            Payload::ComponentImportSection(section) => self.imports.add(section.count())?,
            Payload::ComponentExportSection(section) => self.exports.add(section.count())?,
            Payload::InstanceSection(section) => self.definitions.add(section.count())?,
            Payload::ComponentInstanceSection(section) => self.definitions.add(section.count())?,
            Payload::ComponentAliasSection(section) => self.definitions.add(section.count())?,
            Payload::ComponentCanonicalSection(section) => self.definitions.add(section.count())?,
            _ => {}
        }
        Ok(())
    }

    /// The end of a module or component.
    fn close_part(&mut self) {
        if self.module.take().is_none() {
            self.depth = self.depth.saturating_sub(1);
        }
    }

    fn count_core_types(&mut self, section: &SectionLimited<'_, RecGroup>) -> Result<(), Refused> {
        for group in section.clone() {
            for ty in group?.types() {
                self.types.add(1_u64)?;
                let signature = match &ty.composite_type.inner {
                    CompositeInnerType::Func(func) => {
                        Signature { params: func.params().len() as u64, results: func.results().len() as u64 }
                    }
                    _ => Signature::default(),
                };
                if let Some(module) = &mut self.module {
                    module.define_type(signature);
                }
            }
        }
        Ok(())
    }

    fn count_function_body(&mut self, body: &FunctionBody<'_>) -> Result<(), Refused> {
        if body.as_bytes().len() as u64 > FUNCTION {
            return Err(Refused::TooMany { what: "bytes of code in one function", most: FUNCTION });
        }
        let Some(module) = &mut self.module else { return Ok(()) };
        let own = module.next();
        for local in body.get_locals_reader()? {
            self.locals = self.locals.saturating_add(u64::from(local?.0));
        }
        let mut code = Code::new(module, own);
        let mut reader = body.get_operators_reader()?;
        while !reader.eof() {
            self.carried = self.carried.saturating_add(code.count_transferred_values(&reader.read()?)?);
        }
        Ok(())
    }

    /// Fails if the file has more values than the size of its code allows.
    fn check_values(&self) -> Result<(), Refused> {
        let within = |what, is, (each, first): (u64, u64)| {
            Count { what, is, most: first + each * self.code }.check_limit()
        };
        within("parameters, results and locals for so little code", self.locals, LOCALS)?;
        within("values carried by blocks, branches and calls for so little code", self.carried, CARRIED)
    }
}
