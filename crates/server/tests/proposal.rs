//! The endpoints of the proposal.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Answer, Site};

async fn post(site: &Site, target: &str, body: Value) -> Answer {
    site.send(Method::POST, target, &site.headers(), body.to_string()).await
}

async fn done(site: &Site, target: &str, body: Value) -> Value {
    let answer = post(site, target, body).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    answer.json()
}

async fn get(site: &Site, target: &str) -> Answer {
    site.send(Method::GET, target, &site.headers(), "").await
}

#[tokio::test]
async fn frames_are_pushed_planned_popped_and_seen_in_a_tree() {
    let site = Site::new();
    let outer = done(&site, "/frame/push", json!({"goal": "Build the shop. With a cart."})).await;
    assert_eq!(outer["title"], "Build the shop");
    assert_eq!(
        outer["frame"],
        json!({"status": "in_progress", "goal": "Build the shop. With a cart."})
    );
    assert!(outer["time"]["created"].as_i64().unwrap() > 0);
    assert!(outer["directory"].as_str().unwrap().starts_with('/'));
    let inner =
        done(&site, "/frame/push", json!({"parentID": outer["id"], "goal": "the cart"})).await;
    assert_eq!(inner["parentID"], outer["id"]);
    let planned = json!({"parentID": outer["id"], "goal": "the till", "planned": true});
    let planned = done(&site, "/frame/push", planned).await;
    assert_eq!(planned["frame"]["status"], "planned");

    let ended =
        json!({"sessionID": inner["id"], "status": "completed", "summary": "It holds things."});
    let ended = done(&site, "/frame/pop", ended).await;
    assert_eq!(ended["id"], inner["id"]);
    assert_eq!(ended["frame"]["status"], "completed");
    assert_eq!(ended["frame"]["compaction"], "It holds things.");

    let tree = get(&site, "/frame/tree").await.json();
    assert_eq!(tree.as_array().unwrap().len(), 1);
    assert_eq!(tree[0]["id"], outer["id"]);
    let below: Vec<_> =
        tree[0]["children"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
    assert_eq!(below, [inner["id"].clone(), planned["id"].clone()]);
    let target = format!("/frame/tree?rootSessionID={}", planned["id"].as_str().unwrap());
    let part = get(&site, &target).await.json();
    assert_eq!(
        (part[0]["id"].clone(), part[0]["children"].clone()),
        (planned["id"].clone(), json!([]))
    );

    let of_planned = format!("/frame/context?sessionID={}", planned["id"].as_str().unwrap());
    for (target, goal) in [("/frame/context", "With a cart."), (&of_planned, "the till")] {
        let context = get(&site, target).await.json();
        assert_eq!(context[0]["info"]["role"], "user");
        let text = context[0]["parts"][0]["text"].as_str().unwrap();
        assert!(text.contains("<stack-context") && text.contains(goal), "{text}");
    }
}

#[tokio::test]
async fn what_can_not_be_is_refused_and_changes_nothing() {
    let site = Site::new();
    let outer = done(&site, "/frame/push", json!({"goal": "outer"})).await;
    done(&site, "/frame/push", json!({"goal": "inner"})).await;
    for (target, body, status) in [
        ("/frame/push", json!({"parentID": outer["id"], "goal": "x"}), StatusCode::CONFLICT),
        ("/frame/push", json!({"parentID": "f9", "goal": "x"}), StatusCode::NOT_FOUND),
        ("/frame/push", json!({"goal": ["x"]}), StatusCode::BAD_REQUEST),
        ("/frame/push", json!({"title": "x", "goal": "x"}), StatusCode::BAD_REQUEST),
        ("/frame/pop", json!({"status": "planned"}), StatusCode::BAD_REQUEST),
        (
            "/frame/pop",
            json!({"status": "completed", "sessionID": outer["id"], "summary": "x"}),
            StatusCode::CONFLICT,
        ),
        ("/frame/pop", json!({"sessionID": "f9", "status": "failed"}), StatusCode::NOT_FOUND),
    ] {
        let answer = post(&site, target, body.clone()).await;
        assert_eq!(answer.status, status, "{target} {body}: {answer:?}");
        assert_eq!(answer.headers["content-type"], "application/problem+json");
    }
    for target in ["/frame/tree?rootSessionID=f9", "/frame/context?sessionID=f9"] {
        assert_eq!(get(&site, target).await.status, StatusCode::NOT_FOUND, "{target}");
    }
    assert_eq!(site.titles().await, ["inner", "outer"]);
}

#[tokio::test]
async fn secrets_are_masked() {
    let site = Site::new();
    let token = ["ghp_", "abcdefghijklmnopqrstuvwxyz", "0123456789"].concat();
    let pushed = post(&site, "/frame/push", json!({"goal": format!("with {token}")})).await;
    for answer in [pushed, get(&site, "/frame/tree").await, get(&site, "/frame/context").await] {
        assert!(answer.text.contains("masked") && !answer.text.contains(&token), "{answer:?}");
    }
}
