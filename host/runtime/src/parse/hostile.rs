//! Bytes that no compiler wrote: refused before anything is compiled, and in few words.

use super::{count, inspect_component};

const HEAD: [u8; 8] = *b"\0asm\x0d\0\x01\0";
const MODULE: [u8; 8] = *b"\0asm\x01\0\0\0";

/// Counts, then looks, as when a plugin is loaded.
fn refused(bytes: &[u8]) {
    let begin = bytes.get(..bytes.len().min(40)).unwrap_or_default();
    let read = count(bytes).and_then(|_| inspect_component(bytes));
    let why = read.map(drop).expect_err(&format!("{begin:x?}")).to_string();
    assert!(why.len() < 1_500, "{begin:x?}: {why}");
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

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [vec![id], leb(content.len() as u64), content.to_vec()].concat()
}

#[test]
fn heads_of_other_versions_are_refused() {
    for version in [0_u16, 1, 2, 0x0a, 0x0c, 0x0d, 0x0e, 0x7fff, 0xffff] {
        for layer in [0_u16, 1, 2, 0xffff] {
            refused(&[&b"\0asm"[..], &version.to_le_bytes(), &layer.to_le_bytes()].concat());
        }
    }
}

#[test]
fn repeated_and_unknown_sections_are_refused() {
    for id in 0..=12 {
        for times in [1, 2, 1_000] {
            refused(&component(&section(id, &[]).repeat(times)));
            refused(&component(&section(id, &[0]).repeat(times)));
        }
    }
    for id in [13, 14, 64, 127, 128, 255] {
        refused(&component(&section(id, &[0])));
    }
}

#[test]
fn wrong_section_lengths_are_refused() {
    let lengths: [&[u8]; 8] = [
        b"\x02",
        b"\x00",
        b"\xff\xff\xff\xff\x0f",
        b"\xff\xff\xff\xff\x7f",
        b"\x82\x80\x80\x80\x00",
        b"\x82\x80\x80\x80\x80\x80\x80\x80\x80\x00",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"",
    ];
    for id in [0, 1, 4, 7, 10] {
        for length in lengths {
            refused(&component(&[&[id], length, &[0]].concat()));
        }
    }
}

#[test]
fn counts_of_missing_items_are_refused() {
    for id in 2..=11 {
        for count in [1, 100_000, 100_000_000, u64::from(u32::MAX)] {
            refused(&component(&section(id, &leb(count))));
        }
    }
    for id in 1..=12 {
        let module = [&MODULE[..], &section(id, &leb(u64::from(u32::MAX)))].concat();
        refused(&component(&section(1, &module)));
    }
}

#[test]
fn deeply_nested_components_and_types_are_refused() {
    for levels in [101, 1_000, 3_000] {
        refused(&(0..levels).fold(component(&[]), |inner, _| component(&section(4, &inner))));
        refused(&component(&section(7, &[vec![1], [0x41, 1, 1].repeat(levels), vec![0x41, 0]].concat())));
    }
}
