//! The planner: makes a [`Plan`](crate::plan::Plan) from what was read, what the user asked for and what plugins returned.

mod clusters;
mod make;
mod mapping_check;

pub use make::make_plan;

#[cfg(test)]
mod tests;
