//! A link: a place at the far end of a connection that it made itself.
//!
//! The agent dials out, because no other side can reach it. On that connection it *serves*, and the side that it called asks.
//! Each verb of [`Place`](pivot_places::Place) is one HTTP/2 stream, so a lease is renewed during a list. The engine, on the
//! asking side, doesn't know about the link.
//!
//! Requests are JSON: every argument of every verb has a text form already, and bodies of objects are sent as they are. gRPC
//! was rejected. It would add a code generator and three crates, and offers nothing that HTTP/2 lacks.
//!
//! | module or type | content |
//! |---|---|
//! | `link_request`, `requested_access` | the verbs as values, and the access that they ask for |
//! | `frame` | the parts of an answer |
//! | [`serve()`], [`Guard`], [`Role`], `post_move_gate` | the far end, its rules, and its end |
//! | [`LinkPlace`], `expected_answer` | the near end, and its checks of answers |
//! | `return_offers`, [`OfferedCluster`] | Clusters that may move out of the far end |
//! | [`TlsFiles`], [`AgentName`] | identities from certificates of the site's authority |
//! | [`Enrolment`], [`Credentials`] | identities from certificates of the controller's authority |
//! | [`Agent`], [`Agents`] | the calling and the called end |
//! | [`Newcomers`], `log_throttle` | limits for strangers: connections and log lines |
//! | `tls`, `pem`, `reach`, `tunnel`, [`Clock`] | shared tools |

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
mod return_offers;
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
pub use dial::{Agent, DialError, Finish, LinkStatus, Returned};
pub use enrolment::{AuthorityError, Enrolment, Invitation, NoRandomness, RegisterError};
pub use guard::Guard;
pub use link_request::OfferedCluster;
pub use name::AgentName;
pub use newcomers::{Newcomer, Newcomers};
pub use place::{Alive, LinkError, LinkPlace};
pub use reach::{ReachError, check_address};
pub use role::Role;
pub use serve::serve;
pub use tls_files::{TlsFiles, TlsFilesError};

/// The one path of the protocol's first version.
const PATH: &str = "/pivot-link/1";
/// URI of every request, as HTTP/2 requires one. The host is a formality: the connection leads to one place.
const URI: &str = "http://agent/pivot-link/1";
