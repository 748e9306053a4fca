//! What is typed and what is meant.
