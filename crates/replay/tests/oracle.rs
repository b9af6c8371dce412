//! Requests that could have been sent in the place of those of frames.

use callstack_replay::{AtPauses, Replay, Requests, Reread, Stays};

use crate::figures::{edited, lines, replay};
use crate::sessions::{SessionBuilder, program, read, replace, run, words};

fn texts(replay: &Replay, requests: &Requests, call: usize) -> Vec<String> {
    let request = requests.iter().nth(call).unwrap();
    request.iter().map(|item| replay.session.items.get(*item).text.clone()).collect()
}

#[test]
fn the_texts_of_later_edits_stay_where_their_work_has_left() {
    let file = "/home/me/app/src/date.rs";
    let parts = [
        replace(file, &lines(107, 109), "let date_107 = 8;"),
        replace("src/date.rs", &lines(120, 120), "let date_120 = 21;"),
        replace(file, "let date_107 = 8;", "let date_107 = 9;"),
        replace(file, "never seen", "nor this"),
    ];
    let mut replay = replay(&edited(&parts));
    let [asked, replied, next] = [
        "Look at the dates, all of them, and at what parses.",
        "I have looked.",
        "Now change two of them.",
    ];
    let needed = format!("{}\n{}\n", lines(107, 109), lines(120, 120));
    let alone = replay.foreseen(Stays::Nothing, true);
    let framed = texts(&replay, replay.framed().unwrap(), 5);
    assert_eq!(texts(&replay, &alone, 5), framed, "nothing is over yet");
    assert_eq!(texts(&replay, &alone, 6), [next, &needed]);
    let figures = replay.measure(&alone, Reread::Whole);
    assert_eq!((figures.edits, figures.verbatim, figures.reads), (3, 3, 0));
    let words = replay.foreseen(Stays::Words, true);
    assert_eq!(texts(&replay, &words, 6), [asked, replied, next, &needed]);
    let evidence = replay.foreseen(Stays::Evidence, true);
    let sent = texts(&replay, &evidence, 6);
    assert_eq!(sent[..3], [asked, replied, next]);
    assert!(sent[3].starts_with("[callstack] ") && sent[3].ends_with(&needed), "{}", sent[3]);
    let unknown = replay.foreseen(Stays::Nothing, false);
    assert_eq!(texts(&replay, &unknown, 6), [next]);
    assert_eq!(replay.measure(&unknown, Reread::Whole).verbatim, 1);
}

#[test]
fn older_replies_and_outputs_leave_at_a_pause() {
    let long = "All dates are parsed now. ".repeat(80);
    let mut making = SessionBuilder::new();
    for asked in ["Look at the dates.", "And then?"] {
        making.user(asked);
        for _ in 0..4 {
            making.agent(vec![run("make", &program("make", 200))]);
        }
        making.agent(vec![words(&long)]);
    }
    making.user("Now look at the times.");
    making.agent(vec![read("src/time.rs", &program("time", 100))]);
    making.agent(vec![read("src/zone.rs", &program("zone", 100))]);
    making.pause(400_000).agent(vec![words("They are there.")]);
    let mut replay = replay(&making.done());
    let last = replay.session.calls.len() - 1;
    let framed = texts(&replay, replay.framed().unwrap(), last);
    assert_eq!(framed.iter().filter(|text| **text == long).count(), 2, "{framed:?}");
    let replies = replay.at_pauses(AtPauses { replies: Some(120), ..AtPauses::default() });
    let sent = texts(&replay, &replies, last);
    assert_eq!(sent.iter().filter(|text| **text == long).count(), 1, "the newer one stays");
    assert_eq!(
        texts(&replay, &replies, last - 1),
        texts(&replay, replay.framed().unwrap(), last - 1)
    );
    let outputs = replay.at_pauses(AtPauses { outputs: Some(1), ..AtPauses::default() });
    let sent = texts(&replay, &outputs, last);
    assert!(!sent.contains(&program("time", 100)), "a call has seen it");
    assert!(sent.contains(&program("zone", 100)), "none has");
    let nothing = replay.at_pauses(AtPauses::default());
    assert!(nothing == *replay.framed().unwrap());
}

#[test]
fn the_content_of_files_of_older_turns_leaves_at_a_pause() {
    let mut making = SessionBuilder::new();
    for asked in ["Change the dates.", "Change the times.", "Go on."] {
        making.user(asked);
        for _ in 0..4 {
            making.agent(vec![run("make", &program("make", 400))]);
        }
        making.agent(vec![replace("/home/me/app/src/date.rs", "let a = 1;", asked)]);
        for _ in 0..10 {
            making.agent(vec![run("make", &program("make", 30))]);
        }
        making.agent(vec![words("Done.")]);
    }
    making.user("And?").agent(vec![run("ls", "date.rs")]);
    making.pause(400_000).agent(vec![words("It is there.")]);
    let mut replay = replay(&making.done());
    let last = replay.session.calls.len() - 1;
    let kept = |replay: &Replay, requests: &Requests| {
        let texts = texts(replay, requests, last);
        texts.iter().filter(|text| text.contains("Text that was written last")).count()
    };
    let framed = replay.framed().cloned().unwrap();
    assert_eq!(kept(&replay, &framed), 3);
    let shorter = replay.at_pauses(AtPauses { files: Some(3), ..AtPauses::default() });
    assert_eq!(kept(&replay, &shorter), 2, "that of the first of three turns is gone");
}
