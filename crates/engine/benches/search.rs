//! The cost of searches in many messages.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use callstack_core::transcript::Anchor;
use callstack_engine::operation::Caller;
use callstack_engine::search::{Depth, SearchRequest};
use callstack_engine::{Engine, Placement, operations};
use callstack_store::{DATABASE, FOLDER, MessageBody, Store};
use serde_json::{Value, json};

use super::measure::{Dice, Samples, Table, load, ms};

/// The size of the vocabulary: few words are frequent and most are rare, as in the texts that agents write and read.
const VOCABULARY: f64 = 300_000.0;
/// Letters of a word that nearly every message contains, and of one that one in thousands contains.
const COMMON: usize = 2;
const RARE: usize = 10;
/// Messages of one session, and of one frame, which are written in one transaction.
const A_SESSION: usize = 2_000;
const A_FRAME: usize = 50;
/// Texts of one message in so many are searched for.
const TAKEN: usize = 50;
/// Searches of each kind for an agent, and for a person, who waits longer; the latter end after a while.
const ROUNDS: usize = 300;
const THOROUGH_ROUNDS: usize = 30;
const LONG: Duration = Duration::from_secs(20);
const GOAL: f64 = 5.0;

/// A kind of search: its name, whether for an exact string, whether there is a match, and how the query is made of a
/// message's words. None where these words make none.
type Kind = (&'static str, bool, bool, fn(&mut Dice, &[&str]) -> Option<String>);

const KINDS: [Kind; 20] = [
    ("a rare word", false, true, |dice, words| one(dice, words, is_rare)),
    ("a common word", false, true, |dice, words| one(dice, words, is_common)),
    ("any word", false, true, |dice, words| one(dice, words, |_| true)),
    ("a word that is not there", false, false, |dice, _| Some(format!("qx{}qx", dice.below(1000)))),
    ("two common words", false, true, |dice, words| {
        Some([one(dice, words, is_common)?, one(dice, words, is_common)?].join(" "))
    }),
    ("a rare and a common word", false, true, |dice, words| {
        Some([one(dice, words, is_rare)?, one(dice, words, is_common)?].join(" "))
    }),
    ("two words", false, true, |dice, words| Some(any(dice, words, 2))),
    ("four words", false, true, |dice, words| Some(any(dice, words, 4))),
    ("a file's path", false, true, |dice, words| one(dice, words, is_path)),
    ("a file's name", false, true, |dice, words| {
        one(dice, words, is_path)?.rsplit_once('/').map(|(_, name)| name.to_owned())
    }),
    ("a path that is not there", false, false, |dice, words| {
        let (folder, file) = (one(dice, words, is_plain)?, one(dice, words, is_plain)?);
        Some(format!("lib/{folder}/{file}.rs"))
    }),
    ("an identifier", false, true, |dice, words| one(dice, words, |word| word.contains('_'))),
    ("three words in a row, quoted", false, true, |dice, words| {
        Some(format!("\"{}\"", row_of(dice, words, 3, |_| true)?))
    }),
    ("exact: three words in a row", true, true, |dice, words| row_of(dice, words, 3, |_| true)),
    ("exact: common words in a row", true, true, |dice, words| row_of(dice, words, 2, is_common)),
    ("exact: from within a word to within another", true, true, |dice, words| {
        row_of(dice, words, 3, is_plain).and_then(inside)
    }),
    ("exact: within a rare word", true, true, |dice, words| inside(one(dice, words, is_rare)?)),
    ("exact: within a path", true, true, |dice, words| inside(one(dice, words, is_path)?)),
    ("exact: common words that never stand so", true, false, |dice, words| {
        Some([one(dice, words, is_common)?, one(dice, words, is_common)?].join(" | "))
    }),
    ("exact: letters that stand nowhere", true, false, |dice, _| {
        Some(format!("qx{}", dice.below(1_000)))
    }),
];

/// Fills a store with transcripts of so many megabytes and searches them. The store stays in `kept`, if that is
/// given, and one that is there already is used.
pub(crate) fn measure(megabytes: usize, kept: Option<PathBuf>) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let project = kept.unwrap_or_else(|| folder.path().to_owned());
    let is_new = !project.join(FOLDER).exists();
    fs::create_dir_all(&project).unwrap();
    let engine = super::open(&project, Placement::Output);
    let start = Instant::now();
    let taken = fill(&engine, &project, megabytes * 1_000_000, is_new);
    let (messages, bytes, bodies) = engine.message_sizes().unwrap();
    println!(
        "{messages} messages, {bytes} bytes, bodies of {bodies}; in {:.0} s; {}",
        start.elapsed().as_secs_f64(),
        load()
    );
    let (start, worked) = (Instant::now(), processor_time());
    while engine.search(&asking("nothing at all", false, Depth::Quick)).unwrap().behind {}
    let worked =
        processor_time().zip(worked).map(|(now, then)| now.saturating_sub(then).as_secs_f64());
    println!(
        "indexed in {:.0} s, {:.0} of the processor's; a database of {} bytes; {}",
        start.elapsed().as_secs_f64(),
        worked.unwrap_or(f64::NAN),
        fs::metadata(project.join(FOLDER).join(DATABASE)).unwrap().len(),
        load()
    );
    for (depth, most, who) in
        [(Depth::Quick, ROUNDS, "an agent"), (Depth::Thorough, THOROUGH_ROUNDS, "a person")]
    {
        let mut table = Table::new(&[
            "looked for",
            "times",
            "found",
            "median",
            "p99",
            "slowest",
            "processor: median",
            "p99",
            "goal (p99)",
        ]);
        let mut all = Searches::default();
        for kind in KINDS {
            let searches = searches(&engine, kind, &taken, depth, most);
            table.row(searches.row(kind.0));
            all.add(&searches);
        }
        table.row(all.row("all of these"));
        table.print(&format!(
            "Searching {megabytes} MB of transcripts for {who} (milliseconds; {})",
            load()
        ));
    }
}

/// Looks for things of a kind again and again.
fn searches(
    engine: &Engine,
    (_, exact, is_there, make): Kind,
    taken: &[String],
    depth: Depth,
    most: usize,
) -> Searches {
    let mut searches = Searches::default();
    let mut dice = Dice::new(7);
    let begun = Instant::now();
    while searches.wall.len() < most && begun.elapsed() < LONG {
        let text = &taken[dice.below(taken.len())];
        let words: Vec<&str> = text.split(' ').collect();
        let Some(text) = make(&mut dice, &words) else { continue };
        let request = asking(&text, exact, depth);
        let (start, worked) = (Instant::now(), processor_time());
        let answer = engine.search(&request).unwrap();
        searches.wall.add(start.elapsed());
        if let Some((worked, before)) = processor_time().zip(worked) {
            searches.processor.add(worked.saturating_sub(before));
        }
        searches.found += usize::from(!answer.places.is_empty());
        searches.there += usize::from(is_there);
    }
    searches
}

#[derive(Default)]
struct Searches {
    wall: Samples,
    processor: Samples,
    there: usize,
    found: usize,
}

impl Searches {
    fn add(&mut self, other: &Self) {
        self.wall.append(&other.wall);
        self.processor.append(&other.processor);
        self.there += other.there;
        self.found += other.found;
    }

    fn row(&self, name: &str) -> Vec<String> {
        vec![
            name.to_owned(),
            self.wall.len().to_string(),
            format!("{} of {}", self.found, self.there),
            ms(self.wall.median()),
            ms(self.wall.p99()),
            ms(self.wall.largest()),
            ms(self.processor.median()),
            ms(self.processor.p99()),
            super::verdict(self.wall.p99() <= GOAL, &GOAL.to_string()),
        ]
    }
}

/// Returns the processor time of this thread, where the system reports it: the load of other programs does not count.
fn processor_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        use rustix::time::{ClockId, clock_gettime};
        clock_gettime(ClockId::ThreadCPUTime).try_into().ok()
    }
    #[cfg(not(unix))]
    None
}

fn asking(text: &str, exact: bool, depth: Depth) -> SearchRequest {
    let text = text.to_owned();
    SearchRequest { text, exact, frame: None, limit: 10, depth, reveal: false }
}

fn is_plain(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn is_rare(word: &str) -> bool {
    is_plain(word) && word.len() >= RARE
}

fn is_common(word: &str) -> bool {
    is_plain(word) && word.len() <= COMMON
}

fn is_path(word: &str) -> bool {
    word.contains('/')
}

/// One of the words of some kind.
fn one(dice: &mut Dice, words: &[&str], wanted: fn(&str) -> bool) -> Option<String> {
    let words: Vec<_> = words.iter().filter(|word| wanted(word)).collect();
    (!words.is_empty()).then(|| (**words[dice.below(words.len())]).to_owned())
}

fn any(dice: &mut Dice, words: &[&str], count: usize) -> String {
    (0..count).map(|_| words[dice.below(words.len())]).collect::<Vec<_>>().join(" ")
}

/// Finds so many words in a row that are all of some kind.
fn row_of(
    dice: &mut Dice,
    words: &[&str],
    count: usize,
    wanted: fn(&str) -> bool,
) -> Option<String> {
    let rows: Vec<_> =
        words.windows(count).filter(|row| row.iter().all(|word| wanted(word))).collect();
    (!rows.is_empty()).then(|| rows[dice.below(rows.len())].join(" "))
}

/// A string without its first and its last letter.
fn inside(text: impl AsRef<str>) -> Option<String> {
    let text = text.as_ref();
    (text.len() > 6).then(|| text[1..text.len() - 1].to_owned())
}

/// Writes messages of `bytes` in all, in sessions with finished frames, if they are not there yet; returns
/// the texts of some.
fn fill(engine: &Engine, project: &Path, bytes: usize, is_new: bool) -> Vec<String> {
    let store = Store::open_unchecked(&project.join(FOLDER)).unwrap();
    let mut dice = Dice::new(1);
    let (mut written, mut messages, mut taken) = (0, 0, Vec::new());
    while written < bytes {
        let session = format!("ses_{messages:08}");
        for first in (0..A_SESSION).step_by(A_FRAME) {
            let mut bodies = Vec::new();
            for at in first..first + A_FRAME {
                let (said, body) = message(&mut dice, at);
                written += body.json.len();
                messages += 1;
                if messages % TAKEN == 0 {
                    taken.push(said);
                }
                bodies.push(body);
            }
            if is_new {
                record_frame(engine, &store, &session, &bodies);
            }
        }
    }
    taken
}

/// Records messages as the work in a frame.
fn record_frame(engine: &Engine, store: &Store, session: &str, bodies: &[MessageBody]) {
    let mut dice = Dice::new(bodies.iter().map(|body| body.json.len() as u64).sum());
    let call = |name: &str, body: &MessageBody, arguments: Value| {
        let (message, call) = (Some(body.id.clone()), Some(format!("call_{}", body.id)));
        let caller = Caller {
            agent: None,
            performs: false,
            reveal: true,
            key: None,
            session: session.to_owned(),
            host: "bench".to_owned(),
            anchor: Anchor { message, call },
        };
        operations::find(name).unwrap().run(engine, &caller, arguments).unwrap();
    };
    let record = |bodies: &[MessageBody]| {
        store.write(|change| change.record_messages(1, session, bodies)).unwrap();
    };
    let [first, .., last] = bodies else { return };
    record(&bodies[..1]);
    let title = text(&mut dice, 4);
    let criteria = text(&mut dice, 15);
    call("stack_frame_push", first, json!({"title": title, "successCriteria": criteria}));
    record(&bodies[1..]);
    let results = text(&mut dice, 60);
    let compacted = text(&mut dice, 20);
    let arguments = json!({"results": results, "resultsCompacted": compacted});
    call("stack_frame_pop", last, arguments);
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
