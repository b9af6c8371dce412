//! Figures, on sessions that a reader can count by hand.

use callstack_replay::{
    BESIDE, CALL, Miss, PieceKind, Policy, Replay, Report, Reread, Session, Strategy, dump, linear,
    terms,
};
use insta::assert_snapshot;

use crate::sessions::{
    SessionBuilder, edit, program, read, replace, run, todos, words, work, write,
};

pub(crate) fn replay(recording: &callstack_recordings::Recording) -> Replay {
    Replay::of(recording, &Policy::default())
}

fn texts(replay: &Replay, way: Strategy, call: usize) -> Vec<String> {
    let (_, sent) = replay.sent.iter().find(|(it, _)| *it == way).unwrap();
    let request = sent.iter().nth(call).unwrap();
    request.iter().map(|item| replay.session.items.get(*item).text.clone()).collect()
}

#[test]
fn a_request_is_all_that_came_before_it() {
    let recording = SessionBuilder::new()
        .user("Look")
        .agent(vec![words("I look."), run("ls", "main.rs")])
        .agent(vec![words("There is main.rs.")])
        .done();
    let replay = replay(&recording);
    assert_eq!(texts(&replay, Strategy::Linear, 0), ["Look"]);
    let second = ["Look", "I look.", "Bash\ncommand: ls", "main.rs"];
    assert_eq!(texts(&replay, Strategy::Linear, 1), second);
    assert_eq!(
        texts(&replay, Strategy::Frames, 1),
        second,
        "nothing is folded, so it is as recorded"
    );
    let figures = replay.figures(Strategy::Linear);
    let tokens = |request: &[&str]| {
        request.iter().map(|text| callstack_core::text::estimate_tokens(text) as u64).sum::<u64>()
    };
    let (first, all) = (tokens(&["Look"]), tokens(&second));
    assert_eq!(figures.input, first + all);
    assert_eq!(figures.billed_hundredths, 125 * first + 10 * first + 125 * (all - first));
    assert_eq!((figures.largest, figures.used, figures.kept), (all, 1, 1));
}

#[test]
fn after_a_pause_everything_is_new() {
    let session = |pause| {
        let recording = SessionBuilder::new()
            .user("Look")
            .agent(vec![run("ls", "main.rs")])
            .pause(pause)
            .agent(vec![words("There is main.rs.")])
            .done();
        replay(&recording).figures(Strategy::Linear)
    };
    let (short, long) = (session(299_000), session(299_001));
    assert_eq!(short.input, long.input);
    assert_eq!(long.billed_hundredths, 125 * long.input);
    assert!(short.billed_hundredths < long.billed_hundredths);
}

#[test]
fn times_without_sense_are_no_pause_or_one() {
    let session = |times: [i64; 3]| {
        let mut making = SessionBuilder::new();
        making.user("Look").agent(vec![run("ls", "main.rs")]).agent(vec![words("There it is.")]);
        let mut recording = making.done();
        for (message, at) in recording.messages.iter_mut().zip(times) {
            message.at = Some(at);
        }
        replay(&recording).figures(Strategy::Frames)
    };
    let forwards = session([i64::MIN, i64::MIN, i64::MAX]);
    assert_eq!(forwards.billed_hundredths, 125 * forwards.input);
    let backwards = session([i64::MAX, i64::MAX, i64::MIN]);
    assert!(backwards.billed_hundredths < 125 * backwards.input);
}

#[test]
fn progress_is_reported_with_each_call() {
    let mut seen = Vec::new();
    let ways = [Strategy::Frames];
    let replay = Replay::in_ways(&work(), &Policy::default(), &ways, &mut |progress| {
        seen.push((progress.call, progress.calls));
    });
    let calls = replay.session.calls.len();
    assert_eq!(seen, (0..=calls).map(|call| (call, calls)).collect::<Vec<_>>());
}

#[test]
fn names_of_tools_are_not_what_the_agent_writes_again() {
    let recording = SessionBuilder::new()
        .user("Look")
        .agent(vec![todos(&[">see parse_date"])])
        .agent(vec![todos(&["+see parse_date"])])
        .done();
    let replay = replay(&recording);
    let of = |call: usize| {
        let output = replay.session.items.get(replay.session.calls[call].output);
        output.text.clone()
    };
    assert_eq!(of(1), "+see parse_date");
    // parse_date is, TodoWrite is not.
    assert_eq!(replay.figures(Strategy::Linear).used, 1);
}

#[test]
fn a_recorded_compaction_is_part_of_every_way() {
    let recording = SessionBuilder::new()
        .user("Look")
        .agent(vec![run("ls", "parse_date")])
        .summary("We looked.")
        .user("Go on")
        .agent(vec![words("parse_date it is.")])
        .done();
    let replay = replay(&recording);
    for (way, _) in &replay.sent {
        assert_eq!(texts(&replay, *way, 1), ["We looked.", "Go on"], "{}", way.name());
    }
    assert_eq!(
        replay.figures(Strategy::Linear).used,
        0,
        "what the agent no longer had is not asked for"
    );
}

#[test]
fn tokens_are_counted_as_the_provider_does() {
    let mut making = SessionBuilder::new();
    making.user("Look at everything");
    for at in 0..12 {
        making.agent(vec![run("ls", &program("file", 5 + at))]);
    }
    let recording = making.done();
    let session = Session::of(&recording);
    let requests = linear(&session);
    let report = |(at, request): (usize, Vec<u32>)| {
        let estimated: u64 = request.iter().map(|item| session.items.get(*item).estimated).sum();
        // One report is of something else altogether.
        if at == 5 { 900_000 } else { 20_000 + estimated * 2 }
    };
    making.usages(&requests.iter().enumerate().map(report).collect::<Vec<_>>());
    let fit = replay(&making.done()).fit;
    assert!((fit.factor - 2.0).abs() < 0.01 && fit.beside.abs_diff(20_000) < 20, "{fit:?}");
    assert_eq!((fit.reports, fit.tokens(100)), (12, 200));
}

#[test]
fn without_reports_the_estimate_stands() {
    let fit = replay(&work()).fit;
    assert_eq!((fit.reports, fit.tokens(123)), (0, 123));
}

#[test]
fn an_item_that_is_over_is_replaced_by_what_it_returned() {
    let replay = replay(&work());
    let sent = texts(&replay, Strategy::Frames, 5);
    assert_snapshot!(sent.join("\n----\n"));
}

#[test]
fn a_finished_turn_leaves_words_and_reply() {
    let replay = replay(&work());
    let sent = texts(&replay, Strategy::Frames, 9);
    assert_snapshot!(sent.join("\n----\n"));
}

/// The places of the outputs that are masked at each call.
fn masked(replay: &Replay) -> Vec<Vec<String>> {
    let frames = &replay.sent.iter().find(|(way, _)| *way == Strategy::Frames).unwrap().1;
    let masked = |request: Vec<u32>| -> Vec<String> {
        let items = request.into_iter().map(|item| replay.session.items.get(item));
        let masked = items.filter(|it| it.text.starts_with("[callstack] This output"));
        masked.map(|it| it.id.clone()).collect()
    };
    frames.iter().map(masked).collect()
}

fn reads(files: usize, lines: usize) -> Replay {
    let mut making = SessionBuilder::new();
    making.user("Look at the files again and again");
    for at in 0..60 {
        let name = format!("file{}", at % files);
        making.agent(vec![read(&format!("/home/me/app/src/{name}.rs"), &program(&name, lines))]);
    }
    replay(&making.done())
}

#[test]
fn what_was_read_again_is_masked_in_batches_and_stays_masked() {
    let replay = reads(4, 150);
    let calls = masked(&replay);
    let all = calls.last().unwrap();
    assert!(all.len() > 40, "{} of 60 were masked", all.len());
    let mut batches = 0;
    for pair in calls.windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "{:?} became {:?}", pair[0], pair[1]);
        batches += usize::from(pair[0] != pair[1]);
    }
    assert!(batches * 2 < all.len(), "{batches} batches of {}", all.len());
    let (whole, frames) = (replay.figures(Strategy::Linear), replay.figures(Strategy::Frames));
    assert!(frames.largest * 2 < whole.largest && frames.billed() < whole.billed(), "{frames:?}");
}

#[test]
fn what_nothing_replaced_is_not_masked() {
    assert!(masked(&reads(60, 50)).iter().all(Vec::is_empty));
}

#[test]
fn what_is_too_large_from_the_start_is_never_sent_whole() {
    let large = |name| read(&format!("/home/me/app/src/{name}.rs"), &program(name, 1_500));
    let recording = SessionBuilder::new()
        .user("Look")
        .agent(vec![large("date"), large("time")])
        .agent(vec![words("date_7 is there."), large("zone")])
        .agent(vec![words("zone_7 is there, and time_7.")])
        .done();
    let replay = replay(&recording);
    let has = |way, text: &str| texts(&replay, way, 1).concat().contains(text);
    assert!(has(Strategy::Linear, "date_9") && !has(Strategy::Masking, "date_9"));
    let (linear, masking) = (replay.figures(Strategy::Linear), replay.figures(Strategy::Masking));
    assert!(masking.kept < linear.kept && masking.largest < linear.largest, "{masking:?}");
}

#[test]
fn a_child_session_has_no_frames() {
    let mut making = SessionBuilder::from(work());
    let replay = replay(&making.child().done());
    assert_eq!(replay.frames.len(), 1);
}

#[test]
fn what_is_dumped_is_what_was_counted() {
    let replay = replay(&work());
    let mut file = Vec::new();
    dump(&replay, true, &mut file).unwrap();
    let lines: Vec<serde_json::Value> = file
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(lines.len(), replay.session.calls.len() * 5);
    let has = |text: &str, wanted: &str| {
        let mut found = false;
        terms(text, |term| found |= term == wanted);
        found
    };
    for way in Strategy::ALL {
        let (mut tokens, mut used, mut kept) = (0, 0, 0);
        let of = |way: Strategy| lines.iter().filter(move |line| line["way"] == way.name());
        for (whole, line) in of(Strategy::Linear).zip(of(way)) {
            assert_eq!((&whole["session"], &whole["call"]), (&line["session"], &line["call"]));
            let texts = |line: &serde_json::Value| -> Vec<String> {
                let items = line["items"].as_array().unwrap().iter();
                items.map(|item| item["text"].as_str().unwrap().to_owned()).collect()
            };
            let (whole, sent) = (texts(whole), texts(line));
            tokens +=
                sent.iter().map(|text| callstack_core::text::estimate_tokens(text)).sum::<usize>();
            let mut wanted = std::collections::BTreeSet::new();
            terms(line["output"].as_str().unwrap(), |term| {
                wanted.insert(term.into_owned());
            });
            for term in wanted.iter().filter(|term| whole.iter().any(|text| has(text, term))) {
                used += 1;
                kept += u64::from(sent.iter().any(|text| has(text, term)));
            }
        }
        let figures = replay.figures(way);
        assert_eq!(
            (figures.input, figures.used, figures.kept),
            (tokens as u64, used, kept),
            "{way:?}"
        );
    }
}

#[test]
fn a_call_and_its_result_go_together() {
    let mut making = SessionBuilder::new();
    making.user("Build it");
    for at in 0..30 {
        making.agent(vec![read("/a/b.rs", &program("b", 100 + at)), edit("/a/b.rs", "x")]);
        making.agent(vec![todos(&[">one", "two"]), run("make", &program("make", 50))]);
    }
    let replay = replay(&making.done());
    for (way, sent) in &replay.sent {
        for request in sent.iter() {
            let ids: Vec<&str> =
                request.iter().map(|item| replay.session.items.get(*item).id.as_str()).collect();
            for id in &ids {
                if let Some(call) = id.strip_suffix("/result") {
                    assert!(ids.contains(&call), "{way:?}: {id} without its call");
                }
            }
            for pieces in &replay.session.pieces {
                for call in pieces.iter().filter(|piece| piece.kind == PieceKind::Call) {
                    let id = replay.session.items.get(call.item).id.as_str();
                    let result = format!("{id}/result");
                    let has_result = ids.contains(&result.as_str());
                    assert_eq!(ids.contains(&id), has_result, "{way:?}: {id} without its result");
                }
            }
        }
    }
}

/// A finished turn in which a file was read, and a turn that changes it without reading it again.
pub(crate) fn edited(
    with: &[callstack_recordings::RecordedPart],
) -> callstack_recordings::Recording {
    let file = "/home/me/app/src/date.rs";
    let mut making = SessionBuilder::new();
    making.user("Look at the dates, all of them, and at what parses.");
    making.agent(vec![read(file, &program("date", 400))]);
    for _ in 0..4 {
        making.agent(vec![run("make", &program("make", 200))]);
    }
    making.agent(vec![words("I have looked.")]);
    making.user("Now change two of them.");
    for part in with {
        making.agent(vec![part.clone()]);
    }
    making.agent(vec![words("Done.")]);
    making.done()
}

/// Lines of the program as they stand in the file.
pub(crate) fn lines(from: usize, to: usize) -> String {
    let program = program("date", to);
    let lines = program.lines().skip(from - 1).filter_map(|line| line.split_once('\t'));
    lines.map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_edit_whose_text_is_gone_costs_a_read() {
    let file = "/home/me/app/src/date.rs";
    let parts = [
        replace(file, &lines(107, 109), "let date_107 = 8;"),
        replace("src/date.rs", &lines(120, 120), "let date_120 = 21;"),
        replace(file, "let date_107 = 8;", "let date_107 = 9;"),
        replace(file, "never seen", "nor this"),
    ];
    let replay = replay(&edited(&parts));
    let (linear, frames) = (replay.figures(Strategy::Linear), replay.figures(Strategy::Frames));
    assert_eq!((linear.edits, linear.verbatim, linear.reads), (3, 3, 0));
    assert_eq!(linear.with_reads_hundredths, linear.billed_hundredths);
    assert_eq!((frames.edits, frames.verbatim), (3, 1), "what it wrote itself is still there");
    assert_eq!((frames.reads, frames.read_calls), (1, 1), "read once, it is there");
    let misses = replay.misses(Strategy::Frames);
    let found: Vec<_> = misses.iter().map(|miss| (miss.call, miss.texts.concat())).collect();
    assert_eq!(found, [(6, lines(107, 109)), (7, lines(120, 120))]);
    let is_read = |miss: &Miss| {
        let held = miss.held.map(|(_, kind, item)| (kind, &replay.session.items.get(item).text));
        held == Some((PieceKind::Result, &program("date", 400)))
    };
    assert!(misses.iter().all(is_read), "{misses:?}");
    assert_eq!(replay.misses(Strategy::Linear), []);
    // The call that reads the file, and its output in the four requests after it.
    let output = callstack_core::text::estimate_tokens(&program("date", 400)) as u64 + CALL;
    let request = frames.curve[6];
    let wanted = request * 10 + output * 125 + CALL * 500 + 4 * output * 10;
    assert_eq!(frames.with_reads_hundredths, frames.billed_hundredths + wanted);
    let largest = frames.largest.max(frames.curve[10] + output);
    assert_eq!(frames.largest_with_reads, largest);
    let sent = replay.framed().unwrap();
    assert_eq!(replay.measure(sent, Reread::Whole), frames);
    let in_part = replay.measure(sent, Reread::AsRecorded);
    let wanted = request * 10 + (530 + CALL) * 125 + CALL * 500 + 4 * (530 + CALL) * 10;
    assert_eq!(in_part.with_reads_hundredths, frames.billed_hundredths + wanted);
}

#[test]
fn a_file_that_is_rewritten_without_its_text_costs_a_read() {
    let write = |file| write(file, "all new");
    let replay = replay(&edited(&[write("/home/me/app/src/date.rs"), write("new.rs")]));
    let frames = replay.figures(Strategy::Frames);
    assert_eq!((frames.edits, frames.reads), (0, 1));
    assert_eq!(replay.figures(Strategy::Linear).reads, 0);
}

#[test]
fn whole_requests_have_what_stands_beside_the_conversation() {
    let replay = replay(&work());
    let (linear, frames) = (replay.figures(Strategy::Linear), replay.figures(Strategy::Frames));
    assert_eq!((linear.beside, frames.beside), (BESIDE, BESIDE + 1_500));
    let whole = linear.whole();
    assert_eq!(whole.largest, linear.largest + BESIDE);
    assert_eq!(whole.input, linear.input + BESIDE * linear.calls);
    // The first request and the one after a pause are all new.
    let billed = BESIDE * (2 * 125 + (linear.calls - 2) * 10);
    assert_eq!(whole.billed_hundredths, linear.billed_hundredths + billed);
}

#[test]
fn without_its_pauses_a_session_keeps_its_cache() {
    let replay = replay(&work());
    let of = |figures: &[(Strategy, callstack_replay::Figures)], way| {
        figures.iter().find(|(it, _)| *it == way).unwrap().1.clone()
    };
    let linear = of(&replay.unpaused, Strategy::Linear);
    assert_eq!((linear.input, linear.cold), (replay.figures(Strategy::Linear).input, 1));
    assert!(linear.billed_hundredths < replay.figures(Strategy::Linear).billed_hundredths);
    let policy = Policy { pauses: false, ..Policy::default() };
    let unpaused = Replay::of(&work(), &policy).figures(Strategy::Frames);
    let frames = of(&replay.unpaused, Strategy::Frames);
    assert_eq!((frames.cold, &frames.curve), (1, &unpaused.curve));
    assert!(frames.billed_hundredths < unpaused.billed_hundredths, "pauses are still billed there");
}

#[test]
fn what_is_shown_in_one_step_is_reported() {
    let recording = SessionBuilder::new()
        .user("Look")
        .agent(vec![read("a.rs", &program("a", 300)), read("b.rs", &program("b", 300))])
        .agent(vec![words("I see.")])
        .done();
    let replayed = replay(&recording);
    let both = program("a", 300).len() + program("b", 300).len();
    assert!(replayed.largest_step > both as u64 / 8);
    let mut report = Report::default();
    report.add(String::new(), &recording, &replayed);
    let step = report.finish().sessions[0].largest_step;
    assert!(step.of_largest > 0.9 && step.of_largest < 1.0, "{step:?}");
}

#[test]
fn the_figures_of_a_session() {
    let recording = work();
    let mut report = Report::default();
    report.add("work.jsonl".to_owned(), &recording, &replay(&recording));
    let report = report.finish();
    assert_snapshot!(serde_json::to_string_pretty(&report).unwrap());
}
