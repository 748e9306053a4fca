//! Refusals, remedies and risks, and text for people.
//!
//! | module | content |
//! |---|---|
//! | `refusal` | a reason to refuse a move |
//! | `remedy` | actions that a user can take about a refusal |
//! | `risk` | risks that users accept by their code |
//! | `grouping` | findings about many objects in one line |
//! | `shell` | commands that users can paste |
//! | `safe_text` | text from elsewhere, as one bounded line |

pub mod grouping;
pub mod refusal;
pub mod remedy;
pub mod risk;
pub mod safe_text;
pub mod shell;
