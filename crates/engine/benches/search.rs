//! What it takes to find something in many messages.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use callstack_engine::search::SearchRequest;
use callstack_engine::{Engine, Settings, SystemWorld, UserMessage};
use callstack_store::{FOLDER, MessageBody, Store};
use serde_json::json;

use super::measure::{Dice, Samples, Table, load, ms};

/// Words that are used: few often, most of them rarely, as in what agents write and read.
const VOCABULARY: f64 = 300_000.0;
/// Messages of one session, and of one transaction.
const A_SESSION: usize = 2_000;
const A_TRANSACTION: usize = 64;
/// One message of so many is taken to look for what stands in it.
const TAKEN: usize = 50;
/// Searches of each kind.
const ROUNDS: usize = 300;
const GOAL: f64 = 5.0;

/// What is looked for: its name, whether as an exact string, and how it is made of a message's words.
type Kind = (&'static str, bool, fn(&mut Dice, &[String]) -> String);

/// Fills a store with transcripts of so many megabytes and looks for things in them.
pub(crate) fn measure(megabytes: usize) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let project = folder.path();
    let engine = Engine::open(project, Settings::default(), Box::new(SystemWorld)).unwrap();
    let start = Instant::now();
    let (messages, taken) = fill(&engine, project, megabytes * 1_000_000);
    println!("{messages} messages written in {:.0} s; {}", start.elapsed().as_secs_f64(), load());
    let start = Instant::now();
    while engine.search(&asking("nothing at all", false)).unwrap().behind {}
    println!("indexed in {:.0} s; {}", start.elapsed().as_secs_f64(), load());

    let mut table = Table::new(&["looked for", "times", "found", "median", "p99", "goal (p99)"]);
    let mut all = Samples::default();
    let kinds: [Kind; 6] = [
        ("a word", false, |dice, words| pick(dice, words, 1).join(" ")),
        ("two words", false, |dice, words| pick(dice, words, 2).join(" ")),
        ("four words", false, |dice, words| pick(dice, words, 4).join(" ")),
        ("a file's path", false, |dice, words| {
            let paths: Vec<_> = words.iter().filter(|word| word.contains('/')).cloned().collect();
            pick(dice, &paths, 1).join("")
        }),
        ("three words in a row, quoted", false, |dice, words| {
            let at = dice.below(words.len() - 3);
            format!("\"{}\"", words[at..at + 3].join(" "))
        }),
        ("an exact string", true, |dice, words| {
            let at = dice.below(words.len() - 3);
            words[at..at + 3].join(" ")
        }),
    ];
    for (name, exact, make) in kinds {
        let (mut samples, mut found) = (Samples::default(), 0);
        let mut dice = Dice::new(7);
        for _ in 0..ROUNDS {
            let words: Vec<String> = loop {
                let text = &taken[dice.below(taken.len())];
                let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
                if words.len() > 8 && words.iter().any(|word| word.contains('/')) {
                    break words;
                }
            };
            let request = asking(&make(&mut dice, &words), exact);
            let start = Instant::now();
            let answer = engine.search(&request).unwrap();
            samples.add(start.elapsed());
            all.add(start.elapsed());
            found += usize::from(!answer.places.is_empty());
        }
        table.row(row(name, &samples, found));
    }
    table.row(row("all of these", &all, ROUNDS * kinds.len()));
    table.print(&format!("Searching {megabytes} MB of transcripts (milliseconds; {})", load()));
}

fn row(name: &str, samples: &Samples, found: usize) -> Vec<String> {
    let met = super::verdict(samples.p99() <= GOAL, &GOAL.to_string());
    let (median, p99) = (ms(samples.median()), ms(samples.p99()));
    vec![name.to_owned(), samples.len().to_string(), found.to_string(), median, p99, met]
}

fn asking(text: &str, exact: bool) -> SearchRequest {
    SearchRequest {
        text: text.to_owned(),
        exact,
        frame: None,
        limit: 10,
        thorough: false,
        reveal: false,
    }
}

fn pick(dice: &mut Dice, words: &[String], count: usize) -> Vec<String> {
    (0..count).map(|_| words[dice.below(words.len())].clone()).collect()
}

/// Writes messages of `bytes` in all; how many, and the texts of some.
fn fill(engine: &Engine, project: &Path, bytes: usize) -> (usize, Vec<String>) {
    let store = Store::open(&project.join(FOLDER)).unwrap();
    let mut dice = Dice::new(1);
    let (mut written, mut messages, mut taken) = (0, 0, Vec::new());
    while written < bytes {
        let session = format!("ses_{messages:08}");
        let (host, text) = ("measure".to_owned(), "Go on".to_owned());
        engine.user_message(&UserMessage { session: session.clone(), host, text }).unwrap();
        let mut bodies = Vec::new();
        for at in 0..A_SESSION {
            let (said, body) = message(&mut dice, at);
            written += body.json.len();
            messages += 1;
            if messages % TAKEN == 0 {
                taken.push(said);
            }
            bodies.push(body);
        }
        for bodies in bodies.chunks(A_TRANSACTION) {
            store.write(|change| change.record_messages(1, &session, bodies)).unwrap();
        }
    }
    (messages, taken)
}

/// A step of an agent: a few words, a call, and 0.1 to 12 kB of output.
fn message(dice: &mut Dice, at: usize) -> (String, MessageBody) {
    let count = 10 + dice.below(1_500).min(dice.below(1_500)).min(dice.below(1_500));
    let said = text(dice, count);
    let id = format!("msg_{at:06}");
    let output = json!({
        "info": {"id": id, "role": "assistant", "time": {"created": 1}},
        "parts": [
            {"id": "prt_1", "type": "text", "text": text(dice, 12)},
            {"id": "prt_2", "type": "tool", "tool": "bash", "callID": "call", "state": {
                "status": "completed", "input": {"command": text(dice, 6)}, "output": said}},
        ],
    });
    (said, MessageBody { id, json: output.to_string() })
}

fn text(dice: &mut Dice, count: usize) -> String {
    let mut text = String::new();
    for at in 0..count {
        let word = word(dice);
        let separator = if at == 0 { "" } else { " " };
        // Writing to a string can't fail.
        let _ = match dice.below(20) {
            0 => write!(text, "{separator}src/{word}/{}.rs", self::word(dice)),
            1 => write!(text, "{separator}{word}_{}", self::word(dice)),
            2 => write!(text, "{separator}{}", dice.below(10_000)),
            _ => write!(text, "{separator}{word}"),
        };
    }
    text
}

/// A word of a rank whose logarithm is evenly spread.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank lies between 1 and the size of the vocabulary"
)]
fn word(dice: &mut Dice) -> String {
    const SYLLABLES: &[u8] = b"bacedifogukalemonupirotsuvixywzjqh";
    let share = dice.below(1 << 20) as f64 / f64::from(1 << 20);
    let mut rank = VOCABULARY.powf(share) as usize;
    let mut word = String::new();
    while rank > 0 {
        let at = 2 * (rank % (SYLLABLES.len() / 2));
        word.extend(SYLLABLES[at..at + 2].iter().map(|byte| char::from(*byte)));
        rank /= SYLLABLES.len() / 2;
    }
    word
}
