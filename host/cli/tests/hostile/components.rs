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
use crate::words::WORDS;

const HEAD: [u8; 8] = *b"\0asm\x0d\0\x01\0";
const INSPECT: &str = "plugin inspect p.wasm";
/// As for every plugin that is not taken.
const REFUSED: [i32; 1] = [6];

pub(crate) fn cases() -> Vec<Case> {
    let families = [
        other_files(),
        heads(),
        cut(),
        sections(),
        lengths(),
        counts(),
        names(),
        nested(),
        many(),
        on_disk(),
    ];
    families.concat()
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
    let files: [(&str, Vec<u8>); 22] = [
        ("nothing", vec![]),
        ("one byte", b"\0".to_vec()),
        ("half a magic number", b"\0as".to_vec()),
        ("a magic number alone", b"\0asm".to_vec()),
        ("a magic number in capitals", b"\0ASM\x0d\0\x01\0".to_vec()),
        ("text", b"error: FORGED\nnext:  FORGED\n".to_vec()),
        ("WebAssembly as text", b"(component (import \"a\" (func)))".to_vec()),
        ("ELF", [&b"\x7fELF\x02\x01\x01\0"[..], &[0; 4_096]].concat()),
        ("Mach-O", [&b"\xcf\xfa\xed\xfe"[..], &[0; 4_096]].concat()),
        ("PE", [&b"MZ\x90\0"[..], &[0; 4_096]].concat()),
        ("a script", b"#!/bin/sh\ntouch FORGED\n".to_vec()),
        ("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec()),
        ("zip", b"PK\x03\x04\x14\0\0\0\x08\0".to_vec()),
        ("zstd", b"\x28\xb5\x2f\xfd\x24\0".to_vec()),
        ("JSON", b"{\"kind\":\"Component\"}".to_vec()),
        ("TOML", b"[plugins.p]\nhooks = []\n".to_vec()),
        ("UTF-16", b"\xff\xfe\0\0a\0s\0m\0".to_vec()),
        ("a byte order mark before it", [b"\xef\xbb\xbf", &HEAD[..]].concat()),
        ("a megabyte of zeros", vec![0; 1 << 20]),
        ("a megabyte of ones", vec![0xff; 1 << 20]),
        ("a head and nothing more", HEAD.to_vec()),
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

fn heads() -> Vec<Case> {
    let mut cases = Vec::new();
    for version in [0_u16, 1, 2, 0x0a, 0x0c, 0x0d, 0x0e, 0x7fff, 0xffff] {
        for layer in [0_u16, 1, 2, 0xffff] {
            let head = [&b"\0asm"[..], &version.to_le_bytes(), &layer.to_le_bytes()].concat();
            cases.push(inspect(format!("version {version}, layer {layer}"), head));
        }
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

fn cut() -> Vec<Case> {
    let whole = whole();
    let ends = (8..whole.len()).step_by(3);
    let mut cases: Vec<Case> =
        ends.map(|end| inspect(format!("cut after {end} bytes"), &whole[..end])).collect();
    cases.push(inspect("whole, and no plugin", whole.clone()));
    cases.push(inspect("twice, one after the other", whole.repeat(2)));
    cases.push(inspect("with a byte more", [&whole[..], b"\0"].concat()));
    cases.push(inspect("with text behind it", [&whole[..], b"\nerror: FORGED\n"].concat()));
    cases
}

fn sections() -> Vec<Case> {
    let mut cases = Vec::new();
    for id in 0..=12_u8 {
        for times in [2, 1_000, 200_000] {
            // Of no length, and with a count of none.
            cases.push(made(format!("section {id}, empty, {times} times"), move || {
                component(&section(id, &[]).repeat(times))
            }));
            cases.push(made(format!("section {id} of nothing, {times} times"), move || {
                component(&section(id, &[0]).repeat(times))
            }));
        }
    }
    for id in [13, 14, 64, 127, 128, 255] {
        cases.push(inspect(format!("section {id}, which there is none of"), component(&section(id, &[0]))));
    }
    cases
}

/// A section's length that isn't its length.
fn lengths() -> Vec<Case> {
    let lies: [(&str, &[u8]); 8] = [
        ("one too many", b"\x02"),
        ("none", b"\x00"),
        ("four billion", b"\xff\xff\xff\xff\x0f"),
        ("more than 32 bits", b"\xff\xff\xff\xff\x7f"),
        ("two, in five bytes", b"\x82\x80\x80\x80\x00"),
        ("two, in ten bytes", b"\x82\x80\x80\x80\x80\x80\x80\x80\x80\x00"),
        ("never ending", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        ("not there", b""),
    ];
    let mut cases = Vec::new();
    for id in [0, 1, 4, 7, 10] {
        for (lie, length) in lies {
            cases.push(inspect(
                format!("section {id} whose length is {lie}"),
                component(&[&[id], length, &[0]].concat()),
            ));
        }
    }
    cases
}

/// A count of what isn't there.
fn counts() -> Vec<Case> {
    let mut cases = Vec::new();
    for id in 2..=11_u8 {
        for count in [1_u64, 100_000, 100_000_000, u64::from(u32::MAX)] {
            cases.push(inspect(
                format!("section {id} with a count of {count}"),
                component(&section(id, &leb(count))),
            ));
        }
    }
    // Of a core module.
    for id in 1..=12_u8 {
        let module = [&b"\0asm\x01\0\0\0"[..], &section(id, &leb(u64::from(u32::MAX)))].concat();
        cases.push(inspect(
            format!("a module's section {id} with four billion"),
            component(&section(1, &module)),
        ));
    }
    cases
}

type Place = (&'static str, fn(&str) -> Vec<u8>);

/// Where a component has names.
const PLACES: [Place; 6] = [
    ("an import", |name| component(&section(10, &[&[1, 0][..], &sized(name.as_bytes()), &[3, 1]].concat()))),
    ("an import of an interface", |name| {
        let name = format!("wasi:{name}/x@0.2.0");
        let instance = section(7, &[1, 0x42, 0]);
        component(
            &[instance, section(10, &[&[1, 0][..], &sized(name.as_bytes()), &[5, 0]].concat())].concat(),
        )
    }),
    ("a core import", |name| {
        let types = section(1, &[1, 0x60, 0, 0]);
        let imports =
            section(2, &[&[1][..], &sized(name.as_bytes()), &sized(name.as_bytes()), &[0, 0]].concat());
        let module = [b"\0asm\x01\0\0\0".to_vec(), types, imports].concat();
        component(&[section(1, &module), section(2, &[1, 0, 0, 0])].concat())
    }),
    ("an export", |name| {
        let instance = section(5, &[1, 1, 0]);
        component(
            &[instance, section(11, &[&[1, 0][..], &sized(name.as_bytes()), &[5, 0, 0]].concat())].concat(),
        )
    }),
    ("a custom section", |name| component(&section(0, &sized(name.as_bytes())))),
    ("a core module alone", |name| {
        let types = section(1, &[1, 0x60, 0, 0]);
        let imports = section(2, &[&[1][..], &sized(name.as_bytes()), &sized(b"f"), &[0, 0]].concat());
        [b"\0asm\x01\0\0\0".to_vec(), types, imports].concat()
    }),
];

fn names() -> Vec<Case> {
    let mut cases = Vec::new();
    for (place, of) in PLACES {
        for (sort, words) in WORDS {
            cases.push(inspect(format!("{place} called {sort}"), of(words)));
        }
        for size in [100_000, 1_000_000, 10_000_000] {
            cases.push(made(format!("{place} with a name of {size} bytes"), move || of(&"n".repeat(size))));
        }
        cases.push(inspect(format!("{place} with a name that is not UTF-8"), {
            let mut bytes = of("QQQQ");
            let at = bytes.windows(4).position(|four| four == b"QQQQ").unwrap();
            bytes[at..at + 4].copy_from_slice(b"\xff\xfe\xc0\x80");
            bytes
        }));
    }
    cases
}

fn nested() -> Vec<Case> {
    let mut cases = Vec::new();
    for levels in [2, 50, 101, 1_000, 3_000] {
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
    }
    cases
}

fn many() -> Vec<Case> {
    let mut cases = Vec::new();
    for count in [2, 1_000, 100_000] {
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
    }
    for version in
        ["0.0.1", "0.1.1", "0.2.0", "1.0.0", "99999999999999999999.0.0", "0.1.0-rc.1", "0.1.0+FORGED"]
    {
        cases.push(made(format!("a contract of version {version}"), move || {
            let mut component = Component::new();
            outside(&mut component, &format!("pivot:provider/describe@{version}"));
            component.finish()
        }));
    }
    cases
}

/// What a name of a file may be instead of a file.
fn on_disk() -> Vec<Case> {
    type Make = fn(&Path);
    let sorts: [(&str, Make); 12] = [
        ("nothing", |_| ()),
        ("a directory", |file| fs::create_dir(file).unwrap()),
        ("a link to itself", |file| symlink("p.wasm", file).unwrap()),
        ("a link to nothing", |file| symlink("gone", file).unwrap()),
        ("a link to its directory", |file| symlink(".", file).unwrap()),
        ("a link out of its directory", |file| symlink("/etc/passwd", file).unwrap()),
        ("a link up and down again", |file| symlink("../../../../../../etc/passwd", file).unwrap()),
        ("a link to zeros without end", |file| symlink("/dev/zero", file).unwrap()),
        ("a link to chance without end", |file| symlink("/dev/urandom", file).unwrap()),
        ("a link to the memory of whoever reads it", |file| symlink("/proc/self/mem", file).unwrap()),
        ("a link to its own standard input", |file| symlink("/dev/stdin", file).unwrap()),
        ("a socket", |file| drop(UnixListener::bind(file).unwrap())),
    ];
    let mut cases = Vec::new();
    for (sort, make) in sorts {
        for (verb, folder) in [("inspect", "."), ("lock", "."), ("verify", "d")] {
            // Nothing in a directory is no fault of it.
            if (sort, verb) == ("nothing", "verify") {
                continue;
            }
            let line =
                if verb == "verify" { "plugin verify d".to_owned() } else { format!("plugin {verb} p.wasm") };
            let write = move |dir: &Path| {
                fs::create_dir(dir.join("d")).unwrap();
                make(&dir.join(folder).join("p.wasm"));
            };
            cases.push(Case::new(format!("{verb} {sort}"), &line, &REFUSED).fed(write).says("p.wasm"));
        }
    }
    for verb in ["inspect", "lock"] {
        for file in ["/dev/zero", "/dev/null", "/proc/self/environ", "/", ".", "..", "/proc/self/fd/0"] {
            cases.push(Case::new(format!("{verb} {file}"), &format!("plugin {verb} {file}"), &REFUSED));
        }
    }
    cases
}
