//! Takes evidence from an agent's words, thoughts and actions.

use callstack_core::evidence::{
    Action, Activity, Budget, Edit, Evidence, Remains, extract_results, span_tokens, take,
    unseen_outcome,
};
use callstack_core::transcript::{CallState, ToolCall};
use serde_json::{from_str, to_string};

use crate::is_one_in;

/// A record of the input ends with this byte, a field of it with the one below.
const RECORD: u8 = 0x1e;
const FIELD: u8 = 0x1f;

/// Records are activities, the first byte of each gives its kind; the first record is the project's folder, the
/// second the text that is known already. The evidence is the same each time, and the same after it was written and
/// read.
pub fn evidence(data: &[u8]) {
    let mut records = data.split(|byte| *byte == RECORD);
    let project = text(records.next());
    let results = text(records.next());
    let span: Vec<Activity> = records.filter_map(activity).collect();
    let tokens = span_tokens(&span);
    for budget in [Budget::default(), Budget::UNPUSHED] {
        let room = budget.of(tokens);
        let taken = take(&span, &results, &project, room, &|_| None);
        if is_one_in(20, data) {
            assert_eq!(taken, take(&span, &results, &project, room, &|_| None));
        }
        let written = to_string(&taken).expect("evidence is written as JSON");
        assert_eq!(from_str::<Evidence>(&written).expect("it is read again"), taken);
        drop((taken.lines(), taken.brief(), taken.searchable()));
        drop(taken.clone().then(taken));
    }
    drop(extract_results(&span, 150));
    drop(Remains::of(&span, &project));
    for activity in &span {
        if let Activity::Called(call) = activity {
            drop(unseen_outcome(call, &project));
        }
    }
}

fn text(bytes: Option<&[u8]>) -> String {
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}

fn activity(record: &[u8]) -> Option<Activity> {
    let (kind, rest) = record.split_first()?;
    let activity = match kind {
        b's' => Activity::Said(text(Some(rest))),
        b't' => Activity::Thought(text(Some(rest))),
        kind => Activity::called(call(*kind, rest)),
    };
    Some(activity)
}

fn call(kind: u8, rest: &[u8]) -> ToolCall {
    let mut fields = rest.split(|byte| *byte == FIELD);
    let tool = text(fields.next());
    let subject = text(fields.next());
    let output = text(fields.next());
    let exit = fields.next().and_then(|exit| text(Some(exit)).parse().ok());
    let before = fields.next().map(|before| text(Some(before)));
    let after = text(fields.next());
    let action = match kind {
        b'r' | b'R' => Action::Ran(subject.clone()),
        b'o' | b'O' => Action::Read(subject.clone()),
        b'w' | b'W' => Action::Wrote(subject.lines().map(str::to_owned).collect()),
        _ => Action::Other,
    };
    let edits = match &action {
        Action::Wrote(paths) => paths
            .iter()
            .map(|path| Edit {
                path: path.clone(),
                before: before.clone(),
                after: after.clone(),
                ..Edit::default()
            })
            .collect(),
        _ => Vec::new(),
    };
    let state =
        if kind.is_ascii_uppercase() { CallState::Failed } else { CallState::Completed };
    let (input, output) = (subject.into(), Some(output));
    ToolCall { input, output, exit, action, edits, ..ToolCall::new("call", tool, state) }
}
