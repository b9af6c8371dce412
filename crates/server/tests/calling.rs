//! Calls of operations: their answers and refusals.

use axum::http::{Method, StatusCode};
use callstack_engine::operation::{Access, CallerKind};
use callstack_engine::operations::TABLE;
use serde_json::json;

use crate::support::Site;

#[tokio::test]
async fn every_operation_that_pages_may_call_is_there() {
    let site = Site::new();
    for operation in TABLE.iter().filter(|operation| operation.is_for(CallerKind::Page)) {
        let answer = site.call(operation.name, json!({"no such argument": 1})).await;
        let problem = answer.json();
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}: {problem}", operation.name);
        assert_eq!(problem["kind"], "invalid", "{}", operation.name);
        assert!(problem["hint"].as_str().unwrap().contains("It takes"), "{problem}");
    }
}

#[tokio::test]
async fn errors_of_the_engine_have_their_status_and_their_hint() {
    let site = Site::new();
    site.did("stack_frame_push", json!({"title": "a", "successCriteria": "b"})).await;
    for (name, arguments, status, kind) in [
        ("stack_frame_push", json!({"title": 7}), StatusCode::BAD_REQUEST, "invalid"),
        ("stack_frame_details", json!({"frame": "f9"}), StatusCode::NOT_FOUND, "not_found"),
        ("stack_frame_activate", json!({"frame": "f1"}), StatusCode::CONFLICT, "conflict"),
        (
            "stack_frame_pop",
            json!({"results": "x".repeat(300_000)}),
            StatusCode::UNPROCESSABLE_ENTITY,
            "limit",
        ),
    ] {
        let answer = site.call(name, arguments).await;
        let problem = answer.json();
        assert_eq!(answer.status, status, "{name}: {problem}");
        assert_eq!(answer.headers["content-type"], "application/problem+json");
        assert_eq!(
            (problem["kind"].as_str(), problem["status"].as_u64()),
            (Some(kind), Some(status.as_u16().into()))
        );
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        assert!(!problem["hint"].as_str().unwrap().is_empty());
    }
}

#[tokio::test]
async fn it_acts_in_the_session_that_is_named_else_in_the_one_that_worked_last() {
    let site = Site::new();
    let push = |title: &str| json!({"title": title, "successCriteria": "done"}).to_string();
    site.did("stack_frame_push", json!({"title": "outer", "successCriteria": "done"})).await;
    site.did("stack_frame_push", json!({"title": "inner", "successCriteria": "done"})).await;
    let status = site.did("stack_status", json!({})).await;
    let stack: Vec<_> =
        status["stack"].as_array().unwrap().iter().map(|it| it["title"].clone()).collect();
    assert_eq!(stack, ["outer", "inner"]);
    let target = "/v1/operations/stack_frame_push?session=nobody";
    let answer = site.send(Method::POST, target, &site.headers(), push("elsewhere")).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{answer:?}");
    for wrong in ["sesion=page", "reveal=yes", "session=page&session=page"] {
        let target = format!("/v1/operations/stack_status?{wrong}");
        let answer = site.send(Method::POST, &target, &site.headers(), "").await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{wrong}: {answer:?}");
        assert_eq!(answer.headers["content-type"], "application/problem+json");
    }
}

#[tokio::test]
async fn secrets_are_masked_unless_they_are_asked_for() {
    let site = Site::new();
    let token = ["ghp_", "abcdefghijklmnopqrstuvwxyz", "0123456789"].concat();
    let criteria = format!("with {token}");
    site.did("stack_frame_push", json!({"title": "a", "successCriteria": criteria})).await;
    for operation in TABLE.iter().filter(|operation| operation.access == Access::Read) {
        let answer = site.call(operation.name, json!({})).await;
        assert!(!answer.text.contains(&token), "{}: {answer:?}", operation.name);
    }
    let target = "/v1/operations/stack_tree?reveal=true";
    let answer = site.send(Method::POST, target, &site.headers(), "").await;
    assert!(answer.text.contains(&token), "{answer:?}");
    let target = "/v1/operations/stack_frame_push?reveal=true";
    let answer = site.send(Method::POST, target, &site.headers(), "{}").await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
}
