use super::*;

fn goal(title: &str, criteria: &str) -> Identity {
    Identity {
        title: title.to_owned(),
        success_criteria: criteria.to_owned(),
        success_criteria_compacted: String::new(),
    }
}

fn watch() -> Observer {
    Observer::new(&goal("Fix the parser", "parser tests pass with nested brackets"), false)
}

fn step(observer: &mut Observer, calls: &[ToolCall]) -> Signals {
    observer.see(&Seen::step(calls.iter(), 10), calls.iter());
    observer.signals(None, None)
}

fn ask(observer: &mut Observer, words: &str) -> Signals {
    observer.see(&Seen::request(words, 10), [].iter());
    observer.signals(None, None)
}

fn called(tool: &str, action: Action) -> ToolCall {
    ToolCall { action, ..ToolCall::new("", tool, CallState::Completed) }
}

fn ran(line: &str, exit: i64) -> ToolCall {
    ToolCall { exit: Some(exit), ..called("bash", Action::Ran(line.to_owned())) }
}

fn wrote(path: &str) -> ToolCall {
    called("write", Action::Wrote(vec![path.to_owned()]))
}

fn read(path: &str) -> ToolCall {
    called("read", Action::Read(path.to_owned()))
}

fn failed(tool: &str, message: &str) -> ToolCall {
    let output = Some(message.to_owned());
    ToolCall { output, ..ToolCall::new("", tool, CallState::Failed) }
}

fn done(tool: &str, input: u64) -> ToolCall {
    ToolCall { input_hash: Some(input), ..called(tool, Action::Other) }
}

#[test]
fn a_failure_counts_until_the_same_goes_well() {
    let mut observer = watch();
    step(&mut observer, &[ran("cargo test", 101)]);
    step(&mut observer, &[wrote("src/a.rs"), failed("webfetch", "no")]);
    let signals = step(&mut observer, &[ran("cargo test", 101), ran("ls", 0)]);
    assert_eq!((signals.errors, signals.retries), (3, 2));
    assert_eq!(signals.failing.as_deref(), Some("`cargo test`"));
    let signals = step(&mut observer, &[ran("cargo test", 0)]);
    assert_eq!((signals.errors, signals.retries), (1, 1));
    let signals = step(&mut observer, &[done("webfetch", 1)]);
    assert_eq!((signals.errors, signals.retries, signals.failing), (0, 0, None));
}

#[test]
fn what_callstack_was_asked_for_is_neither_news_nor_a_failure() {
    let mut observer = watch();
    step(&mut observer, &[wrote("src/a.rs")]);
    let done = |tool: &str| done(tool, 1);
    let ours = [
        done("stack_frame_push"),
        failed("stack", "there is no frame `f9`"),
        done("flame_tree"),
        ran("callstack log f2", 3),
        ran("./bin/callstack tree", 0),
    ];
    let signals = step(&mut observer, &ours);
    assert_eq!((signals.errors, signals.idle_steps), (0, 1));
    assert_eq!(step(&mut observer, &[ran("make", 2)]).errors, 1);
}

#[test]
fn a_refused_edit_is_put_right_by_the_next_one() {
    let mut observer = watch();
    step(&mut observer, &[failed("edit", "no such text"), failed("edit", "no such file")]);
    let signals = step(&mut observer, &[failed("edit", "no such text")]);
    assert_eq!(
        (signals.errors, signals.retries),
        (3, 2),
        "the same is what failed in the same way"
    );
    assert_eq!(step(&mut observer, &[wrote("src/a.rs")]).errors, 0);
}

#[test]
fn a_failure_that_did_not_come_again_is_forgotten() {
    let mut observer = watch();
    step(&mut observer, &[ran("cargo test", 101)]);
    let late: Vec<_> = (0..40).map(|_| step(&mut observer, &[]).errors).collect();
    assert_eq!((late[0], late[39]), (1, 0));
}

#[test]
fn kinds_of_failures_are_bounded() {
    let mut observer = watch();
    let facts: Vec<_> = (0..500).map(|n| ran(&format!("step {n}"), 2)).collect();
    let signals = step(&mut observer, &facts);
    assert_eq!(signals.errors as usize, FAILURES);
}

#[test]
fn what_was_not_there_before_is_progress() {
    let mut observer = watch();
    let idle = |observer: &mut Observer, call: ToolCall| step(observer, &[call]).idle_steps;
    let done = |input| done("glob", input);
    for news in [ran("ls", 0), read("a"), wrote("a"), done(1), done(2)] {
        assert_eq!(idle(&mut observer, news.clone()), 0, "{news:?}");
        assert_eq!(idle(&mut observer, news.clone()), 1, "{news:?} again");
    }
    assert_eq!(idle(&mut observer, ran("cargo test", 1)), 2);
    assert_eq!(idle(&mut observer, ran("cargo test", 0)), 0, "it failed before");
    assert_eq!(step(&mut observer, &[]).idle_steps, 1);
}

#[test]
fn a_success_counts_until_something_is_changed_again() {
    let mut observer = watch();
    assert_eq!(
        step(&mut observer, &[ran("cargo test", 0)]).successes,
        0,
        "nothing was written yet"
    );
    step(&mut observer, &[wrote("src/a.rs")]);
    assert_eq!(step(&mut observer, &[ran("cat src/a.rs", 0)]).successes, 0, "that checks nothing");
    let signals = step(&mut observer, &[ran("cargo test", 0)]);
    assert_eq!((signals.successes, signals.settled_steps), (1, 0));
    assert_eq!(step(&mut observer, &[read("b")]).settled_steps, 1);
    assert_eq!(step(&mut observer, &[wrote("src/a.rs")]).successes, 0);
    step(&mut observer, &[ran("./run it", 3)]);
    assert_eq!(step(&mut observer, &[ran("./run it", 0)]).successes, 2, "it failed before");
}

#[test]
fn a_request_about_something_else_diverges_and_a_remark_does_not() {
    let mut observer = watch();
    step(&mut observer, &[wrote("src/parser.rs")]);
    let of = |observer: &mut Observer, words: &str| ask(observer, words).divergence;
    assert_eq!(of(&mut observer, "Make the parser pass the nested brackets tests"), 0);
    assert_eq!(of(&mut observer, "Too slow, sorry"), 0);
    let signals = ask(&mut observer, "Write release notes for customers about invoices");
    assert!(signals.divergence >= 80, "{signals:?}");
    assert_eq!(signals.topic.as_deref(), Some("Write release notes for customers"));
    assert_eq!((signals.new_files, signals.new_folders), (0, 0));
    step(&mut observer, &[wrote("src/parser.rs"), wrote("docs/notes.md")]);
    let signals = step(&mut observer, &[wrote("docs/more.md")]);
    assert_eq!((signals.new_files, signals.new_folders, signals.files_changed), (2, 1, 3));
}

#[test]
fn the_request_that_a_root_is_named_after_is_its_goal() {
    let words = "Write release notes for customers about invoices";
    let mut root = Observer::new(&goal("Write", words), true);
    assert_eq!(ask(&mut root, words).divergence, 0);
    assert!(ask(&mut root, "Migrate database tables towards postgres clusters").divergence > 90);
}

#[test]
fn the_goals_words_are_covered_by_what_is_done() {
    let mut observer = watch();
    assert_eq!(step(&mut observer, &[ran("ls", 0)]).coverage, 0);
    let signals = step(&mut observer, &[wrote("src/parser.rs"), ran("cargo test nested", 0)]);
    assert!((40..100).contains(&signals.coverage), "{signals:?}");
    let signals = step(&mut observer, &[ran("fix brackets pass", 0)]);
    assert_eq!(signals.coverage, 100);
}

#[test]
fn messages_and_tokens_are_counted() {
    let mut observer = watch();
    ask(&mut observer, "go on");
    step(&mut observer, &[]);
    let signals = observer.signals(Some(700), Some(1000));
    assert_eq!((signals.messages, signals.steps, signals.user_turns), (2, 1, 1));
    assert_eq!((signals.tokens, signals.fill()), (20, Some(70)));
    assert_eq!(observer.signals(Some(700), None).fill(), None);
    assert_eq!(observer.signals(Some(700), Some(0)).fill(), None);
}
