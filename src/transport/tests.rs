//! The transport in a real browser, with a host whose parts can be made to fail.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::{Function, Promise, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_sys::{AbortController, AbortSignal};

use super::{Body, Clock, Failure, Fetch, Observer, Payload, Scope, Slot, task};
use crate::error::{Error, code};
use crate::protocol::http::{Method, Request};

wasm_bindgen_test_configure!(run_in_browser);

/// Evaluates a JavaScript expression.
fn js(expression: &str) -> JsValue {
    Function::new_no_args(&format!("return ({expression})")).call0(&JsValue::UNDEFINED).unwrap()
}

fn get(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &name.into()).unwrap()
}

async fn rejection(promise: Promise) -> JsValue {
    JsFuture::from(promise).await.unwrap_err()
}

async fn sleep(ms: u32) {
    JsFuture::from(Promise::from(js(&format!("new Promise((resolve) => setTimeout(resolve, {ms}))")))).await.unwrap();
}

fn code_of(failure: &Failure) -> &'static str {
    failure.error().expect("one of our errors").code
}

#[wasm_bindgen_test]
async fn a_panic_is_the_failure_of_its_own_operation() {
    for round in 0..3 {
        let error = rejection(task::promise(async move {
            if round == 1 {
                sleep(1).await;
            }
            panic!("the reason of round {round}")
        }))
        .await;
        assert_eq!(get(&error, "name"), "InternalError");
        assert_eq!(get(&error, "code"), "internal");
        assert!(get(&error, "cause").is_instance_of::<js_sys::Error>(), "the trap, whose stack says where");
        // Neither the event loop nor the next operation has noticed.
        let next = task::promise(async { Ok(JsValue::from(7)) });
        assert_eq!(JsFuture::from(next).await.unwrap(), 7);
    }
}

#[wasm_bindgen_test]
async fn a_panic_in_a_background_task_is_reported() {
    let told: Slot<&'static str> = Slot::new();
    let report = told.clone();
    task::spawn(async { panic!("in the background") }, move |failure| report.set(code_of(&failure)));
    assert_eq!(told.wait().await, code::INTERNAL);
}

#[wasm_bindgen_test]
async fn a_promise_rejects_with_exactly_what_was_thrown() {
    let reason = js("({ any: 'value' })");
    let thrown = reason.clone();
    assert!(rejection(task::promise(async { Err(Failure::Thrown(thrown)) })).await == reason);

    let error = rejection(task::promise(async { Err(Error::invalid_argument("wrong").with_status(400).into()) })).await;
    assert_eq!(get(&error, "name"), "InvalidArgumentError");
    assert_eq!(get(&error, "status"), 400);
    assert!(error.is_instance_of::<js_sys::Error>());
}

#[wasm_bindgen_test]
async fn a_slot_wakes_everyone_and_keeps_the_first_value() {
    let slot: Slot<u32> = Slot::new();
    let sum = Rc::new(Cell::new(0));
    for _ in 0..3 {
        let (slot, sum) = (slot.clone(), sum.clone());
        task::spawn(
            async move {
                let value = slot.wait().await;
                sum.set(sum.get() + value);
                Ok(())
            },
            |_| {},
        );
    }
    sleep(1).await;
    slot.set(5);
    slot.set(6);
    sleep(1).await;
    assert_eq!(sum.get(), 15);
    assert_eq!(slot.get(), Some(5));
}

#[wasm_bindgen_test]
async fn a_signal_ends_a_wait_with_its_reason() {
    let controller = AbortController::new().unwrap();
    let scope = Scope::of(Some(&controller.signal())).unwrap();
    let reason = js("({ mine: true })");
    let (cause, inner) = (reason.clone(), scope.clone());
    task::spawn(
        async move {
            sleep(1).await;
            controller.abort_with_reason(&cause);
            Ok(())
        },
        |_| {},
    );
    let ended = inner.run(std::future::pending::<()>()).await.unwrap_err();
    assert!(matches!(ended, Failure::Thrown(value) if value == reason));
    assert!(scope.signal().aborted(), "the host is told");
    // Once ended, nothing is waited for any more.
    assert!(scope.run(std::future::ready(1)).await.is_err());
}

#[wasm_bindgen_test]
fn a_signal_that_has_fired_refuses_at_once() {
    let signal: AbortSignal = js("AbortSignal.abort('before')").unchecked_into();
    assert!(matches!(Scope::of(Some(&signal)), Err(Failure::Thrown(reason)) if reason == "before"));
}

#[wasm_bindgen_test]
fn a_scope_leaves_no_listener_behind() {
    let signal = js(
        "({ aborted: false, count: 0, addEventListener() { this.count += 1 }, removeEventListener() { this.count -= 1 } })",
    );
    let scope = Scope::of(Some(signal.unchecked_ref())).unwrap();
    assert_eq!(get(&signal, "count"), 1);
    drop(scope);
    assert_eq!(get(&signal, "count"), 0);
}

#[wasm_bindgen_test]
async fn each_clock_has_its_own_error() {
    let clocks = [
        (Clock::Request(1), code::REQUEST_TIMEOUT),
        (Clock::Idle(1), code::IDLE_TIMEOUT),
        (Clock::Execution(1), code::EXECUTION_TIMEOUT),
    ];
    for (clock, expected) in clocks {
        let scope = Scope::new().unwrap();
        let armed = scope.arm(clock);
        let ended = scope.run(std::future::pending::<()>()).await.unwrap_err();
        assert_eq!(code_of(&ended), expected);
        drop(armed);
    }
}

#[wasm_bindgen_test]
async fn a_clock_that_is_dropped_or_zero_never_fires() {
    let scope = Scope::new().unwrap();
    drop(scope.arm(Clock::Request(1)));
    assert!(scope.arm(Clock::Request(0)).is_none());
    assert!(scope.arm(Clock::Lifetime(0)).is_none());
    let long = scope.arm(Clock::Request(u64::MAX));
    sleep(20).await;
    assert!(scope.ended().is_none());
    drop(long);
}

fn request() -> Request {
    let mut request = Request::new(Method::Post, "http://sandbox.test/path?signature=secret");
    request.headers.set("content-type", "application/proto");
    request.body = Some(vec![1, 2, 3]);
    request
}

async fn send(fetch: &str) -> Result<(u16, Vec<u8>), Failure> {
    let scope = Scope::new().unwrap();
    let fetch = Fetch::new(Some(js(fetch).unchecked_into()), Observer::default());
    fetch.call(request(), &Payload::Request, &scope).await.map(|(head, body)| (head.status, body))
}

#[wasm_bindgen_test]
async fn a_request_is_sent_as_it_is() {
    let seen = js("globalThis.seen = []");
    let answer = send("async (...call) => { seen.push(call); return new Response('hello', { status: 201 }) }").await;
    assert_eq!(answer.unwrap(), (201, b"hello".to_vec()));
    let call = get(&seen, "0");
    assert_eq!(get(&call, "0"), "http://sandbox.test/path?signature=secret");
    let init = get(&call, "1");
    assert_eq!(get(&init, "method"), "POST");
    assert_eq!(get(&get(&init, "headers"), "content-type"), "application/proto");
    assert_eq!(get(&init, "redirect"), "manual");
    assert_eq!(get(&init, "cache"), "no-store");
    assert_eq!(get(&init, "body").unchecked_into::<Uint8Array>().to_vec(), [1, 2, 3]);
}

#[wasm_bindgen_test]
async fn failures_before_an_answer_name_the_origin_and_keep_the_cause() {
    for fetch in
        ["() => Promise.reject(new TypeError('Failed to fetch'))", "() => { throw new TypeError('Failed to fetch') }"]
    {
        let failure = send(fetch).await.unwrap_err();
        assert_eq!(code_of(&failure), code::CONNECTION_FAILED);
        let error = failure.into_js();
        let message = get(&error, "message").as_string().unwrap();
        assert!(message.contains("http://sandbox.test") && !message.contains("secret"), "{message}");
        assert_eq!(get(&get(&error, "cause"), "message"), "Failed to fetch");
        assert_eq!(get(&error, "retryable"), true);
    }
}

#[wasm_bindgen_test]
async fn redirects_are_refused() {
    for fetch in [
        "async () => new Response(null, { status: 302 })",
        "async () => ({ status: 0, type: 'opaqueredirect', body: null, headers: new Headers() })",
    ] {
        assert_eq!(code_of(&send(fetch).await.unwrap_err()), code::PROTOCOL_ERROR, "{fetch}");
    }
}

#[wasm_bindgen_test]
async fn a_body_that_breaks_off_is_a_lost_connection() {
    let failure = send(
        "async () => new Response(new ReadableStream({ pull(c) { if (this.n) c.error(new Error('cut')); else { this.n = 1; c.enqueue(new Uint8Array(3)) } } }))",
    )
    .await
    .unwrap_err();
    assert_eq!(code_of(&failure), code::CONNECTION_LOST);
}

#[wasm_bindgen_test]
async fn a_body_that_is_not_read_to_its_end_is_cancelled() {
    let state = js("({ cancelled: 0 })");
    let stream = Function::new_with_args(
        "state",
        "return new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(3)) }, cancel() { state.cancelled += 1; throw new Error('ignored') } })",
    );
    let scope = Scope::new().unwrap();
    let mut body = Body::new(Some(stream.call1(&JsValue::UNDEFINED, &state).unwrap().unchecked_into()));
    assert_eq!(body.next(&scope).await.unwrap().unwrap().length(), 3);
    drop(body);
    assert_eq!(get(&state, "cancelled"), 1);

    let missing = Body::new(None).read_all(&scope).await.unwrap();
    assert!(missing.is_empty(), "an answer without a body has no bytes");
}

#[wasm_bindgen_test]
async fn waiting_ends_even_if_the_host_never_answers() {
    let scope = Scope::new().unwrap();
    let fetch = Fetch::new(Some(js("() => new Promise(() => {})").unchecked_into()), Observer::default());
    let clock = scope.arm(Clock::Request(5));
    let failure = fetch.call(request(), &Payload::Request, &scope).await.unwrap_err();
    assert_eq!(code_of(&failure), code::REQUEST_TIMEOUT);
    drop(clock);
}

#[wasm_bindgen_test]
async fn futures_are_dropped_when_they_are_done() {
    struct Guard(Rc<RefCell<u32>>);
    impl Drop for Guard {
        fn drop(&mut self) {
            *self.0.borrow_mut() += 1;
        }
    }
    let dropped = Rc::new(RefCell::new(0));
    let guard = Guard(dropped.clone());
    let promise = task::promise(async move {
        let _guard = guard;
        sleep(1).await;
        Ok(JsValue::NULL)
    });
    JsFuture::from(promise).await.unwrap();
    assert_eq!(*dropped.borrow(), 1);
}
