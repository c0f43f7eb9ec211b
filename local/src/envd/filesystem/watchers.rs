//! Watchers for clients that poll: their events are collected until somebody asks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use connectrpc::ConnectError;
use rand::Rng;
use tokio::task::AbortHandle;

use super::watch::Watcher;
use crate::protocol::filesystem::FilesystemEvent;

/// A watcher that nobody asks fails when it holds this many events.
const LIMIT: usize = 1 << 18;

/// All polled watchers. They belong to nobody, and live until they are removed.
#[derive(Default)]
pub(in crate::envd) struct Watchers {
    by_id: Mutex<HashMap<String, Polled>>,
}

struct Polled {
    queue: Arc<Mutex<Queue>>,
    task: AbortHandle,
}

#[derive(Default)]
struct Queue {
    events: Vec<FilesystemEvent>,
    failure: Option<ConnectError>,
}

impl Drop for Polled {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watchers {
    /// Collects what `watcher` reports, and returns the id to ask for it. Must be called inside the runtime.
    pub(super) fn add(&self, watcher: Watcher) -> String {
        let queue = Arc::<Mutex<Queue>>::default();
        let task = tokio::spawn(collect(watcher, Arc::clone(&queue))).abort_handle();
        let id = new_id();
        lock(&self.by_id).insert(id.clone(), Polled { queue, task });
        id
    }

    /// What happened since the last call.
    pub(super) fn take(&self, id: &str) -> Result<Vec<FilesystemEvent>, ConnectError> {
        let queue = lock(&self.by_id).get(id).map(|polled| Arc::clone(&polled.queue)).ok_or_else(|| not_found(id))?;
        let mut queue = lock(&queue);
        match &queue.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(std::mem::take(&mut queue.events)),
        }
    }

    pub(super) fn remove(&self, id: &str) -> Result<(), ConnectError> {
        lock(&self.by_id).remove(id).map(drop).ok_or_else(|| not_found(id))
    }
}

fn not_found(id: &str) -> ConnectError {
    ConnectError::not_found(format!("watcher with id {id} not found"))
}

async fn collect(mut watcher: Watcher, queue: Arc<Mutex<Queue>>) {
    loop {
        let event = watcher.next().await;
        let mut queue = lock(&queue);
        match event {
            Ok(event) if queue.events.len() < LIMIT => queue.events.push(event),
            Ok(_) => queue.failure = Some(ConnectError::internal("watcher error: too many events were not collected")),
            Err(error) => queue.failure = Some(error),
        }
        if queue.failure.is_some() {
            queue.events = Vec::new();
            return;
        }
    }
}

/// `w` and twenty letters and digits.
fn new_id() -> String {
    const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut random = rand::rng();
    std::iter::once('w').chain((0..20).map(|_| char::from(LETTERS[random.random_range(0..LETTERS.len())]))).collect()
}
