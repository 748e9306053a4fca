//! A link: a place at the far end of a connection that it made itself.
//!
//! The agent dials out, because nobody can reach it; on that connection it *serves*, and the side that was called asks. Each verb
//! of [`Place`](pivot_places::Place) is one HTTP/2 stream, so that a lease is renewed beside a list, and the engine, on the side
//! that asks, doesn't know that there is a link.
//!
//! Questions are JSON: every argument of every verb has a form as text already, and bodies of objects are sent as they are. gRPC
//! was looked at and left out: it would add a code generator and three crates, and give nothing that HTTP/2 doesn't have.
//!
//! | room | what is in it |
//! |---|---|
//! | `ask`, `deed` | the verbs as values, and the requests that they would become |
//! | `frame` | the parts of an answer |
//! | [`serve()`], [`Guard`], [`Role`], `ended` | the far end, what it may be asked, and until when |
//! | [`LinkPlace`] | the near end |
//! | [`TlsFiles`], [`AgentName`] | who is at the two ends, by the certificates of an authority of the site's |
//! | [`Enrolment`], [`Credentials`] | the same by those of the controller's own: how an agent gets one, and the next |
//! | [`Agent`], [`Agents`] | who calls, and who is called |
//! | [`Newcomers`], `quiet` | strangers: how many at once, and how many lines about them |
//! | `tls`, `pem`, `reach`, `tunnel`, [`Clock`] | what both ways need |

mod agents;
mod clock;
mod connection;
mod credentials;
mod dial;
mod enrolment;
mod expected_answer;
mod frame;
mod guard;
mod link_request;
mod log_throttle;
mod name;
mod newcomers;
mod pem;
mod place;
mod post_move_gate;
mod reach;
mod rejected_connection;
mod requested_access;
mod role;
mod serve;
mod tls;
mod tls_files;
mod tunnel;
mod work;

#[cfg(test)]
#[path = "../../../tests/worlds/src/mutants.rs"]
#[expect(unreachable_pub, reason = "it is public where it is at home")]
mod mutants;

pub use agents::Agents;
pub use clock::{Clock, WallClock};
pub use connection::Connection;
pub use credentials::{Credentials, CredentialsError, invitation_data};
pub use dial::{Agent, DialError, Finish, Returned};
pub use enrolment::{AuthorityError, Enrolment, Invitation, NoRandomness, RegisterError};
pub use guard::Guard;
pub use name::AgentName;
pub use newcomers::{Newcomer, Newcomers};
pub use place::{Alive, LinkError, LinkPlace};
pub use reach::{ReachError, check_address};
pub use role::Role;
pub use serve::serve;
pub use tls_files::{TlsFiles, TlsFilesError};

/// The one path of the protocol's first version.
const PATH: &str = "/pivot-link/1";
/// The same as HTTP/2 asks for it. The host is only a form: the connection leads to one place.
const URI: &str = "http://agent/pivot-link/1";
