//! Makes a [`Plan`](crate::plan::Plan) from the inventory, the scope and the plugins' relations.

mod clusters;
mod make;
mod mapping_check;

pub use make::make_plan;

#[cfg(test)]
mod tests;
