//! Component types nested in component types.
//!
//! The parsing library recurses for each level, and a level takes only a few bytes: a file of a few hundred KB would overflow the
//! stack, which ends the program. So the levels are walked here first, up to the depth that any plugin uses.

use wasmparser::{
    BinaryReader, ComponentAlias, ComponentExternName, ComponentImport, ComponentType, ComponentTypeRef,
    CoreType,
};

use crate::error::Refused;

/// Levels of types: an instance's type inside a component's type, and so on.
const LEVELS: u32 = 50;

/// Calls `found` for each type of a section, nested ones included.
pub(super) fn for_each_type(
    section: &[u8],
    offset: usize,
    found: &mut impl FnMut() -> Result<(), Refused>,
) -> Result<(), Refused> {
    let mut reader = BinaryReader::new(section, offset);
    for _ in 0..reader.read_var_u32()? {
        visit_component_type(&mut reader, 0, found)?;
    }
    Ok(())
}

/// Returns the number of types that a core type contains.
pub(super) fn count_core_types(ty: &CoreType<'_>) -> usize {
    match ty {
        CoreType::Rec(group) => group.types().len(),
        CoreType::Module(declarations) => declarations.len() + 1,
    }
}

fn visit_component_type(
    reader: &mut BinaryReader<'_>,
    level: u32,
    found: &mut impl FnMut() -> Result<(), Refused>,
) -> Result<(), Refused> {
    if level > LEVELS {
        return Err(Refused::TooMany { what: "levels of types", most: LEVELS.into() });
    }
    found()?;
    let mut first = reader.clone();
    if !matches!(first.read_u8()?, 0x41 | 0x42) {
        reader.read::<ComponentType<'_>>()?;
        return Ok(());
    }
    *reader = first;
    for _ in 0..reader.read_var_u32()? {
        visit_declaration(reader, level, found)?;
    }
    Ok(())
}

/// One declaration in the type of a component or of an instance.
fn visit_declaration(
    reader: &mut BinaryReader<'_>,
    level: u32,
    found: &mut impl FnMut() -> Result<(), Refused>,
) -> Result<(), Refused> {
    match reader.read_u8()? {
        0x00 => {
            for _ in 0..count_core_types(&reader.read::<CoreType<'_>>()?) {
                found()?;
            }
        }
        0x01 => visit_component_type(reader, level + 1, found)?,
        0x02 => {
            reader.read::<ComponentAlias<'_>>()?;
        }
        0x03 => {
            reader.read::<ComponentImport<'_>>()?;
        }
        0x04 => {
            reader.read::<ComponentExternName<'_>>()?;
            reader.read::<ComponentTypeRef>()?;
        }
        other => return Err(Refused::Malformed(format!("there is no declaration {other:#x} in a type"))),
    }
    Ok(())
}
