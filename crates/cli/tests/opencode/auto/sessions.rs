//! Whole sessions in which the agent never calls a tool of ours.

use callstack_scripted_model::{RecordedRequest, Step, content_text};
use callstack_testkit::{Run, assert_clean};

use super::super::project::Project;
use super::super::seen::{assert_no_work, seen, snapshot};
use super::super::steps::{WORK, write};
use super::super::talk::{Session, Talk};
use super::super::tree::{artifacts, engine, frame, wait_for_tree};
use super::{AUTO, little, much, todos};

const USER: [&str; 5] = [
    "Hello there",
    "Make the build fast, please, it takes minutes",
    "Add dates to the parser",
    "Thank you, which format is read?",
    "Goodbye",
];
const REPLIES: [&str; 5] = [
    "Hello. What is to be done?",
    "The build takes 3 s now: its cache was off.",
    "Dates are in, with tests and a line in the readme.",
    "ISO 8601 and nothing else.",
    "Goodbye.",
];

/// Chat, a turn of many calls, a turn with a list, a follow-up, a goodbye.
fn steps() -> Vec<Step> {
    let list = |marks: [&str; 3]| {
        let names = ["Write the parser", "Write tests", "Update the readme"];
        names.iter().zip(marks).map(|(name, mark)| format!("{mark}{name}")).collect::<Vec<_>>()
    };
    let list = |marks: [&str; 3], words: &str| {
        let items = list(marks);
        todos(&items.iter().map(String::as_str).collect::<Vec<_>>(), words)
    };
    let reply = |turn: usize| Step::text(REPLIES[turn]).reasoning("Tell.");
    vec![
        reply(0),
        much("the log"),
        much("the cache"),
        much("the flags"),
        much("the timing"),
        write("build.toml", "cache = true\n"),
        reply(1),
        list([">", "", ""], "first the parser"),
        write("date.rs", "fn date() {}\n"),
        much("the formats"),
        list(["+", ">", ""], "it reads dates"),
        much("the tests"),
        list(["+", "+", ">"], "four tests pass"),
        write("README.md", "Dates.\n"),
        much("the prose"),
        list(["+", "+", "+"], "the readme tells of them"),
        much("the whole"),
        reply(2),
        reply(3),
        reply(4),
    ]
}

fn play(talk: &Talk) -> (Session<'_>, Vec<RecordedRequest>) {
    let session = talk.session(steps());
    for words in USER {
        session.say(words);
    }
    let requests = session.finished();
    (session, requests)
}

/// Estimated tokens of each request's conversation, without system prompt and tools.
fn sizes(requests: &[RecordedRequest]) -> Vec<usize> {
    let of = |request: &RecordedRequest| {
        let messages = request.messages().iter().filter(|message| message["role"] != "system");
        messages.map(|message| message.to_string().len() / 4).sum()
    };
    requests.iter().map(of).collect()
}

/// The requests that do not begin with the whole one before them.
fn breaks(requests: &[RecordedRequest]) -> Vec<usize> {
    let begins = |pair: &[RecordedRequest]| {
        let (was, is) = (pair[0].raw_messages(), pair[1].raw_messages());
        was.iter().zip(is).take_while(|(was, is)| was == is).count() == was.len()
    };
    (1..requests.len()).filter(|at| !begins(&requests[at - 1..=*at])).collect()
}

#[test]
fn work_is_framed_and_folded_without_any_call_of_ours() {
    let Some(talk) = Talk::new(&AUTO) else { return };
    let (session, requests) = play(&talk);
    let sealed = &talk.project.sealed;
    wait_for_tree(
        sealed,
        &session.id,
        "Hello there in_progress *\n  Make the build fast, please, it takes minutes completed\n  Add dates \
         to the parser completed\n    Write the parser completed\n    Write tests completed\n    Update the readme \
         completed\n",
    );
    let results = |title: &str| frame(sealed, title).results.unwrap();
    assert_eq!(results("Make the build fast, please, it takes minutes"), REPLIES[1]);
    assert_eq!(results("Write the parser"), format!("{WORK}: it reads dates"));
    assert_eq!(artifacts(sealed, "Write the parser")[0].split(' ').next(), Some("date.rs"));

    // The first requests of the third and of the fourth turn, and those after the list's calls with which an item was
    // over.
    let (turns, items) = ([7, 18], [11, 13, 16]);
    assert_eq!(
        breaks(&requests),
        [7, 11, 13, 16, 18],
        "only what is finished changes what was sent"
    );
    for at in turns {
        assert_no_work_but_results(&requests[at]);
    }
    for (item, at) in items.into_iter().enumerate() {
        let (was, is) = (requests[at - 1].messages(), requests[at].messages());
        let same = was.iter().zip(is).take_while(|(was, is)| was == is).count();
        assert_eq!(is[same]["role"], "tool", "{}", seen(&requests[at]));
        let text = content_text(&is[same]["content"]);
        let title = ["Write the parser", "Write tests", "Update the readme"][item];
        let begins = format!("[callstack] frame f{} \"{title}\" completed", item + 4);
        assert!(text.starts_with(&begins), "{text}");
        assert!(
            content_text(&was[same]["content"]).contains(title),
            "the list's own answer was there"
        );
    }
    snapshot("auto_items_over", &seen(&requests[16]));
    let last = requests.last().unwrap().render();
    for words in USER.iter().chain(&REPLIES[..4]) {
        assert!(last.contains(words), "{words} is gone:\n{}", seen(requests.last().unwrap()));
    }
    for (at, earlier) in [(7, 6), (18, 17)] {
        let (was, is) = (requests[earlier].raw_messages(), requests[at].raw_messages());
        let same = was.iter().zip(is).take_while(|(was, is)| was == is).count();
        let kept = &requests[at].messages()[same - 1];
        assert_eq!(kept["role"], "user", "all stays up to the user's words");
        assert!(content_text(&kept["content"]).starts_with(USER[if at == 7 { 1 } else { 2 }]));
    }
    snapshot("auto_third_turn", &seen(&requests[7]));
    snapshot("auto_last_turn", &seen(requests.last().unwrap()));

    let unframed = Talk::new(&[("STACK_AUTONOMY_LEVEL", "manual")]).unwrap();
    let (other, linear) = play(&unframed);
    wait_for_tree(&unframed.project.sealed, &other.id, "Hello there in_progress *\n");
    assert_eq!(breaks(&linear), Vec::<usize>::new());
    let (with, without) = (sizes(&requests), sizes(&linear));
    println!("tokens of each request, framed {with:?}, unframed {without:?}");
    assert_eq!(with[..5], without[..5]);
    // The line that names steps which a pop could close.
    assert!(with[6] - without[6] < 120, "{with:?} {without:?}");
    assert!(3 * with[19] < without[19], "{with:?} {without:?}");
}

/// Of a folded turn, only the results of its items and the reasons of changes may name the work.
#[track_caller]
fn assert_no_work_but_results(request: &RecordedRequest) {
    let text = request.render();
    let left: Vec<_> = text
        .lines()
        .filter(|line| line.contains(WORK))
        .filter(|line| !line.trim_start().starts_with("- f") && !line.contains("why: "))
        .collect();
    assert!(left.is_empty(), "there is work left: {left:?}\n{}", seen(request));
}

#[test]
fn small_work_is_framed_but_stays_and_large_work_is_folded() {
    let Some(talk) = Talk::new(&AUTO) else { return };
    let small = || {
        ["the log", "the cache", "the flags", "the timing"]
            .map(little)
            .into_iter()
            .chain([Step::text("The build takes 3 s.").reasoning("Tell."), Step::text("Gladly.")])
    };
    let large = [much("the tests"), much("more tests"), much("all tests"), much("one test")];
    let large = large.into_iter().chain([Step::text("They pass."), Step::text("Bye.")]);
    let session = talk.session(small().chain(large));
    for words in ["Time the build", "Thank you", "Run the tests", "Goodbye"] {
        session.say(words);
    }
    let requests = session.finished();
    assert_eq!(breaks(&requests), [11], "only the large turn changes what was sent");
    let (before, last) = (requests[10].render(), requests[11].render());
    assert!(before.contains("INNERWORK the tests"), "{}", seen(&requests[10]));
    assert!(!last.contains("INNERWORK the tests"), "{}", seen(&requests[11]));
    assert!(last.contains("INNERWORK the cache"), "{}", seen(&requests[11]));
    let marks = || {
        let lines = engine(&talk.project.sealed).tree(Some(&session.id)).unwrap();
        let marked = lines.iter().map(|line| {
            (format!("{} {}", line.frame.identity.title, line.frame.status), line.still_sent)
        });
        marked.collect::<Vec<_>>()
    };
    let expected = [("Time the build in_progress", false), ("Run the tests completed", false)];
    assert_eq!(marks(), expected.map(|(text, still)| (text.to_owned(), still)));

    let unframed = Talk::new(&[("STACK_AUTONOMY_LEVEL", "manual")]).unwrap();
    let other = unframed.session(small());
    for words in ["Time the build", "Thank you"] {
        other.say(words);
    }
    let without = other.finished();
    assert_eq!(sizes(&requests)[..6], sizes(&without)[..6], "small work is sent as without us");
}

#[test]
fn a_session_that_is_taken_up_again_is_folded_on() {
    let script = callstack_scripted_model::Script::steps([
        much("the log").reasoning("Look."),
        much("the cache"),
        much("the flags"),
        much("the timing"),
        Step::text("The build takes 3 s now.").reasoning("Tell."),
        much("the tests"),
        much("more tests"),
        much("all tests"),
        much("one test"),
        Step::text("They pass.").reasoning("Tell."),
        Step::text("Gladly."),
    ]);
    let Some(project) = Project::new(script) else { return };
    let run = |words: &str, first: bool| {
        let run = Run::prompt(words).env(AUTO[0].0, AUTO[0].1);
        project.run(&if first { run } else { run.continued() });
    };
    run("Make the build fast", true);
    let session = project.model.sessions().remove(0);
    let first = "Make the build fast in_progress *\n";
    wait_for_tree(&project.sealed, &session, first);
    run("Run the tests", false);
    run("Thank you", false);
    assert_clean(&project.model);
    wait_for_tree(&project.sealed, &session, &format!("{first}  Run the tests completed\n"));
    let requests = project.requests();
    assert_eq!(breaks(&requests), [5, 10]);
    assert_no_work(&requests[5]);
    assert_no_work(&requests[10]);
}
