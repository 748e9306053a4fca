//! Counts the values that a function's code transfers: into and out of blocks, along branches, into and out of calls.
//!
//! A branch is two bytes, and may transfer a thousand values; so may each target of a branch table.

use wasmparser::{BlockType, Operator};

use super::count::Count;
use crate::error::Refused;

/// The most targets of one `br_table`.
const TARGETS: u64 = 100_000;
const BLOCKS: &str = "blocks in one function";

/// The types and functions to which a function's code refers.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// The types: how many values a function of each takes and returns.
    types: Vec<Signature>,
    /// The functions, imported ones first.
    functions: Vec<Signature>,
    /// Number of functions that have no code, or whose code was already read.
    read: usize,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signature {
    pub(super) params: u64,
    pub(super) results: u64,
}

impl Signature {
    pub(super) fn total(self) -> u64 {
        self.params + self.results
    }
}

impl Module {
    pub(super) fn define_type(&mut self, signature: Signature) {
        self.types.push(signature);
    }

    pub(super) fn import_function(&mut self, ty: u32) {
        self.declare_function(ty);
        self.read += 1;
    }

    pub(super) fn declare_function(&mut self, ty: u32) -> Signature {
        let signature = self.of_type(ty);
        self.functions.push(signature);
        signature
    }

    /// The function whose code comes next.
    pub(super) fn next(&mut self) -> Signature {
        let signature = self.functions.get(self.read).copied().unwrap_or_default();
        self.read += 1;
        signature
    }

    fn of_type(&self, index: u32) -> Signature {
        signature_at(&self.types, index)
    }
}

fn signature_at(signatures: &[Signature], index: u32) -> Signature {
    usize::try_from(index).ok().and_then(|index| signatures.get(index)).copied().unwrap_or_default()
}

/// A function's code.
pub(super) struct Code<'a> {
    module: &'a Module,
    own: Signature,
    /// Number of values that a branch to each open block transfers, outermost first.
    labels: Vec<u64>,
    blocks: Count,
}

impl<'a> Code<'a> {
    pub(super) fn new(module: &'a Module, own: Signature) -> Self {
        Self { module, own, labels: vec![own.results], blocks: Count::new(BLOCKS, 100_000) }
    }

    /// Returns the number of values that an instruction transfers. Invalid code counts as zero, because the validator refuses
    /// it.
    pub(super) fn count_transferred_values(&mut self, operator: &Operator<'_>) -> Result<u64, Refused> {
        Ok(match operator {
            Operator::Block { blockty } | Operator::If { blockty } | Operator::Try { blockty } => {
                self.open_block(*blockty, |signature| signature.results)?
            }
            Operator::TryTable { try_table } => {
                let caught = try_table.catches.len() as u64;
                self.open_block(try_table.ty, |signature| signature.results)? + caught
            }
            Operator::Loop { blockty } => self.open_block(*blockty, |signature| signature.params)?,
            Operator::End | Operator::Delegate { .. } => self.labels.pop().unwrap_or(0) + 1,
            Operator::Else => self.count_label_values(0),
            Operator::Br { relative_depth }
            | Operator::BrIf { relative_depth }
            | Operator::BrOnNull { relative_depth }
            | Operator::BrOnNonNull { relative_depth } => self.count_label_values(*relative_depth),
            Operator::BrTable { targets } => {
                if u64::from(targets.len()) > TARGETS {
                    return Err(Refused::TooMany { what: "targets of one br_table", most: TARGETS });
                }
                let mut sum = self.count_label_values(targets.default());
                for target in targets.targets() {
                    sum += self.count_label_values(target?);
                }
                sum
            }
            Operator::Return => self.own.results + 1,
            Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                signature_at(&self.module.functions, *function_index).total() + 1
            }
            Operator::CallIndirect { type_index, .. }
            | Operator::ReturnCallIndirect { type_index, .. }
            | Operator::CallRef { type_index }
            | Operator::ReturnCallRef { type_index } => self.module.of_type(*type_index).total() + 1,
            _ => 1,
        })
    }

    fn open_block(&mut self, ty: BlockType, branch: impl Fn(Signature) -> u64) -> Result<u64, Refused> {
        self.blocks.add(1_u64)?;
        let signature = match ty {
            BlockType::Empty => Signature::default(),
            BlockType::Type(_) => Signature { params: 0, results: 1 },
            BlockType::FuncType(index) => self.module.of_type(index),
        };
        self.labels.push(branch(signature));
        Ok(signature.total() + 1)
    }

    fn count_label_values(&self, depth: u32) -> u64 {
        let depth = usize::try_from(depth).unwrap_or(usize::MAX);
        self.labels.iter().rev().nth(depth).copied().unwrap_or(0) + 1
    }
}
