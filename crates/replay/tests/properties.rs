//! Properties of every session.

use callstack_recordings::Recording;
use callstack_replay::{
    Policy, Replay, Report, Strategy as Sending, StrategyReport, frames, linear,
};
use proptest::prelude::*;

use crate::sessions::{SessionBuilder, edit, program, read, replace, run, todos, words, write};

/// Something that happens in a session.
#[derive(Clone, Debug)]
enum Event {
    User,
    Say,
    Read(usize),
    Edit,
    Replace,
    Write,
    Run(usize),
    Todos(u8),
    Pause,
    Summary,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        2 => Just(Event::User),
        2 => Just(Event::Say),
        4 => (1_usize..150).prop_map(Event::Read),
        2 => Just(Event::Edit),
        2 => Just(Event::Replace),
        1 => Just(Event::Write),
        3 => (1_usize..60).prop_map(Event::Run),
        2 => (0_u8..4).prop_map(Event::Todos),
        1 => Just(Event::Pause),
        1 => Just(Event::Summary),
    ];
    proptest::collection::vec(event, 1..60)
}

fn session(events: &[Event]) -> Recording {
    let mut making = SessionBuilder::new();
    making.user("Begin with parse_date in src/date.rs.");
    for (at, event) in events.iter().enumerate() {
        let name = ["date", "time", "zone"][at % 3];
        let file = format!("/home/me/app/src/{name}.rs");
        match event {
            Event::User => making.user(&format!("Go on with parse_{name} and the {at}0 others.")),
            Event::Say => making.agent(vec![words(&format!("{name}_{at} is parse_{name} now."))]),
            Event::Read(lines) => making.agent(vec![read(&file, &program(name, *lines))]),
            Event::Replace => {
                let old = format!("let {name}_1 = parse_{name}(\"{name} 1\", 100);");
                making
                    .agent(vec![replace(&file, &old, "x"), replace(&file, &program(name, 3), "y")])
            }
            Event::Write => making.agent(vec![write(&file, &program(name, 3))]),
            Event::Edit => making.agent(vec![edit(&file, &program(name, 3))]),
            Event::Run(lines) => {
                making.agent(vec![words("I try."), run("make", &program(name, *lines))])
            }
            Event::Todos(0) => making.agent(vec![todos(&[">one", "two"])]),
            Event::Todos(1) => making.agent(vec![todos(&["+one", ">two"]), edit(&file, "x")]),
            Event::Todos(2) => making.agent(vec![todos(&["+one", "+two"])]),
            Event::Todos(_) => making.agent(vec![todos(&["two"])]),
            Event::Pause => making.pause(400_000),
            Event::Summary => making.summary("We work on parse_date."),
        };
    }
    making.agent(vec![words("Done: parse_date, parse_time.")]);
    making.done()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_session_is_counted_right(events in events()) {
        let recording = session(&events);
        let replay = Replay::of(&recording, &Policy::default());
        let linear = replay.figures(Sending::Linear);
        prop_assert_eq!(linear.kept, linear.used, "linear keeps everything");
        prop_assert_eq!((linear.verbatim, linear.reads), (linear.edits, 0));
        for (way, figures) in &replay.figures {
            prop_assert_eq!(figures.input, figures.curve.iter().sum::<u64>());
            prop_assert_eq!(Some(&figures.largest), figures.curve.iter().max());
            prop_assert_eq!(figures.calls, figures.curve.len() as u64);
            prop_assert_eq!(figures.used, linear.used, "{:?}", way);
            prop_assert!(figures.kept <= figures.used);
            prop_assert!(figures.billed_hundredths <= 125 * figures.input, "{:?}", way);
            prop_assert!(figures.billed_hundredths >= 10 * figures.input, "{:?}", way);
            prop_assert_eq!(figures.edits, linear.edits);
            prop_assert!(figures.verbatim <= figures.edits && figures.read_calls <= figures.reads);
            prop_assert!(figures.with_reads_hundredths >= figures.billed_hundredths);
            prop_assert_eq!(figures.with_reads_hundredths > figures.billed_hundredths, figures.reads > 0);
        }
        // All of the user's words are in the requests with frames.
        let whole = &replay.sent[0].1;
        let framed = &replay.sent.iter().find(|(way, _)| *way == Sending::Frames).unwrap().1;
        for (whole, sent) in whole.iter().zip(framed.iter()) {
            for item in whole {
                let text = &replay.session.items.get(item).text;
                if text.starts_with("Go on with") || text.starts_with("Begin with") {
                    prop_assert!(sent.contains(&item), "{} is gone", text);
                }
            }
        }
        let mut report = Report::default();
        report.add("a".to_owned(), &recording, &replay);
        report.add("b".to_owned(), &recording, &replay);
        let report = report.finish();
        for sum in &report.sum {
            let parts = || report.sessions.iter().flat_map(|it| it.ways.iter().filter(|of| of.way == sum.way));
            for of in [|it: &StrategyReport| it.conversation.clone(), |it: &StrategyReport| it.whole.clone()] {
                let billed = parts().map(|it| of(it).billed).sum::<f64>();
                prop_assert_eq!(of(sum).input, parts().map(|it| of(it).input).sum::<u64>());
                prop_assert!((of(sum).billed - billed).abs() < 1e-6);
            }
            prop_assert_eq!(sum.kept, parts().map(|it| it.kept).sum::<u64>());
            prop_assert_eq!(sum.edits, parts().map(|it| it.edits).sum::<u64>());
        }
    }

    #[test]
    fn with_nothing_folded_frames_are_the_recording(events in events()) {
        let mut making = SessionBuilder::from(session(&events));
        let recording = making.child().done();
        let mut session = callstack_replay::Session::of(&recording);
        let whole = linear(&session);
        // A child session is framed by nobody.
        let policy = Policy { masks: None, ..Policy::default() };
        let fit = Replay::of(&recording, &policy).fit;
        prop_assert_eq!(frames::requests(&mut session, &policy, &fit, &mut |_| {}).requests, whole);
    }

    #[test]
    fn the_same_session_is_replayed_the_same_way(events in events()) {
        let recording = session(&events);
        let (one, other) = (Replay::of(&recording, &Policy::default()), Replay::of(&recording, &Policy::default()));
        prop_assert_eq!(&one.sent, &other.sent);
        for (one, other) in one.figures.iter().zip(&other.figures) {
            prop_assert_eq!(&one.1, &other.1);
        }
    }

    #[test]
    fn between_folds_what_is_sent_only_grows_at_its_end(events in events()) {
        let recording = session(&events);
        let replay = Replay::of(&recording, &Policy::default());
        let framed = &replay.sent.iter().find(|(way, _)| *way == Sending::Frames).unwrap().1;
        let framed: Vec<_> = framed.iter().collect();
        let ours = |request: &[u32]| -> Vec<u32> {
            let is_ours = |item: &&u32| replay.session.items.get(**item).text.starts_with("[callstack]");
            request.iter().filter(is_ours).copied().collect()
        };
        let calls = &replay.session.calls;
        for at in 1..framed.len() {
            let compacted = !calls[at].shown.starts_with(&calls[at - 1].shown);
            if !compacted && ours(&framed[at]) == ours(&framed[at - 1]) {
                prop_assert!(framed[at].starts_with(&framed[at - 1]), "call {}", at);
            }
        }
    }
}
