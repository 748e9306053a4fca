//! Stopping at the next safe point.

use std::sync::Arc;

use tokio::sync::watch;

/// Why a run should stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// A signal: 2 or 15.
    Signal(u8),
    /// The lease could not be renewed: another run may be at work, so not one more write.
    LeaseLost(String),
}

/// Shared by everyone who may ask for a stop and everyone who must heed it.
#[derive(Clone, Debug)]
pub struct Halter {
    state: Arc<watch::Sender<Option<Halt>>>,
}

impl Default for Halter {
    fn default() -> Self {
        Self { state: Arc::new(watch::Sender::new(None)) }
    }
}

impl Halter {
    /// Asks for a stop. A lost lease outweighs a signal; otherwise the first reason counts.
    pub fn halt(&self, why: Halt) {
        self.state.send_if_modified(|state| {
            let stronger = matches!(why, Halt::LeaseLost(_)) && !matches!(state, Some(Halt::LeaseLost(_)));
            let change = state.is_none() || stronger;
            if change {
                *state = Some(why);
            }
            change
        });
    }

    /// Whether a stop was asked for.
    pub fn halted(&self) -> Option<Halt> {
        self.state.borrow().clone()
    }

    /// Whether not one more write may happen.
    pub fn lost(&self) -> Option<String> {
        match &*self.state.borrow() {
            Some(Halt::LeaseLost(why)) => Some(why.clone()),
            _ => None,
        }
    }

    /// Ends when a stop is asked for.
    pub async fn wait(&self) -> Halt {
        let mut receiver = self.state.subscribe();
        loop {
            if let Some(halt) = receiver.borrow_and_update().clone() {
                return halt;
            }
            // The sender lives in self, so this can't fail while we wait.
            if receiver.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
