//! The content of each format, and its rules for readers.

use std::collections::{HashMap, HashSet};

use callstack_core::control::steers;
use callstack_core::frame::Status;
use callstack_core::trace::SessionTrace;
use callstack_exports::Format;
use insta::assert_snapshot;
use serde_json::Value;

use crate::sessions::{HOSTILE, export, frame, sessions, with_content};

const ALL: [Format; 5] =
    [Format::Speedscope, Format::ChromeTrace, Format::Otlp, Format::Csv, Format::Mermaid];

fn json(format: Format, sessions: &[SessionTrace]) -> Value {
    serde_json::from_str(&export(format, sessions)).unwrap()
}

#[test]
fn every_format_is_as_it_was() {
    assert_snapshot!("speedscope", export(Format::Speedscope, &sessions()));
    assert_snapshot!("chrome", export(Format::ChromeTrace, &sessions()));
    assert_snapshot!("otlp", format!("{:#}", json(Format::Otlp, &sessions())));
    assert_snapshot!("csv", export(Format::Csv, &sessions()));
    assert_snapshot!("mermaid", export(Format::Mermaid, &sessions()));
}

#[test]
fn nothing_steers_a_terminal_and_nothing_is_a_formula() {
    for format in ALL {
        let text = export(format, &with_content());
        let left: Vec<char> =
            text.chars().filter(|char| !"\r\n".contains(*char)).filter(|it| steers(*it)).collect();
        assert!(left.is_empty(), "{format:?}: {left:?}");
        assert!(!text.contains(HOSTILE), "{format:?}");
    }
    let csv = export(Format::Csv, &sessions());
    assert!(csv.contains(",\"'=1+1 "), "{csv}");
    assert!(csv.split("\r\n").all(|row| !row.contains('\n')), "{csv}");
}

#[test]
fn a_document_of_no_session_is_whole() {
    for format in [Format::Speedscope, Format::ChromeTrace, Format::Otlp] {
        assert!(json(format, &[]).is_object());
    }
    assert_eq!(export(Format::Csv, &[]).lines().count(), 1);
    assert!(export(Format::Mermaid, &[]).contains("There are no frames yet."));
}

#[test]
fn profiles_of_speedscope_are_balanced_and_end_where_they_say() {
    let document = json(Format::Speedscope, &sessions());
    let names = document["shared"]["frames"].as_array().unwrap();
    let profiles = document["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), 6, "time, tokens sent and tokens written of two sessions");
    for profile in profiles {
        let (mut open, mut at) = (Vec::new(), 0);
        for event in profile["events"].as_array().unwrap() {
            let now = event["at"].as_u64().unwrap();
            assert!(now >= at, "{event}");
            at = now;
            let frame = event["frame"].as_u64().unwrap();
            assert!(frame < names.len() as u64);
            match event["type"].as_str().unwrap() {
                "O" => open.push(frame),
                _ => assert_eq!(open.pop(), Some(frame), "{event}"),
            }
        }
        assert!(open.is_empty(), "{profile}");
        assert_eq!(profile["endValue"], at);
    }
    let sent = profiles.iter().find(|it| it["name"].as_str().unwrap().ends_with("tokens sent"));
    assert_eq!(sent.unwrap()["endValue"], 44_000, "all that the host reports");
}

#[test]
fn events_of_a_thread_nest_exactly() {
    let document = json(Format::ChromeTrace, &sessions());
    let events = document["traceEvents"].as_array().unwrap();
    let mut threads: HashMap<u64, Vec<(u64, u64)>> = HashMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let (from, took) = (event["ts"].as_u64().unwrap(), event["dur"].as_u64().unwrap());
        threads.entry(event["tid"].as_u64().unwrap()).or_default().push((from, from + took));
    }
    assert_eq!(threads.len(), 2);
    for spans in threads.values() {
        // In the file, the outer one of two stands first.
        let mut around: Vec<(u64, u64)> = Vec::new();
        for (from, to) in spans {
            while around.last().is_some_and(|(_, end)| end <= from && !(end == from && to == from))
            {
                around.pop();
            }
            assert!(
                around.last().is_none_or(|(begin, end)| begin <= from && to <= end),
                "{spans:?}"
            );
            around.push((*from, *to));
        }
    }
    let named =
        |name: &str| events.iter().filter(|it| it["ph"] == "M" && it["name"] == name).count();
    assert_eq!((named("process_name"), named("thread_name")), (1, 2));
    let counted: Vec<u64> = events
        .iter()
        .filter(|event| event["ph"] == "C")
        .map(|event| event["args"]["without frames"].as_u64().unwrap())
        .collect();
    assert_eq!(counted, [40_000, 48_000, 16_000]);
}

/// The spans of a document, by their ids.
fn spans(document: &Value) -> HashMap<String, Value> {
    let resources = document["resourceSpans"].as_array().unwrap();
    let scopes = resources.iter().flat_map(|it| it["scopeSpans"].as_array().unwrap());
    let spans = scopes.flat_map(|it| it["spans"].as_array().unwrap());
    spans.map(|it| (it["spanId"].as_str().unwrap().to_owned(), it.clone())).collect()
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a Value> {
    let found = span["attributes"].as_array().unwrap().iter().find(|it| it["key"] == key)?;
    found["value"].as_object().unwrap().values().next()
}

#[test]
fn spans_of_a_tree_are_one_trace_and_each_has_its_frame_around_it() {
    let document = json(Format::Otlp, &sessions());
    let spans = spans(&document);
    // Three frames that were worked in, four calls of the model, three of tools.
    assert_eq!(spans.len(), 10);
    let traces: HashSet<_> = spans.values().map(|it| it["traceId"].as_str().unwrap()).collect();
    assert_eq!(traces.len(), 1);
    let roots: Vec<_> = spans.values().filter(|it| it["parentSpanId"] == "").collect();
    assert_eq!(roots.len(), 1, "{roots:?}");
    for span in spans.values().filter(|it| it["parentSpanId"] != "") {
        assert!(spans.contains_key(span["parentSpanId"].as_str().unwrap()), "{span}");
        let nano = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
        assert!(nano("startTimeUnixNano") <= nano("endTimeUnixNano"), "{span}");
    }
    let explored = spans
        .values()
        .find(|it| attribute(it, "callstack.frame.title").is_some_and(|it| it == "Explore"));
    let around = &spans[explored.unwrap()["parentSpanId"].as_str().unwrap()];
    assert_eq!(attribute(around, "callstack.frame").unwrap(), "f2");
    for span in spans.values() {
        let operation = attribute(span, "gen_ai.operation.name").unwrap().as_str().unwrap();
        assert!(span["name"].as_str().unwrap().starts_with(operation), "{span}");
    }
}

#[test]
fn input_tokens_of_spans_have_those_of_the_cache_in_them() {
    let spans = spans(&json(Format::Otlp, &sessions()));
    let first = spans.values().find(|it| {
        attribute(it, "gen_ai.usage.input_tokens").is_some_and(|tokens| tokens == "20000")
    });
    let first = first.unwrap();
    let tokens = |name: &str| attribute(first, name).unwrap().as_str().unwrap();
    assert_eq!(tokens("gen_ai.usage.cache_read.input_tokens"), "10000");
    assert_eq!(tokens("gen_ai.usage.cache_creation.input_tokens"), "5000");
    assert_eq!(tokens("gen_ai.usage.output_tokens"), "120");
}

#[test]
fn what_was_said_is_in_spans_only_where_it_is_asked_for() {
    let said = ["I look.", "src/a.rs", "fn a()", "f1 is done", "Done.", "Mend the parser"];
    let (without, with) =
        (export(Format::Otlp, &sessions()), export(Format::Otlp, &with_content()));
    for words in said {
        assert!(!without.contains(words), "{words}");
        assert!(with.contains(words), "{words}");
    }
    assert!(without.contains("Explore"), "a title that was given is the name of the work");
}

#[test]
fn ten_thousand_frames_are_written_in_every_format() {
    let one = |num: u64| frame(num, Some(num / 2).filter(|it| *it > 0), "Work", Status::Completed);
    let session =
        SessionTrace { frames: (1..=10_000).map(one).collect(), ..SessionTrace::default() };
    let sessions = [session];
    for format in ALL {
        let text = export(format, &sessions);
        let rows = if format == Format::Csv { 1 } else { 10_000 };
        assert!(text.matches("10000").count() + text.lines().count() > rows / 1_000, "{format:?}");
        assert!(format == Format::Csv || text.contains("f9999"), "{format:?}");
    }
}
