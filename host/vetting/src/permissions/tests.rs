//! Tests of the whole room.

mod hostile;
