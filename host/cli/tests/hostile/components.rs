//! Files that say they are components: what is no component, what is half of one, and what counts or nests without end.
//!
//! What is valid and costs too much to compile is in `tests/components`.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use wasm_encoder::{
    Component, ComponentExportKind, ComponentExportSection, ComponentImportSection, ComponentInstanceSection,
    ComponentTypeRef, ComponentTypeSection, ComponentValType, CustomSection, Module, ModuleSection,
    PrimitiveValType, TypeBounds,
};

use crate::case::Case;
use crate::judge::WORDS;

const HEAD: [u8; 8] = *b"\0asm\x0d\0\x01\0";
const INSPECT: &str = "plugin inspect p.wasm";
/// As for every plugin that is not taken.
const REFUSED: [i32; 1] = [6];

pub(crate) fn cases() -> Vec<Case> {
    [other_files(), damaged(), names(), nested(), many(), on_disk()].concat()
}

fn inspect(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Case {
    Case::new(name, INSPECT, &REFUSED).file("p.wasm", bytes).says("error: p.wasm (sha256 ")
}

/// The same where the bytes are made only when the case runs.
fn made(name: impl Into<String>, bytes: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Case {
    let write = move |dir: &Path| fs::write(dir.join("p.wasm"), bytes()).unwrap();
    Case::new(name, INSPECT, &REFUSED).fed(write)
}

fn component(sections: &[u8]) -> Vec<u8> {
    [&HEAD[..], sections].concat()
}

/// A number as WebAssembly writes it.
fn leb(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn sized(bytes: &[u8]) -> Vec<u8> {
    [leb(bytes.len() as u64), bytes.to_vec()].concat()
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [vec![id], sized(content)].concat()
}

fn other_files() -> Vec<Case> {
    let files: [(&str, Vec<u8>); 5] = [
        ("nothing", vec![]),
        ("half a magic number", b"\0as".to_vec()),
        ("text", b"error: FORGED\nnext:  FORGED\n".to_vec()),
        ("a megabyte of zeros", vec![0; 1 << 20]),
        (
            "compiled code of wasmtime",
            [&b"\x7fELF\x02\x01\x01\xc8"[..], b".wasmtime.engine", &[0; 999]].concat(),
        ),
    ];
    let mut cases: Vec<Case> =
        files.map(|(name, bytes)| inspect(format!("not a component: {name}"), bytes)).into();
    for (name, size) in
        [("at the limit", 64_u64 << 20), ("above the limit", (64 << 20) + 1), ("a terabyte", 1 << 40)]
    {
        let sparse = move |dir: &Path| fs::File::create(dir.join("p.wasm")).unwrap().set_len(size).unwrap();
        cases.push(Case::new(format!("zeros, {name}"), INSPECT, &REFUSED).fed(sparse).within(20, 256));
    }
    cases
}

/// Not a plugin, but valid: types, imports, a module, an instance, exports.
fn whole() -> Vec<u8> {
    let mut component = Component::new();
    let mut types = ComponentTypeSection::new();
    types.function().params([("a", ComponentValType::Primitive(PrimitiveValType::String))]).result(None);
    component.section(&types);
    let mut imports = ComponentImportSection::new();
    imports.import("a", ComponentTypeRef::Func(0));
    imports.import("r", ComponentTypeRef::Type(TypeBounds::SubResource));
    component.section(&imports);
    component.section(&ModuleSection(&Module::new()));
    component.section(&CustomSection { name: "name".into(), data: vec![1; 9].into() });
    outside(&mut component, "pivot:provider/describe@0.1.0");
    component.finish()
}

fn outside(component: &mut Component, name: &str) {
    let mut instances = ComponentInstanceSection::new();
    instances.export_items::<&str, [(&str, ComponentExportKind, u32); 0]>([]);
    component.section(&instances);
    let mut exports = ComponentExportSection::new();
    exports.export(name, ComponentExportKind::Instance, 0, None);
    component.section(&exports);
}

/// Components at which the parser stops; `runtime: wrong_section_lengths_are_refused` and its neighbours have more.
fn damaged() -> Vec<Case> {
    let whole = whole();
    let mut cases = vec![
        inspect("cut in half", &whole[..whole.len() / 2]),
        inspect("whole, and no plugin", whole.clone()),
        inspect("with text behind it", [&whole[..], b"\nerror: FORGED\n"].concat()),
        inspect("a section without an end", component(b"\x07\xff\xff\xff\xff\x0f")),
        inspect("four billion types", component(&section(7, &leb(u64::from(u32::MAX))))),
    ];
    for id in [0, 7] {
        cases.push(made(format!("section {id}, empty, 200000 times"), move || {
            component(&section(id, &[]).repeat(200_000))
        }));
    }
    cases
}

type Place = (&'static str, fn(&str) -> Vec<u8>);

/// Where a component has names.
const PLACES: [Place; 3] = [
    ("an import of an interface", |name| {
        let name = format!("wasi:{name}/x@0.2.0");
        let instance = section(7, &[1, 0x42, 0]);
        component(
            &[instance, section(10, &[&[1, 0][..], &sized(name.as_bytes()), &[5, 0]].concat())].concat(),
        )
    }),
    ("an export", |name| {
        let instance = section(5, &[1, 1, 0]);
        component(
            &[instance, section(11, &[&[1, 0][..], &sized(name.as_bytes()), &[5, 0, 0]].concat())].concat(),
        )
    }),
    ("a custom section", |name| component(&section(0, &sized(name.as_bytes())))),
];

fn names() -> Vec<Case> {
    let mut cases = Vec::new();
    for (place, of) in PLACES {
        cases.push(inspect(format!("{place} whose name forges"), of(WORDS)));
        cases.push(made(format!("{place} with a name of 10 megabytes"), move || of(&"n".repeat(10_000_000))));
    }
    cases
}

fn nested() -> Vec<Case> {
    let mut cases = Vec::new();
    let levels = 3_000;
    cases.push(made(format!("components in components, {levels} levels"), move || {
        (0..levels).fold(component(&[]), |inner, _| component(&section(4, &inner)))
    }));
    cases.push(made(format!("types in types, {levels} levels"), move || {
        component(&section(7, &[vec![1], [0x41, 1, 1].repeat(levels), vec![0x41, 0]].concat()))
    }));
    cases.push(made(format!("lists of lists, {levels} levels"), move || {
        let mut types = ComponentTypeSection::new();
        types.defined_type().list(ComponentValType::Primitive(PrimitiveValType::U8));
        (1..levels as u32).for_each(|n| types.defined_type().list(ComponentValType::Type(n - 1)));
        let mut component = Component::new();
        component.section(&types);
        outside(&mut component, "pivot:provider/describe@0.1.0");
        component.finish()
    }));
    cases.push(made(format!("tuples of two of the one before, {levels} levels"), move || {
        let mut types = ComponentTypeSection::new();
        types.defined_type().tuple([ComponentValType::Primitive(PrimitiveValType::U8)]);
        (1..levels as u32).for_each(|n| types.defined_type().tuple([ComponentValType::Type(n - 1); 2]));
        let mut component = Component::new();
        component.section(&types);
        outside(&mut component, "pivot:provider/describe@0.1.0");
        component.finish()
    }));
    cases
}

fn many() -> Vec<Case> {
    let mut cases = Vec::new();
    let count = 100_000;
    cases.push(made(format!("{count} imports"), move || {
        let mut imports = ComponentImportSection::new();
        (0..count).for_each(|n| {
            _ = imports.import(format!("a{n}").as_str(), ComponentTypeRef::Type(TypeBounds::SubResource))
        });
        let mut component = Component::new();
        component.section(&imports);
        component.finish()
    }));
    cases.push(made(format!("{count} exports"), move || {
        let mut component = Component::new();
        let mut instances = ComponentInstanceSection::new();
        instances.export_items::<&str, [(&str, ComponentExportKind, u32); 0]>([]);
        component.section(&instances);
        let mut exports = ComponentExportSection::new();
        (0..count).for_each(|n| {
            _ = exports.export(format!("a{n}").as_str(), ComponentExportKind::Instance, 0, None)
        });
        component.section(&exports);
        component.finish()
    }));
    cases.push(made(format!("{count} modules"), move || {
        component(&section(1, b"\0asm\x01\0\0\0").repeat(count))
    }));
    cases.push(made(format!("{count} exports of one name"), move || {
        let export = [&[0][..], &sized(b"a"), &[5, 0, 0]].concat();
        component(
            &[section(5, &[1, 1, 0]), section(11, &[leb(count as u64), export.repeat(count)].concat())]
                .concat(),
        )
    }));
    cases.push(made("a contract of another version", || {
        let mut component = Component::new();
        outside(&mut component, "pivot:provider/describe@0.2.0+FORGED");
        component.finish()
    }));
    cases
}

/// What a name of a file may be instead of a file.
fn on_disk() -> Vec<Case> {
    type Make = fn(&Path);
    let sorts: [(&str, Make); 4] = [
        ("a directory", |file| fs::create_dir(file).unwrap()),
        ("a link out of its directory", |file| symlink("/etc/passwd", file).unwrap()),
        ("a link to zeros without end", |file| symlink("/dev/zero", file).unwrap()),
        ("a socket", |file| drop(UnixListener::bind(file).unwrap())),
    ];
    let mut cases = vec![
        Case::new("inspect nothing", INSPECT, &REFUSED).says("p.wasm"),
        Case::new("inspect its own input", "plugin inspect /proc/self/fd/0", &REFUSED),
    ];
    for (sort, make) in sorts {
        cases.push(
            Case::new(format!("inspect {sort}"), INSPECT, &REFUSED)
                .fed(move |dir| make(&dir.join("p.wasm")))
                .says("p.wasm"),
        );
    }
    for (verb, folder) in [("add p.wasm", "."), ("verify d", "d")] {
        let endless = move |dir: &Path| {
            fs::create_dir(dir.join("d")).unwrap();
            symlink("/dev/zero", dir.join(folder).join("p.wasm")).unwrap();
        };
        let case = Case::new(format!("{verb} of zeros without end"), &format!("plugin {verb}"), &REFUSED);
        cases.push(case.fed(endless).says("p.wasm"));
    }
    cases
}
