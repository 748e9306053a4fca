//! Small files that take a validator or a compiler minutes, or more memory than there is.
//!
//! Each has what a plugin has on its outside, so that nothing but its cost can be what it is refused for.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wasm_encoder::{
    Alias, BlockType, CodeSection, Component, ComponentAliasSection, ComponentExportKind,
    ComponentExportSection, ComponentInstanceSection, ComponentOuterAliasKind, ComponentTypeSection,
    Function, FunctionSection, InstructionSink, Module, ModuleSection, NestedComponentSection, TypeSection,
    ValType,
};

use crate::host::{err, narrow_host};

/// What the contract asks of every plugin: the name, with nothing behind it.
fn outside(component: &mut Component) {
    let mut instances = ComponentInstanceSection::new();
    instances.export_items::<&str, [(&str, ComponentExportKind, u32); 0]>([]);
    component.section(&instances);
    let mut exports = ComponentExportSection::new();
    exports.export("pivot:provider/describe@0.1.0", ComponentExportKind::Instance, 0, None);
    component.section(&exports);
}

fn plugin(module: &Module) -> Vec<u8> {
    let mut component = Component::new();
    component.section(&ModuleSection(module));
    outside(&mut component);
    component.finish()
}

/// So many functions of one type, with the same locals and code.
fn module(
    (params, results): (usize, usize),
    functions: u32,
    locals: &[(u32, ValType)],
    code: impl Fn(&mut InstructionSink<'_>),
) -> Vec<u8> {
    let (mut types, mut declared, mut bodies) =
        (TypeSection::new(), FunctionSection::new(), CodeSection::new());
    types.ty().function(vec![ValType::I32; params], vec![ValType::I32; results]);
    // For blocks: nothing in, a thousand out; and both.
    types.ty().function([], vec![ValType::I32; 1_000]);
    types.ty().function(vec![ValType::I32; 1_000], vec![ValType::I32; 1_000]);
    let mut function = Function::new(locals.iter().copied());
    code(&mut function.instructions());
    function.instructions().end();
    for _ in 0..functions {
        declared.function(0);
        bodies.function(&function);
    }
    let mut module = Module::new();
    module.section(&types).section(&declared).section(&bodies);
    plugin(&module)
}

const RESULTS: BlockType = BlockType::FunctionType(1);
const BOTH: BlockType = BlockType::FunctionType(2);

fn deep_blocks() -> Vec<u8> {
    module((0, 0), 1, &[], |code| {
        code.unreachable();
        (0..10_000).for_each(|_| _ = code.block(BOTH));
        (0..10_000).for_each(|_| _ = code.end());
        code.unreachable();
    })
}

fn wide_signatures() -> Vec<u8> {
    module((1_000, 1_000), 3_000, &[], |code| _ = code.unreachable())
}

fn wide_calls() -> Vec<u8> {
    module((1_000, 1_000), 1, &[], |code| {
        code.unreachable();
        (0..3_000).for_each(|_| _ = code.call(0));
    })
}

fn wide_br_table() -> Vec<u8> {
    module((0, 0), 1, &[], |code| {
        code.block(RESULTS).unreachable().br_table(vec![0; 6_000], 0).end().unreachable();
    })
}

fn long_br_table() -> Vec<u8> {
    module((0, 0), 1, &[], |code| _ = code.i32_const(0).br_table(vec![0; 1_000_000], 0))
}

fn locals_everywhere() -> Vec<u8> {
    module((0, 0), 2_000, &[(50_000, ValType::V128)], |_| ())
}

fn functions_without_end() -> Vec<u8> {
    module((0, 0), 900_000, &[], |_| ())
}

/// What is set in the innermost loop has to be carried through all of them: so many values, so many times.
fn locals_through_loops() -> Vec<u8> {
    module((1, 0), 1, &[(4_000, ValType::I32)], |code| {
        (0..4_000).for_each(|_| _ = code.loop_(BlockType::Empty));
        (1..4_000).for_each(|local| _ = code.local_get(local - 1).local_set(local));
        (0..4_000).for_each(|_| _ = code.local_get(0).br_if(0).end());
    })
}

/// The same, in the shape that compilers make of a switch.
pub(crate) fn locals_through_branches() -> Vec<u8> {
    module((1, 0), 1, &[(1_000, ValType::I64)], |code| {
        (0..1_000).for_each(|_| _ = code.block(BlockType::Empty).loop_(BlockType::Empty));
        for local in 1..1_000 {
            code.local_get(local).i64_const(1).i64_add().local_set(local).local_get(0).br_if(2 * local - 1);
        }
        (0..1_000).for_each(|_| _ = code.local_get(0).br_if(0).end().end());
    })
}

/// All alive until the end, so that each is kept apart from all others.
fn values_that_live_on() -> Vec<u8> {
    module((1, 0), 1, &[(1, ValType::I32)], |code| {
        (0..150_000).for_each(|_| _ = code.local_get(0).i32_const(3).i32_mul().local_tee(0));
        (1..150_000).for_each(|_| _ = code.i32_add());
        code.drop();
    })
}

/// The tools write lengths; this needs none: each level is three bytes.
fn types_in_types() -> Vec<u8> {
    let levels = 100_000;
    let mut types = vec![1];
    types.extend([0x41, 1, 1].repeat(levels));
    types.extend([0x41, 0]);
    let mut component = Component::new();
    component.section(&wasm_encoder::RawSection { id: 7, data: &types });
    outside(&mut component);
    component.finish()
}

fn components_in_components() -> Vec<u8> {
    let mut inner = Component::new();
    for _ in 0..2_000 {
        let mut around = Component::new();
        around.section(&NestedComponentSection(&inner));
        inner = around;
    }
    outside(&mut inner);
    inner.finish()
}

/// How often.
const DOUBLED: u32 = 14;

/// Each is two of the one before, and the innermost has something of its own, so that each use is made anew.
fn doubled_types() -> Vec<u8> {
    let mut component = Component::new();
    let mut types = ComponentTypeSection::new();
    let mut innermost = wasm_encoder::InstanceType::new();
    innermost.export("r", wasm_encoder::ComponentTypeRef::Type(wasm_encoder::TypeBounds::SubResource));
    types.instance(&innermost);
    for below in 0..DOUBLED {
        let mut twice = wasm_encoder::InstanceType::new();
        twice.alias(Alias::Outer { kind: ComponentOuterAliasKind::Type, count: 1, index: below });
        for name in ["a", "b"] {
            twice.export(name, wasm_encoder::ComponentTypeRef::Instance(0));
        }
        types.instance(&twice);
    }
    component.section(&types);
    for _ in 0..400 {
        let mut inner = Component::new();
        let mut aliases = ComponentAliasSection::new();
        aliases.alias(Alias::Outer { kind: ComponentOuterAliasKind::Type, count: 1, index: DOUBLED });
        inner.section(&aliases);
        let mut imports = wasm_encoder::ComponentImportSection::new();
        (0..50).for_each(|n| {
            _ = imports.import(format!("i{n}").as_str(), wasm_encoder::ComponentTypeRef::Instance(0));
        });
        inner.section(&imports);
        component.section(&NestedComponentSection(&inner));
    }
    outside(&mut component);
    component.finish()
}

/// Makes the bytes of a component.
type Make = fn() -> Vec<u8>;

/// Refused, by name, for what it takes; in seconds, by a program that has little memory.
// proves: T1
#[test]
fn expensive_components_are_refused_in_seconds() {
    let dir = TempDir::new().unwrap();
    let cases: [(&str, Make); 13] = [
        ("deep-blocks", deep_blocks),
        ("wide-signatures", wide_signatures),
        ("wide-calls", wide_calls),
        ("wide-br-table", wide_br_table),
        ("long-br-table", long_br_table),
        ("locals-everywhere", locals_everywhere),
        ("functions-without-end", functions_without_end),
        ("locals-through-loops", locals_through_loops),
        ("locals-through-branches", locals_through_branches),
        ("values-that-live-on", values_that_live_on),
        ("types-in-types", types_in_types),
        ("components-in-components", components_in_components),
        ("doubled-types", doubled_types),
    ];
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((name, file)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.lock().unwrap().extend(fault_of(&dir, name, &file()));
        }
    };
    thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(work)));
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns the reason if a component isn't refused as it should be.
fn fault_of(dir: &TempDir, name: &str, file: &[u8]) -> Option<String> {
    let path = dir.path().join(format!("{name}.wasm"));
    std::fs::write(&path, file).unwrap();
    let begun = Instant::now();
    let output = narrow_host(&["plugin", "inspect", path.to_str().unwrap()]).output().unwrap();
    let (took, said) = (begun.elapsed(), err(&output));
    println!("{name}: {} KB, {took:?}: {said}", file.len() >> 10);
    let named = said.starts_with(&format!("error: {name}.wasm (sha256 "));
    let costs = said.contains("has more ") || said.contains("was compiled on trial and ");
    let refused = output.status.code() == Some(6) && named && costs && took <= Duration::from_secs(20);
    (!refused).then(|| format!("{name}, {took:?}, {}: {said}", output.status))
}
