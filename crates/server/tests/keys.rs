//! Calls that are made again under the same key.

use axum::http::{Method, StatusCode};
use callstack_core::dialect::Dialect;
use callstack_engine::operation::{CallerKind, Repeated};
use callstack_engine::operations::callable_by;
use callstack_engine::tools;
use serde_json::json;

use crate::support::{Answer, Site};

async fn keyed(site: &Site, key: &str, target: &str) -> Answer {
    let mut headers = site.headers();
    headers.push(("idempotency-key", key.to_owned()));
    let body = if target.starts_with("/frame") {
        json!({"parentID": "f1", "goal": "made once"})
    } else {
        json!({"title": "made once", "successCriteria": "there is one"})
    };
    site.send(Method::POST, target, &headers, body.to_string()).await
}

const PUSH: &str = "/v1/operations/stack_frame_push?session=page";

#[tokio::test]
async fn the_same_key_is_answered_the_same_and_makes_one_frame() {
    let site = Site::new();
    let first = keyed(&site, "a", PUSH).await;
    assert_eq!(first.status, StatusCode::OK, "{first:?}");
    let again = keyed(&site.restarted(), "a", PUSH).await;
    assert_eq!((again.status, again.text), (first.status, first.text.clone()));
    assert_eq!(site.titles().await, ["made once"]);
    let other = keyed(&site, "\"b\"", PUSH).await;
    assert_eq!(other.json()["data"]["handle"], "f2");
    assert_eq!(keyed(&site, "b", PUSH).await.text, other.text);
}

#[tokio::test]
async fn two_at_the_same_time_make_one_frame() {
    let site = Site::new();
    let (first, second) = tokio::join!(keyed(&site, "a", PUSH), keyed(&site, "a", PUSH));
    assert_eq!((first.status, first.text), (StatusCode::OK, second.text));
    assert_eq!(site.titles().await, ["made once"]);
}

#[tokio::test]
async fn the_proposals_endpoints_take_a_key_where_the_session_is_known() {
    let site = Site::new();
    site.did("stack_frame_push", json!({"title": "outer", "successCriteria": "done"})).await;
    let first = keyed(&site, "a", "/frame/push").await;
    assert_eq!(first.status, StatusCode::OK, "{first:?}");
    assert_eq!(keyed(&site, "a", "/frame/push").await.text, first.text);
    assert_eq!(site.titles().await, ["made once", "outer"]);
}

#[tokio::test]
async fn operations_that_are_run_again_without_harm_take_a_key_too() {
    for operation in callable_by(CallerKind::Page) {
        if tools::find(Dialect::Stack, operation.name).is_none() {
            assert_eq!(operation.repeated, Repeated::Runs, "{} has to be kept", operation.name);
            let site = Site::new();
            let target = format!("/v1/operations/{}?session=page", operation.name);
            let answer = keyed(&site, "a", &target).await;
            assert!(answer.status != StatusCode::INTERNAL_SERVER_ERROR, "{answer:?}");
        }
    }
}

#[tokio::test]
async fn a_key_without_a_session_and_one_that_is_none_are_refused() {
    let site = Site::new();
    let long = "x".repeat(256);
    for (key, target) in [
        ("a", "/v1/operations/stack_frame_push"),
        ("", PUSH),
        ("\"\"", PUSH),
        (&*long, PUSH),
        ("\u{e9}", PUSH),
    ] {
        let answer = keyed(&site, key, target).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{key} {target}: {answer:?}");
    }
    assert_eq!(site.titles().await, [""; 0]);
}
