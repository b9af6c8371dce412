//! The page's files: they are open to everybody, and the policy blocks nothing in them.

use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::support::{PORT, Site};

#[tokio::test]
async fn a_browser_that_is_led_there_gets_the_page_and_nothing_of_the_project() {
    let site = Site::new();
    site.did("stack_frame_push", json!({"title": "unheard of", "successCriteria": "b"})).await;
    let headers =
        [("host", format!("127.0.0.1:{PORT}")), ("sec-fetch-site", "cross-site".to_owned())];
    for (path, media_type) in [
        ("/", "text/html; charset=utf-8"),
        ("/page.css", "text/css; charset=utf-8"),
        ("/page.js", "text/javascript; charset=utf-8"),
    ] {
        let answer = site.send(Method::GET, path, &headers, "").await;
        assert_eq!(
            (answer.status, &answer.headers["content-type"]),
            (StatusCode::OK, &media_type.parse().unwrap())
        );
        assert!(!answer.text.contains("unheard of") && !answer.text.contains(site.token.as_str()));
        let post = site.send(Method::POST, path, &headers[..1], "").await;
        assert_eq!(post.status, StatusCode::UNAUTHORIZED);
        let elsewhere = [("host", "evil.example".to_owned())];
        let answer = site.send(Method::GET, path, &elsewhere, "").await;
        assert_eq!(answer.status, StatusCode::MISDIRECTED_REQUEST);
    }
}

#[tokio::test]
async fn it_keeps_to_its_policy() {
    let site = Site::new();
    let headers = [("host", format!("127.0.0.1:{PORT}"))];
    let answer = site.send(Method::GET, "/", &headers, "").await;
    // Chromium refuses every text that would become elements or a script.
    let policy = answer.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.contains("require-trusted-types-for 'script'; trusted-types 'none'"),
        "{policy}"
    );
    for wrong in ["<style", "style=", " onclick", " onload", "javascript:", "http://", "https://"] {
        assert!(!answer.text.contains(wrong), "{wrong}: {}", answer.text);
    }
    let own = "<script src=\"/page.js\"";
    assert_eq!(answer.text.matches("<script").count(), answer.text.matches(own).count());
    let script = site.send(Method::GET, "/page.js", &headers, "").await.text;
    // Libraries may contain functions that make elements from texts; nothing may call these.
    for wrong in [
        "dangerouslySetInnerHTML:",
        "insertAdjacent",
        "document.write",
        "eval(",
        "new Function",
        "localStorage",
        "cookie",
    ] {
        assert!(!script.contains(wrong), "{wrong}");
    }
}
