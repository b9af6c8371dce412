//! The preconditions of the agent's changes to files: the texts that they replaced, and files that were written again
//! as a whole.

use std::collections::HashMap;

use callstack_core::evidence::terms::relative;
use callstack_core::transcript::ToolCall;
use callstack_recordings::replaced_by;

use crate::item::ItemNum;
use crate::requests::{Played, Requests};
use crate::session::Session;
use crate::verbatim::Wanted;

/// A change that a tool call made to a file.
#[derive(Clone, Debug)]
pub struct Change {
    /// The file, within the project where it lies there.
    pub file: String,
    /// The texts that it replaced; none where it wrote the file as a whole.
    pub replaced: Vec<String>,
    /// The call.
    pub call: ItemNum,
}

/// The changes that a call made, a file each.
pub(crate) fn changes(call: &ToolCall, item: ItemNum, project: &str) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for replaced in replaced_by(call) {
        let at = place(&mut changes, relative(&replaced.path, project), item);
        changes[at].replaced.extend(replaced.text);
    }
    changes
}

/// The place of a file's change, which is added where there is none.
fn place(changes: &mut Vec<Change>, file: &str, call: ItemNum) -> usize {
    changes.iter().position(|change| change.file == file).unwrap_or_else(|| {
        changes.push(Change { file: file.to_owned(), replaced: Vec::new(), call });
        changes.len() - 1
    })
}

/// A text that a change needs in the request.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    /// The file.
    pub(crate) file: String,
    /// Whether it is the exact text that is replaced; otherwise it is the file that is written as a whole.
    pub(crate) is_edit: bool,
    /// For each text the items of the linear request that hold it. Texts that were not in the recorded request are
    /// not among them.
    pub(crate) texts: Vec<(Wanted, Vec<ItemNum>)>,
    /// The item that a repeated read shows.
    pub(crate) again: ItemNum,
    /// The call that makes the change.
    pub(crate) call: ItemNum,
}

/// Returns the needs of each call of the model, as far as the recorded request had them.
pub(crate) fn needs(session: &Session, whole: &Requests) -> Vec<Vec<Need>> {
    let mut played = Played::new(whole);
    // The places at which each file was seen, in the order of the request.
    let mut place: HashMap<ItemNum, usize> = HashMap::new();
    let mut all = Vec::with_capacity(session.calls.len());
    for call in &session.calls {
        played.next();
        if call.changes.is_empty() {
            all.push(Vec::new());
            continue;
        }
        place.clear();
        place.extend(played.request.iter().enumerate().map(|(at, item)| (*item, at)));
        let newest = |items: &[ItemNum]| -> Option<ItemNum> {
            let there = items.iter().filter(|item| place.contains_key(item));
            there.max_by_key(|item| place.get(item)).copied()
        };
        let need = |change: &Change| {
            let reads = newest(session.reads.get(&change.file).map_or(&[], Vec::as_slice));
            let is_edit = !change.replaced.is_empty();
            let texts: Vec<(Wanted, Vec<ItemNum>)> = if is_edit {
                let wanted = change.replaced.iter().filter_map(|text| Wanted::new(text));
                let held = wanted.map(|wanted| {
                    let request = played.request.iter().copied();
                    let holders =
                        request.filter(|item| wanted.stands_in(&session.items.get(*item).text));
                    let holders: Vec<ItemNum> = holders.collect();
                    (wanted, holders)
                });
                held.filter(|(_, holders)| !holders.is_empty()).collect()
            } else {
                let seen = reads.and_then(|item| Some((file_text(session, item)?, vec![item])));
                seen.into_iter().collect()
            };
            let holders = texts.first()?.1.as_slice();
            // A read of the file that showed the text, else another read of it, else any item with the text.
            let seen = session.reads.get(&change.file).map_or(&[][..], Vec::as_slice);
            let shown = newest(&both(holders, seen));
            let again = shown.or(reads).or_else(|| newest(holders))?;
            Some(Need { file: change.file.clone(), is_edit, texts, again, call: change.call })
        };
        all.push(call.changes.iter().filter_map(need).collect());
    }
    all
}

fn both(some: &[ItemNum], others: &[ItemNum]) -> Vec<ItemNum> {
    some.iter().filter(|item| others.contains(item)).copied().collect()
}

/// Returns the text needed for a file that is written again: the newest view of all of it.
fn file_text(session: &Session, item: ItemNum) -> Option<Wanted> {
    Wanted::new(&session.items.get(item).text)
}
