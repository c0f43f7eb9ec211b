//! `setTimeout`, owned: dropping it clears it.

use std::cell::RefCell;

use wasm_bindgen::prelude::*;

use super::host;

/// Fires once unless it is dropped before.
pub(crate) struct Timer {
    id: JsValue,
    _callback: Closure<dyn FnMut()>,
}

/// Hosts fire at once for longer delays, because they keep the delay in 31 bits.
const LONGEST_MS: u64 = i32::MAX as u64;

impl Timer {
    /// Calls `callback` after `delay_ms`. A delay beyond 24.8 days, the longest a host can wait, is cut to that.
    pub(crate) fn after(delay_ms: u64, callback: impl FnOnce() + 'static) -> Self {
        let callback = Closure::once(callback);
        let id = host::set_timeout(callback.as_ref().unchecked_ref(), delay_ms.min(LONGEST_MS) as i32);
        Timer { id, _callback: callback }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        host::clear_timeout(&self.id);
    }
}

/// The same for waits that come one after the other: one callback serves all of them.
pub(crate) struct Alarm {
    callback: Closure<dyn FnMut()>,
    delay_ms: i32,
    id: RefCell<Option<JsValue>>,
}

impl Alarm {
    /// Calls `callback` when `delay_ms` have passed since [`Alarm::start`] without [`Alarm::stop`].
    pub(crate) fn new(delay_ms: u64, callback: impl FnMut() + 'static) -> Self {
        Alarm { callback: Closure::new(callback), delay_ms: delay_ms.min(LONGEST_MS) as i32, id: RefCell::default() }
    }

    pub(crate) fn start(&self) {
        let id = host::set_timeout(self.callback.as_ref().unchecked_ref(), self.delay_ms);
        if let Some(earlier) = self.id.replace(Some(id)) {
            host::clear_timeout(&earlier);
        }
    }

    pub(crate) fn stop(&self) {
        if let Some(id) = self.id.take() {
            host::clear_timeout(&id);
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.stop();
    }
}
