//! A store of every schema that was released is read, and stays readable.
//!
//! `GOLDEN=1 cargo test -p callstack-store golden` writes the one of the present schema.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use callstack_core::autonomy::{Heuristic, SuggestionEnd};
use callstack_core::compaction::{
    Compaction, CompactionType, Notice, PendingCompaction, PendingCompletion,
};
use callstack_core::decide::{
    Activate, Command, Delegate, Invalidate, Plan, PlannedChild, Pop, Push, Reconcile, Reopen,
};
use callstack_core::event::{Event, GivenAnswer, MaskedOutput};
use callstack_core::evidence::{CommandRun, Evidence, WrittenFile};
use callstack_core::frame::{Artifact, FrameNum, Status};
use callstack_core::named_steps::NamedSteps;
use callstack_core::results::ResultsSource;
use callstack_core::search::Query;
use callstack_core::session_state::{BrokenTurn, Failure, SessionState, StaleReach};
use callstack_core::subagent::{Change, Completion, Trouble};
use callstack_core::transcript::{Anchor, Fold, Held, Outcome, SpanNum};
use callstack_store::{DATABASE, SCHEMA_VERSION, Store, StoreError, View};

use crate::child::WIDE;
use crate::search::{ids, index};
use crate::suggestions::suggestion;
use crate::support::{Project, append, assert_sound, carry_out, identity, nowhere, record, root};

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn at(call: u32) -> Anchor {
    Anchor { message: Some(format!("msg-{call}")), call: Some(format!("call-{call}")) }
}

fn push(session: &str, call: u32, title: &str) -> Command {
    Command::Push(Push {
        session: session.to_owned(),
        anchor: at(call),
        identity: identity(title),
        id: format!("frm-{call:04}"),
    })
}

fn pop(session: &str, call: u32, status: Status) -> Command {
    Command::Pop(Pop {
        session: session.to_owned(),
        frame: None,
        anchor: at(call),
        outcome: Outcome {
            status,
            results: Some(format!("what came of it at {call}: \"é\" & 漢字")),
            results_compacted: Some("dense".to_owned()),
            source: Some(ResultsSource::Agent),
        },
    })
}

fn planned(id: &str, children: Vec<PlannedChild>) -> PlannedChild {
    PlannedChild { id: id.to_owned(), identity: identity(&format!("later {id}")), children }
}

fn activate(frame: u64, call: u32) -> Command {
    Command::Activate(Activate {
        frame: FrameNum(frame),
        session: "ses_a".to_owned(),
        anchor: at(call),
        id: format!("frm-{call:04}"),
    })
}

fn state(state: SessionState) -> Event {
    Event::SessionStateSet { session: "ses_a".to_owned(), state }
}

/// A bit of everything that a store holds.
#[expect(clippy::too_many_lines, reason = "every event once")]
pub(crate) fn fill(store: &Store) {
    let done = |command: &Command| carry_out(store, command, &WIDE).unwrap();
    done(&root("ses_a", None));
    let goal = identity("the goal");
    done(&Command::SetIdentity {
        frame: FrameNum(1),
        identity: goal,
        derived: false,
        again: false,
    });
    done(&push("ses_a", 1, "parser"));
    for (path, hash) in [("src/parser.rs", Some("ab".repeat(32))), ("issue 12", None)] {
        let artifact = Artifact { path: path.to_owned(), hash };
        done(&Command::AddArtifact { frame: FrameNum(2), artifact });
    }
    done(&Command::AddDecision { frame: FrameNum(2), text: "hand-written".to_owned() });
    done(&pop("ses_a", 2, Status::Completed));
    let children =
        vec![planned("plan-a", vec![planned("plan-b", vec![])]), planned("plan-c", vec![])];
    done(&Command::Plan(Plan { parent: Some(FrameNum(1)), children }));
    done(&Command::Pin { frame: FrameNum(1), text: "never touch main".to_owned() });
    done(&Command::Pin { frame: FrameNum(1), text: "no network".to_owned() });
    done(&Command::Unpin { frame: FrameNum(1), pin: 2 });
    done(&activate(3, 3));
    done(&pop("ses_a", 4, Status::Blocked));
    done(&activate(3, 5));
    done(&root("ses_b", Some("ses_a")));
    done(&pop("ses_b", 6, Status::Failed));
    done(&pop("ses_a", 7, Status::Completed));
    done(&Command::Invalidate(Invalidate {
        frame: FrameNum(5),
        reason: "not needed".to_owned(),
        anchor: nowhere(),
    }));
    done(&push("ses_a", 8, "undone and done again"));
    done(&pop("ses_a", 9, Status::Completed));
    done(&push("ses_a", 10, "undone"));
    let reconcile = |detach: &[u64], unclose: &[u64], reclose: &[u64]| {
        let spans = |nums: &[u64]| nums.iter().map(|num| SpanNum(*num)).collect();
        Command::Reconcile(Reconcile {
            session: "ses_a".to_owned(),
            detach: spans(detach),
            attach: Vec::new(),
            unclose: spans(unclose),
            reclose: spans(reclose),
        })
    };
    let spans = store.read(|view| view.session_spans("ses_a")).unwrap();
    let [.., again, gone] = spans.as_slice() else { panic!("there are spans") };
    done(&reconcile(&[gone.num.0], &[again.num.0], &[]));
    done(&reconcile(&[], &[], &[again.num.0]));
    done(&Command::Reopen(Reopen {
        frame: FrameNum(2),
        session: "ses_a".to_owned(),
        anchor: at(11),
    }));
    let children = vec![planned("plan-d", vec![]), planned("plan-e", vec![])];
    done(&Command::Plan(Plan { parent: Some(FrameNum(2)), children }));
    for (frame, call) in [("plan-d", 12), ("plan-e", 13)] {
        let frame = store.read(|view| view.resolve(frame)).unwrap().num;
        done(&Command::Delegate(Delegate {
            frame,
            session: format!("ses_of_{frame}"),
            host: "opencode".to_owned(),
            after: None,
            caller: "ses_a".to_owned(),
            call: at(call),
        }));
    }
    let delegations = store.read(|view| view.delegations_of("ses_a")).unwrap();
    let fold = Fold {
        text: "what the model reads".to_owned(),
        settled_at: Some("msg-12".to_owned()),
        settled_serial: Some(3),
        renderer: 1,
        held: None,
    };
    let light = Fold {
        held: Some(Held::Light { span: 400, stands: 300 }),
        ..Fold::unweighed("what the model does not read yet".to_owned(), 1)
    };
    let trouble = Trouble { aborted: true, message: "stopped".to_owned() };
    append(
        store,
        &[
            Event::DelegationDelivered { span: delegations[0].delegation.span },
            Event::FoldSet { span: again.num, fold },
            Event::FoldSet { span: spans[1].num, fold: light },
            Event::Rendered {
                session: "ses_a".to_owned(),
                slot: "system:start".into(),
                text: "<stack/>".to_owned(),
                renderer: 1,
            },
            state(SessionState::FrameMode { on: false }),
            state(SessionState::TokensPerEstimate { percent: 75 }),
            state(SessionState::Stale { reach: StaleReach::Step, message: "msg-5".to_owned() }),
            state(SessionState::Stale { reach: StaleReach::Until, message: "msg-4".to_owned() }),
            state(SessionState::BrokenTurn(BrokenTurn {
                failure: Some(Failure { stopped: false, message: "no answer".to_owned() }),
                trouble: Some(Trouble { aborted: false, message: "no answer".to_owned() }),
            })),
            masked("what stands for it", "msg-7", 1),
            masked("what is never said", "msg-9", 2),
            Event::StepsNamed {
                session: "ses_a".to_owned(),
                steps: NamedSteps { num: 1, first: at(2), last: at(5) },
            },
            suggestion(1, "ses_a", 1, Heuristic::FailureBoundary),
            suggestion(2, "ses_a", 2, Heuristic::Stagnation),
            Event::SuggestionEnded { suggestion: 1, end: SuggestionEnd::ActedOn },
            Event::CallAnswered {
                session: "ses_a".to_owned(),
                call: at(7),
                answer: Box::new(GivenAnswer {
                    title: "invalidated f5".to_owned(),
                    text: "Frame f5 is invalidated.".to_owned(),
                    data: serde_json::json!({"invalidated": [5]}),
                    closed: Some(FrameNum(5)),
                }),
            },
            Event::SettingSet { name: "autonomy".to_owned(), value: Some("manual".to_owned()) },
            subagent("ses_b", seen("look (@general subagent)", true)),
            subagent("ses_b", Change::Idle { until: Some(6_000), trouble: Some(trouble) }),
            subagent("ses_c", seen("a question", false)),
            subagent("ses_c", Change::Idle { until: None, trouble: None }),
            subagent("ses_c", Change::Active),
            subagent("ses_c", Change::Completed { by: Completion::Manual }),
            subagent("ses_d", seen("a question", false)),
            subagent("ses_d", Change::Forgotten),
        ],
    );
    evidence(store, again.frame, again.num);
    compactions(store);
    record(store, "ses_a", &[("msg-1", "{\"first\":true}"), ("msg-2", &"again ".repeat(500))]);
    record(store, "ses_a", &[("msg-1", "{\"first\":false}"), ("msg-3", TYPICAL)]);
}

/// Most of it is in the dictionary with which bodies are packed.
const TYPICAL: &str = r#"{"info":{"id":"msg-3","sessionID":"ses_a","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/ada/shop","root":"/home/ada/shop"},"cost":0,"tokens":{"input":812,"output":64,"reasoning":0,"cache":{"read":15104,"write":0}},"modelID":"small","providerID":"local"},"parts":[{"type":"step-start","id":"prt-1","sessionID":"ses_a","messageID":"msg-3"}]}"#;

fn evidence(store: &Store, frame: FrameNum, span: SpanNum) {
    let taken =
        |frame, span, evidence| Event::EvidenceTaken { frame, span, evidence: Box::new(evidence) };
    append(
        store,
        &[
            taken(frame, Some(span), witnessed("make", 2)),
            taken(frame, Some(span), witnessed("make", 0)),
            taken(FrameNum(2), None, witnessed("cargo test", 0)),
            taken(FrameNum(1), None, Evidence::default()),
        ],
    );
}

pub(crate) fn witnessed(command: &str, exit: i64) -> Evidence {
    let hash = Some("cd".repeat(32));
    Evidence {
        written: vec![WrittenFile { path: "src/parser.rs".to_owned(), hash }],
        commands: vec![CommandRun { line: command.to_owned(), exits: vec![exit] }],
        ..Evidence::default()
    }
}

/// Adds a compaction that came and is not reported yet, one that failed, and one that is pending.
fn compactions(store: &Store) {
    let came = |kind, summary: Option<&str>| Event::CompactionSettled {
        compaction: Box::new(Compaction {
            session: "ses_a".to_owned(),
            kind,
            frame: Some(FrameNum(2)),
            message: summary.map(|_| "msg-s".to_owned()),
            summary: summary.map(str::to_owned),
            failure: summary.is_none().then(|| "the model failed".to_owned()),
            notice: summary.map(|_| Notice {
                whole: "all of it".to_owned(),
                brief: "in a line".to_owned(),
                call: Some("call-1".to_owned()),
                awaited: true,
            }),
        }),
    };
    let asked = PendingCompaction {
        session: "ses_a".to_owned(),
        frame: FrameNum(2),
        completion: Some(PendingCompletion {
            status: Status::Completed,
            results: Some("by hand".to_owned()),
            results_compacted: None,
            seen: witnessed("make", 2),
        }),
        note: None,
        anchor: at(12),
        requested: true,
    };
    let summary = PendingCompaction { completion: None, ..asked.clone() };
    append(
        store,
        &[
            Event::CompactionAsked { compaction: Box::new(summary.clone()) },
            Event::CompactionDropped { session: "ses_a".to_owned(), reason: "undone".to_owned() },
            Event::CompactionAsked { compaction: Box::new(summary) },
            came(CompactionType::ManualSummary, Some("how it stands")),
            Event::CheckpointSet {
                frame: FrameNum(2),
                results: "how it stands".to_owned(),
                results_compacted: "stands".to_owned(),
            },
            Event::CompactionTold { session: "ses_a".to_owned() },
            came(CompactionType::Overflow, None),
            came(CompactionType::Overflow, Some("all so far")),
            Event::CompactionAsked { compaction: Box::new(asked) },
        ],
    );
}

fn subagent(session: &str, change: Change) -> Event {
    Event::Subagent { session: session.to_owned(), change }
}

fn seen(title: &str, matches: bool) -> Change {
    let caller = Some(FrameNum(2));
    Change::Seen { parent: "ses_a".to_owned(), title: title.to_owned(), caller, matches }
}

/// All that a store says, as text.
fn masked(text: &str, settled_at: &str, settled_serial: i64) -> Event {
    Event::OutputsMasked {
        session: "ses_a".to_owned(),
        masks: vec![MaskedOutput {
            message: "msg-5".to_owned(),
            part: "prt-1".to_owned(),
            text: text.to_owned(),
        }],
        settled_at: settled_at.to_owned(),
        settled_serial,
    }
}

/// Writes nothing for a session without a state, as in stores of versions that had none.
fn describe_states(view: &View<'_>, session: &str, text: &mut String) -> Result<(), StoreError> {
    let mode = view.kept_frame_mode(session)?;
    let (tokens, broken) = (view.tokens_per_estimate(session)?, view.broken_turn(session)?);
    if (mode, tokens, &broken) != (None, None, &BrokenTurn::default()) {
        writeln!(text, "{mode:?} {tokens:?} {broken:?}").unwrap();
    }
    for mark in view.stale_marks(session)? {
        writeln!(text, "{mark:?}").unwrap();
    }
    Ok(())
}

pub(crate) fn describe(store: &Store) -> String {
    let mut text = String::new();
    store
        .read(|view| {
            for num in 1.. {
                match view.frame(FrameNum(num)) {
                    Ok(frame) => writeln!(text, "{frame:#?}").unwrap(),
                    Err(StoreError::NoFrame(_)) => break,
                    Err(error) => return Err(error),
                }
            }
            writeln!(text, "{:#?}", view.all_evidence()?).unwrap();
            for session in view.sessions(100)? {
                writeln!(text, "{session:#?}").unwrap();
                for span in view.session_spans(&session.id)? {
                    writeln!(text, "{span:#?}").unwrap();
                }
                for delegation in view.delegations_of(&session.id)? {
                    writeln!(text, "{delegation:#?}").unwrap();
                }
                for message in view.messages(&session.id)? {
                    writeln!(text, "{message:#?}").unwrap();
                }
                writeln!(text, "{:#?}", view.pending_compaction(&session.id)?).unwrap();
                writeln!(text, "{:#?}", view.unannounced_compactions(&session.id)?).unwrap();
                writeln!(text, "{:?}", view.compaction_counts(Some(&session.id))?).unwrap();
                for mask in view.session_masks(&session.id)? {
                    writeln!(text, "{mask:?}").unwrap();
                }
                for steps in view.named_steps(&session.id)? {
                    writeln!(text, "{steps:?}").unwrap();
                }
                for (slot, rendered, seq) in view.renders(&session.id, None)? {
                    writeln!(text, "{:?}", (slot.to_string(), rendered, seq)).unwrap();
                }
                describe_states(view, &session.id, &mut text)?;
            }
            for stored in view.newest_suggestions(None, 100, 0)? {
                writeln!(text, "{stored:#?}").unwrap();
            }
            for session in view.subagents()? {
                writeln!(text, "{session:?}").unwrap();
            }
            writeln!(text, "{:?}", view.subagent_stats()?).unwrap();
            if let Some(answer) = view.answer_given("ses_a", &at(7))? {
                writeln!(text, "{answer:?}").unwrap();
            }
            writeln!(text, "plan-a is {}", view.resolve("plan-a")?.num).unwrap();
            writeln!(text, "{:?} {:?}", view.all_counts()?, view.setting("autonomy")?).unwrap();
            Ok(())
        })
        .unwrap();
    text
}

#[test]
fn stores_of_all_schemas_are_read_and_go_on() {
    if std::env::var_os("GOLDEN").is_some() {
        make();
    }
    for schema in 1..=SCHEMA_VERSION {
        let database = golden(&format!("schema-{schema}.db"));
        let project = Project::new();
        fs::copy(&database, project.database())
            .unwrap_or_else(|error| panic!("{}: {error}; GOLDEN=1 writes it", database.display()));
        let store = project.open();
        assert_sound(&store);
        let described = fs::read_to_string(golden(&format!("schema-{schema}.txt"))).unwrap();
        assert_eq!(describe(&store), described, "schema {schema}");
        carry_out(&store, &root("ses_new", None), &WIDE).unwrap();
        assert_sound(&store);
        assert_eq!(store.rebuild().unwrap().events, store.check().unwrap().events);
    }
}

#[test]
fn what_an_older_store_was_indexed_by_is_forgotten_and_what_it_keeps_is_found() {
    for schema in 1..=SCHEMA_VERSION {
        let project = Project::new();
        fs::copy(golden(&format!("schema-{schema}.db")), project.database()).unwrap();
        if schema < 2 {
            let all = "INSERT INTO indexed SELECT 'messages', max(num) FROM messages
                       UNION SELECT 'events', max(seq) FROM events";
            rusqlite::Connection::open(project.database()).unwrap().execute(all, []).unwrap();
        }
        let store = project.open();
        index(&store);
        assert_eq!(ids(&store, "again"), ["ses_a msg-2 1"], "schema {schema}");
        let frames = store.read(|view| {
            let known = Query::words("hand-written").unwrap().known();
            view.frames_known_by(&view.narrowed(&known)?, 10)
        });
        assert_eq!(frames.unwrap(), [FrameNum(2)], "schema {schema}");
        assert_sound(&store);
    }
}

/// A store of schema 6 has the states of a session among its rendered texts, in the log and in a table.
#[test]
fn the_session_states_of_an_older_store_are_what_they_were() {
    const STATES: [(&str, &str); 7] = [
        ("mode", "off"),
        ("calibration", "1.25"),
        ("broken", r#"{"failure":{"stopped":true,"message":"x"},"trouble":null}"#),
        ("stale:until:msg-1", ""),
        ("stale:step:msg-9", ""),
        ("stale:step:msg-2", ""),
        ("stale:summary:msg-3", ""),
    ];
    let project = Project::new();
    fs::copy(golden("schema-6.db"), project.database()).unwrap();
    let raw = rusqlite::Connection::open(project.database()).unwrap();
    for (slot, text) in STATES {
        let rendered = Event::Rendered {
            session: "ses_a".to_owned(),
            slot: slot.into(),
            text: text.to_owned(),
            renderer: 1,
        };
        let body = serde_json::to_string(&rendered).unwrap();
        raw.execute("INSERT INTO events (at, body) VALUES (1000, ?1)", [body]).unwrap();
        let row = "INSERT INTO renders SELECT 'ses_a', ?1, ?2, 1, max(seq) FROM events";
        raw.execute(row, [slot, text]).unwrap();
        raw.execute(
            "UPDATE sessions SET changed_seq = (SELECT max(seq) FROM events) WHERE id = 'ses_a'",
            [],
        )
        .unwrap();
    }
    drop(raw);
    let store = project.open();
    assert_sound(&store);
    let check = |store: &Store| {
        store
            .read(|view| {
                assert_eq!(view.kept_frame_mode("ses_a")?, Some(false));
                assert_eq!(view.tokens_per_estimate("ses_a")?, Some(125));
                let failure = Failure { stopped: true, message: "x".to_owned() };
                let broken = BrokenTurn { failure: Some(failure), trouble: None };
                assert_eq!(view.broken_turn("ses_a")?, broken);
                let marks = view.stale_marks("ses_a")?;
                let marks: Vec<_> = marks.iter().map(|(it, of)| (it.as_str(), &of[..])).collect();
                let expected = [
                    ("until", "msg-1"),
                    ("step", "msg-9"),
                    ("step", "msg-2"),
                    ("summary", "msg-3"),
                ];
                assert_eq!(marks, expected);
                assert_eq!(view.renders("ses_a", None)?.len(), 1, "the texts stay where they were");
                assert_eq!(view.kept_frame_mode("ses_b")?, None);
                Ok::<_, StoreError>(())
            })
            .unwrap();
    };
    check(&store);
    store.rebuild().unwrap();
    check(&store);
    let state = SessionState::FrameMode { on: true };
    append(&store, &[Event::SessionStateSet { session: "ses_a".to_owned(), state }]);
    assert_eq!(store.read(|view| view.kept_frame_mode("ses_a")).unwrap(), Some(true));
    assert_sound(&store);
}

fn make() {
    let project = Project::new();
    let store = project.open();
    fill(&store);
    let described = describe(&store);
    // Closing brings the write-ahead log into the file.
    drop(store);
    fs::copy(project.folder().join(DATABASE), golden(&format!("schema-{SCHEMA_VERSION}.db")))
        .unwrap();
    fs::write(golden(&format!("schema-{SCHEMA_VERSION}.txt")), described).unwrap();
    println!("wrote {}", golden(&format!("schema-{SCHEMA_VERSION}.db")).display());
}
