//! A search for which an agent waits finds text in one old message as well as text in all, and reports if it could
//! not read everything.

use callstack_core::transcript::{Message, MessageKind, Role};
use callstack_engine::HostMessage;
use callstack_engine::search::{Depth, SearchAnswer, SearchRequest};
use callstack_store::{FOLDER, MessageBody, Store, StoreError};
use serde_json::json;
use tempfile::TempDir;

use crate::plugin::Plugin;
use crate::support::Project;

const A: &str = "ses_a";
/// So many messages that not all of them are read while an agent waits.
const MANY: usize = 300;

struct Searched {
    project: Project,
    _folder: TempDir,
}

impl Searched {
    /// A session whose first message says `first`, and all others `others`, among much else.
    fn new(first: &str, others: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Project::at(folder.path(), callstack_engine::Settings::default());
        project.user(A, "Look for it");
        let body = |at: usize| {
            let said = if at == 0 { first } else { others };
            let id = format!("msg_{at:04}");
            let filler = format!("{at} and so on ").repeat(150);
            let text = format!("{filler}\n{said}\n{filler}");
            let info = json!({"id": id, "role": "assistant", "time": {"created": 1}});
            let json = json!({"info": info, "parts": [{"type": "text", "text": text}]});
            MessageBody { id, json: json.to_string() }
        };
        let bodies: Vec<_> = (0..MANY).map(body).collect();
        let store = Store::open_unchecked(&folder.path().join(FOLDER)).unwrap();
        store.write(|change| change.record_messages(1, A, &bodies)).unwrap();
        Self { project, _folder: folder }
    }

    fn ask(&self, text: &str, exact: bool, depth: Depth) -> SearchAnswer {
        let text = text.to_owned();
        let request = SearchRequest { text, exact, frame: None, limit: 10, depth, reveal: false };
        self.project.engine.search(&request).unwrap()
    }

    fn answer(&self, query: &str) -> String {
        self.project.did(A, "stack_search", json!({"query": query})).text
    }
}

fn messages(found: &SearchAnswer) -> Vec<&str> {
    found.places.iter().map(|place| place.message.as_ref().unwrap().id.as_str()).collect()
}

#[test]
fn one_old_message_is_found_after_many_that_hold_the_same_words() {
    let searched = Searched::new(
        "see lib/lexer/token.rs, as it is not so in parse_header, made handsomely",
        "so is it not as token, rs, lexer/lib and header parse, by some hand",
    );
    for (text, exact) in [
        ("lib/lexer/token.rs", false),
        ("LEXER/token.rs", false),
        ("parse_header", false),
        ("\"as it is not so\"", false),
        (" is not so ", true),
        ("s it is not s", true),
        ("exer/token.rs,", true),
        ("ndsome", true),
    ] {
        let found = searched.ask(text, exact, Depth::Quick);
        assert_eq!(messages(&found), ["msg_0000"], "{text}");
        assert!(!found.more && !found.behind, "{text}: nothing else may hold it");
    }
    let [place] = &searched.ask("parse_header", false, Depth::Quick).places[..] else {
        panic!("one")
    };
    let frame = place.frame.as_ref().map(|frame| frame.handle.as_str());
    assert_eq!((frame, place.message.as_ref().unwrap().position), (Some("f1"), 1));
}

#[test]
fn of_what_stands_everywhere_the_newest_is_found_and_that_there_is_more_is_said() {
    let searched = Searched::new("the lexer", "the lexer");
    let found = searched.ask("lexer", false, Depth::Quick);
    assert!(found.more && found.places.len() == 10);
    assert!(messages(&found).iter().all(|id| *id > "msg_0250"), "{:?}", messages(&found));
    assert_eq!(messages(&found), messages(&searched.ask("lexer", false, Depth::Quick)));
    assert!(searched.answer("lexer").contains("There may be more"));
}

#[test]
fn what_could_not_be_looked_at_is_not_said_to_be_nowhere() {
    let searched = Searched::new("it was so, said", "it was so said");
    let found = searched.ask("so, said", true, Depth::Quick);
    assert!(found.places.is_empty() && found.more);
    let text = searched.answer("\"so, said\"");
    assert!(text.contains("more than could be looked at"), "{text}");
    assert_eq!(messages(&searched.ask("so, said", true, Depth::Thorough)), ["msg_0000"]);
    let nowhere = searched.ask("so; said", true, Depth::Thorough);
    assert!(nowhere.places.is_empty() && !nowhere.more);
    assert_eq!(searched.answer("nowhere"), "No text that is kept holds `nowhere`.");
}

#[test]
fn of_frames_too_it_is_said_that_not_all_could_be_looked_at() {
    let project = Project::new();
    project.user(A, "Look for it");
    for at in 0..70 {
        let results = if at == 0 { "so, said" } else { "so said" };
        let child = json!({"title": format!("part {at}"), "successCriteria": "it is done"});
        project.did(A, "stack_frame_push", child);
        project.did(A, "stack_frame_pop", json!({"results": results}));
    }
    let ask = |text: &str, depth| {
        let text = text.to_owned();
        let request =
            SearchRequest { text, exact: true, frame: None, limit: 10, depth, reveal: false };
        project.engine.search(&request).unwrap()
    };
    let found = ask("so, said", Depth::Quick);
    assert!(found.places.is_empty() && found.more);
    let found = ask("so, said", Depth::Thorough);
    let titles: Vec<_> =
        found.places.iter().map(|place| place.frame.as_ref().unwrap().title.as_str()).collect();
    assert_eq!((titles, found.more), (vec!["part 0"], false));
    let found = ask("part 69", Depth::Quick);
    assert_eq!((found.places.len(), found.more), (1, false));
}

#[test]
fn signs_without_a_letter_are_found_too() {
    let searched = Searched::new("<=>", "->");
    assert_eq!(searched.ask("\"->\"", false, Depth::Quick).places.len(), 10);
    assert_eq!(messages(&searched.ask("<=>", true, Depth::Thorough)), ["msg_0000"]);
}

#[test]
fn what_a_host_shows_is_known_before_anybody_searches() {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::at(folder.path(), callstack_engine::Settings::default());
    project.user(A, "Look for it");
    let (role, standing) = (Role::User, MessageKind::Normal);
    let message = Message { id: "msg_1".to_owned(), role, standing, parts: Vec::new() };
    let shown = [HostMessage::of(message, json!({"parts": []}).to_string())];
    Plugin::default().sync(&project.engine, A, &shown);
    let store = Store::open_unchecked(&folder.path().join(FOLDER)).unwrap();
    let kept = || {
        let messages_and_lag =
            store.read(|view| Ok::<_, StoreError>((view.messages(A)?.len(), view.is_behind()?)));
        messages_and_lag.unwrap()
    };
    project.wait(|| kept() == (1, false));
}

/// Returns the places that were found in a project, in a form that can be compared: kinds, handles and messages.
fn places(found: &SearchAnswer) -> Vec<String> {
    let place = |place: &callstack_engine::search::SearchHit| {
        let frame = place.frame.as_ref().map_or("none", |frame| frame.handle.as_str());
        let message = place.message.as_ref().map_or(String::new(), |it| it.id.clone());
        format!("{frame} {:?} {message}", place.kind)
    };
    found.places.iter().map(place).collect()
}

#[test]
fn the_best_places_are_the_same_for_every_limit() {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::at(folder.path(), callstack_engine::Settings::default());
    project.user(A, "Look for the lexer");
    for at in 0..40 {
        let title = format!("part {at}{}", if at % 3 == 0 { ", the lexer" } else { "" });
        project.did(A, "stack_frame_push", json!({"title": title, "successCriteria": "done"}));
        let results = format!("{}read {at}", "lexer ".repeat(at % 5));
        project.did(A, "stack_frame_pop", json!({"results": results}));
    }
    let body = |at: usize| {
        let id = format!("msg_{at:04}");
        let text = format!("{at} {}", "the lexer and more ".repeat(at % 7));
        let json = json!({"info": {"id": id, "role": "assistant"}, "parts": [{"type": "text", "text": text}]});
        MessageBody { id, json: json.to_string() }
    };
    let bodies: Vec<_> = (0..100).map(body).collect();
    let store = Store::open_unchecked(&folder.path().join(FOLDER)).unwrap();
    store.write(|change| change.record_messages(1, A, &bodies)).unwrap();
    for (text, exact) in [("lexer", false), ("more the", true), ("the lexer", false)] {
        for depth in [Depth::Quick, Depth::Thorough] {
            let ask = |limit| {
                let text = text.to_owned();
                let request =
                    SearchRequest { text, exact, frame: None, limit, depth, reveal: false };
                let found = project.engine.search(&request).unwrap();
                (places(&found), found.more)
            };
            let (all, more) = ask(1_000);
            assert!(all.len() > 12, "{text}: {all:?}");
            assert!(!more, "{text}");
            for limit in [1, 2, 3, 5, 10, all.len() - 1, all.len()] {
                assert_eq!(
                    ask(limit),
                    (all[..limit].to_vec(), limit < all.len()),
                    "{text} {limit}"
                );
            }
        }
    }
}

#[test]
fn all_of_a_frame_that_is_named_is_looked_at() {
    let searched = Searched::new("it was so, said", "it was so said");
    let answer = |arguments| searched.project.did(A, "stack_search", arguments).text;
    let query = "\"so, said\"";
    assert!(answer(json!({"query": query})).contains("more than could be looked at"));
    let found = answer(json!({"query": query, "frame": "f1"}));
    assert!(found.starts_with("- f1 \"Look for it\", message 1 (assistant): "), "{found}");
    let none = answer(json!({"query": "\"so; said\"", "frame": "f1"}));
    assert_eq!(none, "No text that is kept in f1 or below it holds `\"so; said\"`.");
}

#[test]
fn what_a_frame_says_is_not_said_again_by_messages_and_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::at(folder.path(), callstack_engine::Settings::default());
    project.user(A, "Speed up the reader");
    project.did(A, "stack_frame_push", json!({"title": "Time it", "successCriteria": "known"}));
    project.did(A, "stack_frame_pop", json!({"results": "The wal is slow.\nNothing else is."}));
    let text = |id: &str, role: &str, text: &str| {
        let parts = json!([{"type": "text", "text": text}]);
        let json = json!({"info": {"id": id, "role": role}, "parts": parts});
        MessageBody { id: id.to_owned(), json: json.to_string() }
    };
    let bodies = [
        text("msg_1", "user", "Speed up the reader"),
        text("msg_2", "assistant", "returned:\nThe wal is slow.\nNothing else is."),
        text("msg_3", "assistant", "The wal is slow, and 40 ms of it are syncs"),
        text("msg_4", "assistant", "Again:\nThe wal is slow, and 40 ms of it are syncs"),
    ];
    let store = Store::open_unchecked(&folder.path().join(FOLDER)).unwrap();
    store.write(|change| change.record_messages(1, A, &bodies)).unwrap();
    let found = |text: &str, depth| {
        let text = text.to_owned();
        let request =
            SearchRequest { text, exact: false, frame: None, limit: 9, depth, reveal: false };
        places(&project.engine.search(&request).unwrap())
    };
    assert_eq!(found("reader", Depth::Thorough), ["f1 Frame "]);
    let wal = found("wal", Depth::Thorough);
    assert_eq!(wal, ["f2 Frame ", "f2 Message msg_4", "f2 Message msg_3"]);
    assert_eq!(found("wal", Depth::Raw).len(), 3, "messages as they are are shown each");
}
