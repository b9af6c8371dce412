//! Frames in which the user speaks.

use callstack_scripted_model::{RecordedRequest, Step, content_text};
use serde_json::json;

use crate::opencode::seen::{assert_no_work, folds, result_of, seen, snapshot};
use crate::opencode::steps::{WORK, bash, pop, push, together, work};
use crate::opencode::talk::Talk;

fn users(request: &RecordedRequest) -> Vec<String> {
    let users = request.messages().iter().filter(|message| message["role"] == "user");
    users.map(|message| content_text(&message["content"])).collect()
}

#[test]
fn a_frame_in_which_the_user_speaks_keeps_the_conversation() {
    let Some(talk) = Talk::new(&[]) else { return };
    of_a_frame_over_three_turns_the_words_and_the_closing_replies_stay(&talk);
    a_file_of_a_finished_frame_becomes_a_pointer_and_the_words_stay(&talk);
}

fn of_a_frame_over_three_turns_the_words_and_the_closing_replies_stay(talk: &Talk) {
    let session = talk.session([
        push("Tune the query", "it takes less than 10 ms").reasoning("A frame for it."),
        work("the plan of the query"),
        Step::text("It takes 80 ms. May I add an index?").reasoning("INNERWORK: ask."),
        work("the index"),
        Step::text("12 ms with the index. Shall I go on?").reasoning("INNERWORK: ask again."),
        work("the statistics"),
        pop("An index on orders(day) and fresh statistics: 7 ms.").reasoning("Done."),
        Step::text("7 ms now.").reasoning("Tell."),
        Step::text("Gladly.").reasoning("Nice."),
    ]);
    session.say("The query on orders is too slow.");
    session.say("Yes, add one on the day.");
    session.say("Go on until it is below 10.");
    session.say("Thank you.");
    let requests = session.finished();
    assert_eq!(folds(&requests), ["push-tune"]);
    let after = &requests[7];
    assert_no_work(after);
    let said = users(after);
    let [first, second, third] = &said[..] else { panic!("{said:?}") };
    assert_eq!(first, "The query on orders is too slow.");
    assert_eq!(second, "Yes, add one on the day.");
    assert!(third.starts_with("Go on until it is below 10.\n[callstack] frame f"), "{third}");
    assert!(third.contains("7 ms"), "what was returned stands behind the last words: {third}");
    assert!(result_of(after, "push-tune").contains("further down"));
    let text = after.render();
    assert!(text.contains("May I add an index?") && text.contains("Shall I go on?"));
    snapshot("three_turns_open", &seen(&requests[6]));
    snapshot("three_turns_returned", &seen(after));
    snapshot("three_turns_behind", &seen(&requests[8]));
}

/// A text whose end no pointer shows.
fn long(end: &str) -> String {
    format!("{}\n{WORK}: {end}\n", "Figures of last year. ".repeat(10))
}

fn a_file_of_a_finished_frame_becomes_a_pointer_and_the_words_stay(talk: &Talk) {
    let session = talk.session([
        push("Read the reports", "both are summed up"),
        Step::text("Please send the reports."),
        work("the first report"),
        Step::text("Thanks, and the second one?"),
        work("the second report"),
        together([pop("Sales rose by 4 %, costs by 9 %."), bash("echo beside")]),
        Step::text("Costs rise faster than sales."),
    ]);
    session.say("Sum up two reports.");
    let file = |name: &str, words: &str, url: &str| {
        let path = format!("/session/{}/message", session.id);
        let parts = json!({"parts": [
            {"type": "text", "text": words},
            {"type": "file", "mime": "text/plain", "filename": name, "url": url},
        ]});
        talk.server.post(&path, &parts).unwrap();
    };
    let path = talk.project.sealed.write("sales.txt", &long("sales by month")).unwrap();
    file("sales.txt", "Here are the sales.", &format!("file://{}", path.display()));
    let costs = long("costs by month").replace(' ', "%20").replace('\n', "%0A");
    file("costs.txt", "And the costs.", &format!("data:text/plain,{costs}"));
    let requests = session.finished();
    assert!(users(&requests[2])[1].contains("INNERWORK: sales by month"));
    assert_eq!(folds(&requests), ["push-read"]);
    let after = &requests[6];
    assert_no_work(after);
    let said = users(after);
    assert!(said[1].starts_with("Here are the sales.\n"), "{}", said[1]);
    assert!(said[1].contains("sales.txt") && said[2].contains("costs.txt"), "{said:?}");
    snapshot("files_returned", &seen(after));
}
