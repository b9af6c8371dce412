//! The admission of requests. Each barrier is tried with a request that would be answered except for one thing.

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::support::{Answer, PORT, Site};

/// Sends a push with changed headers: each replaces the one of its name or is added, and one without a value is left
/// out.
async fn push(site: &Site, changed: &[(&'static str, Option<&str>)]) -> Answer {
    let mut headers = site.headers();
    headers.retain(|(name, _)| !changed.iter().any(|(other, _)| name == other));
    let given = changed.iter().filter_map(|(name, value)| Some((*name, (*value)?.to_owned())));
    headers.extend(given);
    let body = json!({"title": "pushed", "successCriteria": "it is"}).to_string();
    site.send(Method::POST, "/v1/operations/stack_frame_push", &headers, body).await
}

async fn refused(changed: &[(&'static str, Option<&str>)], status: StatusCode) -> Answer {
    let site = Site::new();
    let answer = push(&site, changed).await;
    assert_eq!(answer.status, status, "{changed:?}: {answer:?}");
    assert_eq!(answer.headers[CONTENT_TYPE], "application/problem+json");
    assert_eq!(answer.json()["status"], status.as_u16());
    assert!(!answer.text.contains(site.token.as_str()));
    assert_eq!(site.titles().await, [""; 0], "{changed:?}");
    answer
}

#[tokio::test]
async fn with_the_token_a_client_gets_in() {
    let site = Site::new();
    let own = format!("http://localhost:{PORT}");
    let host = format!("localhost:{PORT}");
    for changed in [
        &[][..],
        &[("host", Some(&*host))],
        &[("host", Some(&*host)), ("origin", Some(&*own)), ("sec-fetch-site", Some("same-origin"))],
        &[("sec-fetch-site", Some("none"))],
    ] {
        assert_eq!(push(&site, changed).await.status, StatusCode::OK, "{changed:?}");
    }
    assert_eq!(site.titles().await, ["pushed"; 4]);
}

#[tokio::test]
async fn without_the_token_nothing_is_answered() {
    let other = Site::new();
    let of_another_server = format!("Bearer {}", other.token.as_str());
    let shortened = of_another_server[..of_another_server.len() - 1].to_owned();
    for sent in [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some("Basic Y2FsbHN0YWNrOg=="),
        Some(&*of_another_server),
        Some(&*shortened),
    ] {
        let answer = refused(&[("authorization", sent)], StatusCode::UNAUTHORIZED).await;
        assert_eq!(answer.headers[WWW_AUTHENTICATE], "Bearer");
    }
    // A path that there is not is no other answer.
    let site = Site::new();
    for target in
        ["/nothing", "/v1/operations/nothing", "/openapi.json", "/v1/events", "/frame/tree"]
    {
        let headers = [("host", format!("127.0.0.1:{PORT}"))];
        let answer = site.send(Method::GET, target, &headers, "").await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{target}");
    }
}

#[tokio::test]
async fn the_token_counts_in_its_header_only() {
    let site = Site::new();
    let headers = [
        ("host", format!("127.0.0.1:{PORT}")),
        ("cookie", format!("token={}", site.token.as_str())),
    ];
    let target = format!("/v1/operations/stack_tree?token={}", site.token.as_str());
    let answer = site.send(Method::POST, &target, &headers, "").await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn two_tokens_are_none() {
    let site = Site::new();
    let mut headers = site.headers();
    headers.push(("authorization", "Bearer guess".to_owned()));
    let answer = site.send(Method::POST, "/v1/operations/stack_tree", &headers, "").await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_host_of_another_name_is_not_this_server() {
    for host in [
        None,
        Some("evil.example"),
        Some("evil.example:4096"),
        Some("127.0.0.1.evil.example:4096"),
        Some("localhost.evil.example:4096"),
        Some("127.0.0.1"),
        Some("127.0.0.1:4097"),
        Some("user@127.0.0.1:4096"),
        Some("[::1]:4096"),
    ] {
        refused(&[("host", host)], StatusCode::MISDIRECTED_REQUEST).await;
    }
    let site = Site::new();
    let target = "http://evil.example/v1/operations/stack_tree";
    let answer = site.send(Method::POST, target, &site.headers(), "").await;
    assert_eq!(answer.status, StatusCode::MISDIRECTED_REQUEST);
}

#[tokio::test]
async fn a_page_of_another_origin_gets_nothing() {
    for origin in [
        "http://evil.example",
        "null",
        "",
        "https://127.0.0.1:4096",
        "http://127.0.0.1:4097",
        "http://localhost:4096",
    ] {
        refused(&[("origin", Some(origin))], StatusCode::FORBIDDEN).await;
    }
    for site in ["cross-site", "same-site", "anything"] {
        refused(&[("sec-fetch-site", Some(site))], StatusCode::FORBIDDEN).await;
    }
    let site = Site::new();
    let mut headers = site.headers();
    headers.extend([
        ("origin", "http://evil.example".to_owned()),
        ("access-control-request-method", "POST".to_owned()),
    ]);
    let answer = site.send(Method::OPTIONS, "/v1/operations/stack_tree", &headers, "").await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert!(!answer.headers.keys().any(|name| name.as_str().starts_with("access-control")));
}

#[tokio::test]
async fn a_form_is_no_body() {
    for sent in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("application/jsonp"),
    ] {
        refused(&[("content-type", sent)], StatusCode::UNSUPPORTED_MEDIA_TYPE).await;
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_or_no_object_is_refused() {
    let site = Site::new();
    for (body, status) in [
        ("x".repeat(1024 * 1024 + 1), StatusCode::PAYLOAD_TOO_LARGE),
        ("{".to_owned(), StatusCode::BAD_REQUEST),
        ("[]".to_owned(), StatusCode::BAD_REQUEST),
        ("\"text\"".to_owned(), StatusCode::BAD_REQUEST),
        ("[".repeat(100_000), StatusCode::BAD_REQUEST),
        ("{\"title\": \"a\u{0}\", \"unknown\": 1}".to_owned(), StatusCode::BAD_REQUEST),
    ] {
        let target = "/v1/operations/stack_frame_push";
        let answer = site.send(Method::POST, target, &site.headers(), body).await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.headers[CONTENT_TYPE], "application/problem+json");
    }
    assert_eq!(site.titles().await, [""; 0]);
}

#[tokio::test]
async fn paths_lead_to_operations_only() {
    let site = Site::new();
    for target in [
        "/v1/operations/",
        "/v1/operations/..%2f..%2fetc%2fpasswd",
        "/v1/operations/../../etc/passwd",
        "//v1/operations/stack_tree",
        "/v1/operations/stack_tree/",
        "/v1/operations/STACK_TREE",
        "/v1/operations/stack_tree%00",
        "/v1/operations/purge",
    ] {
        let answer = site.send(Method::POST, target, &site.headers(), "").await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{target}: {answer:?}");
        assert_eq!(answer.headers[CONTENT_TYPE], "application/problem+json");
    }
    let answer = site.send(Method::GET, "/v1/operations/stack_tree", &site.headers(), "").await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn every_answer_forbids_frames_scripts_of_others_and_keeping_it() {
    let site = Site::new();
    for answer in [
        site.call("stack_tree", json!({})).await,
        site.send(Method::GET, "/nothing", &site.headers(), "").await,
        site.send(Method::GET, "/nothing", &[], "").await,
    ] {
        let policy = answer.headers[CONTENT_SECURITY_POLICY].to_str().unwrap();
        for part in ["default-src 'none'", "frame-ancestors 'none'", "script-src 'self';"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert_eq!(answer.headers["cache-control"], "no-store");
        assert_eq!(answer.headers["referrer-policy"], "no-referrer");
    }
}
