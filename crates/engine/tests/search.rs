//! What an agent's search finds while it waits: what stands in one old message as well as what stands in
//! all, and the truth where it could not look at everything.

use callstack_core::transcript::{Message, Role, Standing};
use callstack_engine::Shown;
use callstack_engine::search::{Depth, SearchAnswer, SearchRequest};
use callstack_store::{FOLDER, MessageBody, Store, StoreError};
use serde_json::json;
use tempfile::TempDir;

use crate::plugin::Plugin;
use crate::support::{Project, wait};

const A: &str = "ses_a";
/// So many messages that not all of them are looked at while an agent waits.
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

    fn told(&self, query: &str) -> String {
        self.project.did(A, "stack_search", json!({"query": query})).text
    }
}

fn messages(found: &SearchAnswer) -> Vec<&str> {
    found.places.iter().map(|place| place.message.as_ref().unwrap().id.as_str()).collect()
}

#[test]
fn one_old_message_is_found_behind_many_that_hold_the_same_words() {
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
    assert!(searched.told("lexer").contains("There may be more"));
}

#[test]
fn what_could_not_be_looked_at_is_not_said_to_be_nowhere() {
    let searched = Searched::new("it was so, said", "it was so said");
    let found = searched.ask("so, said", true, Depth::Quick);
    assert!(found.places.is_empty() && found.more);
    let told = searched.told("\"so, said\"");
    assert!(told.contains("more than could be looked at"), "{told}");
    assert_eq!(messages(&searched.ask("so, said", true, Depth::Thorough)), ["msg_0000"]);
    let nowhere = searched.ask("so; said", true, Depth::Thorough);
    assert!(nowhere.places.is_empty() && !nowhere.more);
    assert_eq!(searched.told("nowhere"), "No text that is kept holds `nowhere`.");
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
    let (role, standing) = (Role::User, Standing::Normal);
    let message = Message { id: "msg_1".to_owned(), role, standing, parts: Vec::new() };
    let shown = [Shown::of(message, json!({"parts": []}).to_string())];
    Plugin::default().sync(&project.engine, A, &shown);
    let store = Store::open_unchecked(&folder.path().join(FOLDER)).unwrap();
    let kept = || {
        let messages_and_behind =
            store.read(|view| Ok::<_, StoreError>((view.messages(A)?.len(), view.is_behind()?)));
        messages_and_behind.unwrap()
    };
    wait(|| kept() == (1, false));
}
