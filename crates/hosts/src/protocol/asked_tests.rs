use std::path::Path;

use crate::opencode::read_requests;

fn read(lines: &[u8]) -> Vec<Result<Vec<String>, String>> {
    let requests = read_requests(lines, Path::new("/project")).unwrap();
    let messages = |shown: Vec<callstack_engine::HostMessage>| {
        shown.into_iter().map(|it| format!("{} {}", it.message.id, it.json)).collect()
    };
    requests.into_iter().map(|request| request.map(messages)).collect()
}

#[test]
fn messages_come_from_what_shows_them_as_they_are_stored() {
    let message =
        r#"{"info":{"id":"m1","role":"user"},"parts":[{"id":"p","type":"text","text":"\ud83d"}]}"#;
    let lines = format!(
        "{{\"id\":1,\"method\":\"sync\",\"params\":{{\"session\":\"s\",\"keep\":0,\"messages\":[{message}]}}}}\n\n\
         {{\"method\":\"record\",\"params\":{{\"session\":\"s\",\"messages\":[{message}]}}}}\n\
         {{\"id\":2,\"method\":\"wake\"}}\n"
    );
    let shown = Ok(vec![format!("m1 {message}")]);
    assert_eq!(read(lines.as_bytes()), [shown.clone(), shown, Ok(Vec::new())]);
}

#[test]
fn what_is_no_request_says_why() {
    let read = read(b"nonsense\n{\"id\":7,\"method\":\"sync\",\"params\":{}}\n{\"id\":8,\"method\":\"dance\"}\n");
    let why: Vec<&str> = read.iter().map(|it| it.as_ref().unwrap_err().as_str()).collect();
    let [nonsense, sync, dance] = why[..] else { panic!("{why:?}") };
    assert!(nonsense.starts_with("None: expected"), "{nonsense}");
    assert!(sync.starts_with("the parameters can't be read: missing field `session`"), "{sync}");
    assert!(dance.starts_with("there is no method `dance`"), "{dance}");
}
