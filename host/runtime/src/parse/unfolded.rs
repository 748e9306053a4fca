//! Counts the size that a component has when it is compiled.
//!
//! The compiler copies a nested component into each of its instantiations. If one is instantiated twice, inside one that is
//! instantiated twice, and so on, a small file needs more than the machine's memory. So the result is counted beforehand. A
//! component that is passed in from elsewhere can't be counted, and tools don't instantiate such components.

use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, ComponentTypeRef,
    Instance, Payload,
};

use crate::error::Refused;
use crate::meter::INSTANCES;

/// The most bytes of definitions, not counting code and nested components.
const DEFINITIONS: usize = 1 << 20;

/// The size of one instance of a component, including everything it instantiates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    /// Instances of core modules.
    instances: usize,
    /// Bytes of definitions.
    definitions: usize,
}

impl Size {
    /// Saturates: a count that overflows exceeds every limit.
    fn add(&mut self, other: Self) {
        self.instances = self.instances.saturating_add(other.instances);
        self.definitions = self.definitions.saturating_add(other.definitions);
    }
}

/// A component being read.
#[derive(Debug, Default)]
struct Frame {
    size: Size,
    /// The components it knows, by index; none: passed in from elsewhere.
    known: Vec<Option<Size>>,
}

/// Counts, payload by payload, the contents of a valid component.
#[derive(Debug)]
pub(crate) struct Unfolded {
    /// From the outermost to the one being read.
    open: Vec<Frame>,
    /// Inside a core module, whose sections are skipped.
    module: bool,
}

impl Default for Unfolded {
    fn default() -> Self {
        Self { open: vec![Frame::default()], module: false }
    }
}

impl Unfolded {
    /// Returns true if the current payload belongs to the outermost component itself.
    pub(crate) fn is_outermost(&self) -> bool {
        self.open.len() == 1 && !self.module
    }

    /// The next part of the binary.
    pub(crate) fn count_payload(&mut self, payload: &Payload<'_>) -> Result<(), Refused> {
        match payload {
            Payload::End(_) if self.module => {
                self.module = false;
                return Ok(());
            }
            Payload::End(_) => return self.close_component(),
            _ if self.module => return Ok(()),
            Payload::ModuleSection { .. } => self.module = true,
            Payload::ComponentSection { .. } => self.open.push(Frame::default()),
            _ => {}
        }
        let Some((frame, outer)) = self.open.split_last_mut() else { return Ok(()) };
        frame.count_definitions(payload, outer)?;
        let Size { instances, definitions } = frame.size;
        if instances > INSTANCES {
            return Err(Refused::Unfolds(format!("more than {INSTANCES} instances of modules")));
        }
        if definitions > DEFINITIONS {
            return Err(Refused::Unfolds(format!("more than {DEFINITIONS} bytes of definitions")));
        }
        Ok(())
    }

    /// The component being read is complete, and known to the one around it.
    fn close_component(&mut self) -> Result<(), Refused> {
        let closed = self.open.pop();
        if let (Some(closed), Some(around)) = (closed, self.open.last_mut()) {
            around.known.push(Some(closed.size));
        }
        Ok(())
    }
}

impl Frame {
    /// Counts a section, and records which components it defines.
    fn count_definitions(&mut self, payload: &Payload<'_>, outer: &[Self]) -> Result<(), Refused> {
        self.size.add(Size { instances: 0, definitions: payload_size(payload) });
        match payload {
            Payload::InstanceSection(section) => {
                for instance in section.clone() {
                    if matches!(instance?, Instance::Instantiate { .. }) {
                        self.size.add(Size { instances: 1, definitions: 0 });
                    }
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section.clone() {
                    let ComponentInstance::Instantiate { component_index, .. } = instance? else { continue };
                    let Some(size) = size_at(&self.known, component_index) else {
                        let what =
                            "a component that is handed in from elsewhere, as often as nobody can count";
                        return Err(Refused::Unfolds(what.into()));
                    };
                    self.size.add(size);
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.clone() {
                    match alias? {
                        ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => {
                            self.known.push(None);
                        }
                        ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                            let known = self
                                .find_enclosing(outer, count)
                                .and_then(|frame| size_at(&frame.known, index));
                            self.known.push(known);
                        }
                        _ => {}
                    }
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section.clone() {
                    if matches!(import?.ty, ComponentTypeRef::Component(_)) {
                        self.known.push(None);
                    }
                }
            }
            // An export gets a new index, too.
            Payload::ComponentExportSection(section) => {
                for export in section.clone() {
                    let export = export?;
                    if export.kind == ComponentExternalKind::Component {
                        self.known.push(size_at(&self.known, export.index));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The component this many levels further out.
    fn find_enclosing<'a>(&'a self, outer: &'a [Self], steps: u32) -> Option<&'a Self> {
        let steps = usize::try_from(steps).ok()?;
        match steps.checked_sub(1) {
            None => Some(self),
            Some(above) => outer.iter().rev().nth(above),
        }
    }
}

fn size_at(known: &[Option<Size>], index: u32) -> Option<Size> {
    known.get(usize::try_from(index).ok()?).copied().flatten()
}

/// Returns the size that a section defines. Nested components count where they are instantiated; here only their header counts.
fn payload_size(payload: &Payload<'_>) -> usize {
    match payload {
        Payload::CustomSection(_) => 0,
        Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => 8,
        payload => payload.as_section().map_or(0, |(_, range)| range.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty module.
    const MODULE: [u8; 8] = *b"\0asm\x01\0\0\0";
    /// A vector of one: a core module's only instance, of the first module.
    const CORE_INSTANCE: [u8; 4] = [1, 0, 0, 0];

    fn section(id: u8, content: &[u8]) -> Vec<u8> {
        let (mut left, mut out) = (content.len(), vec![id]);
        while left >= 0x80 {
            out.push(u8::try_from(left & 0x7f).unwrap() | 0x80);
            left >>= 7;
        }
        out.push(u8::try_from(left).unwrap());
        out.extend_from_slice(content);
        out
    }

    fn component(sections: &[Vec<u8>]) -> Vec<u8> {
        [b"\0asm\x0d\0\x01\0".to_vec(), sections.concat()].concat()
    }

    fn nested(sections: &[Vec<u8>]) -> Vec<u8> {
        section(4, &component(sections))
    }

    /// One instance of the component of each of these indices.
    fn instances(of: &[u8]) -> Vec<u8> {
        let each = of.iter().flat_map(|index| [0, *index, 0]);
        section(5, &[u8::try_from(of.len()).unwrap()].into_iter().chain(each).collect::<Vec<_>>())
    }

    /// The number of module instances in one instance of it, or why it is refused.
    fn unfolded(sections: &[Vec<u8>]) -> Result<usize, String> {
        let binary = component(sections);
        wasmparser::Validator::new_with_features(super::super::features()).validate_all(&binary).unwrap();
        let mut unfolded = Unfolded::default();
        let mut most = 0;
        for payload in wasmparser::Parser::new(0).parse_all(&binary) {
            unfolded.count_payload(&payload.unwrap()).map_err(|why| why.to_string())?;
            most = most.max(unfolded.open.first().map_or(0, |frame| frame.size.instances));
        }
        Ok(most)
    }

    fn leaf() -> Vec<u8> {
        nested(&[section(1, &MODULE), section(2, &CORE_INSTANCE)])
    }

    /// Doubled this often, each around the one before.
    fn doubled(times: usize, innermost: Vec<u8>) -> Vec<u8> {
        (0..times).fold(innermost, |inner, _| nested(&[inner, instances(&[0, 0])]))
    }

    #[test]
    fn repeated_instantiation_counts_repeatedly() {
        assert_eq!(unfolded(&[leaf()]), Ok(0));
        assert_eq!(unfolded(&[leaf(), instances(&[0, 0, 0])]), Ok(3));
        assert_eq!(unfolded(&[doubled(7, leaf()), instances(&[0])]), Ok(128));
        for times in [8, 26, 80] {
            let refused = unfolded(&[doubled(times, leaf()), instances(&[0])]).unwrap_err();
            assert_eq!(
                refused,
                "is small and would be compiled into more than 200 instances of modules; no plugin may"
            );
        }
    }

    #[test]
    fn components_without_modules_count_too() {
        let refused = unfolded(&[doubled(26, nested(&[])), instances(&[0])]).unwrap_err();
        assert!(refused.contains("bytes of definitions"), "{refused}");
    }

    #[test]
    fn alias_is_the_same_component() {
        // One that is defined further out, aliased.
        let alias = section(6, &[1, 4, 2, 1, 0]);
        let around = nested(&[alias, instances(&[0, 0])]);
        assert_eq!(unfolded(&[leaf(), around, instances(&[0, 1])]), Ok(3));
        // An exported one has a second index, so the next definition gets the third.
        let export = section(11, &[1, 0, 1, b'e', 4, 0, 0]);
        assert_eq!(unfolded(&[leaf(), export, instances(&[1]), nested(&[]), instances(&[2, 1])]), Ok(2));
    }

    #[test]
    fn imported_components_cannot_be_instantiated() {
        let empty_type = section(7, &[1, 0x41, 0]);
        let import = section(10, &[1, 0, 1, b'p', 4, 0]);
        assert_eq!(unfolded(&[nested(&[empty_type.clone(), import.clone()])]), Ok(0));
        let refused = unfolded(&[nested(&[empty_type, import, instances(&[0])])]).unwrap_err();
        assert!(refused.contains("handed in from elsewhere"), "{refused}");
        // An instance that passes one out.
        let export = section(11, &[1, 0, 1, b'e', 4, 0, 0]);
        let alias = section(6, &[1, 4, 0, 0, 1, b'e']);
        let out = nested(&[leaf(), export]);
        let refused = unfolded(&[out, instances(&[0]), alias, instances(&[1])]).unwrap_err();
        assert!(refused.contains("handed in from elsewhere"), "{refused}");
    }
}
