//! A suggestion about a forgotten frame or a context that is nearly full is made once and stays at its place.

use callstack_scripted_model::Step;

use super::seen::{assert_no_work, folds, seen, snapshot};
use super::steps::{pop, push, work};
use super::talk::Talk;

#[test]
fn a_forgotten_frame_and_a_full_context_are_mentioned_once_and_the_words_stay() {
    let Some(talk) = Talk::new(&[]) else { return };
    let session = talk.session([
        push("Draft the letter", "the user likes it").reasoning("A frame."),
        work("the address"),
        Step::text("A first draft: Dear all."),
        Step::text("Better: Dear friends."),
        Step::text("Or: Dear members."),
        work("the ending").reasoning("The user wants an ending."),
        work("the greeting").usage(95_000, 100),
        work("the spelling").usage(96_000, 100),
        Step::text("Yours sincerely."),
        Step::text("With a stamp."),
        pop("The letter begins with: Dear members."),
        Step::text("The letter is ready."),
    ]);
    let said = [
        "Write a letter.",
        "Too formal.",
        "Too friendly.",
        "Good. And the ending?",
        "How do I send it?",
        "Then finish it.",
    ];
    for words in said {
        session.say(words);
    }
    let requests = session.finished();
    let times = |number: usize, words: &str| requests[number].render().matches(words).count();
    let (reminder, suggestion) = ("still open after 3 user turns", "the context is 74 % full");
    assert_eq!((times(5, reminder), times(6, reminder)), (0, 1), "in the next output");
    assert_eq!((times(6, suggestion), times(7, suggestion)), (0, 1));
    assert_eq!((times(10, reminder), times(10, suggestion)), (1, 1), "once, and then they stay");
    assert_eq!(times(10, " % full"), 1);
    assert_eq!(folds(&requests), ["push-draft"], "until the pop there is nothing but growth");
    assert_no_work(&requests[11]);
    snapshot("reminded", &seen(&requests[8]));
    snapshot("reminded_returned", &seen(&requests[11]));
}
