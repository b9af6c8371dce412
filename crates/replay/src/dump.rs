//! Everything that would have been sent, so that others can check the counts.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use callstack_core::control::escape_json;
use callstack_core::secrets::mask;
use serde::Serialize;

use crate::item::ItemNum;
use crate::replay::Replay;
use crate::requests::Played;
use crate::ways::Strategy;

#[derive(Serialize)]
struct Line<'a> {
    session: &'a str,
    /// From 0 on.
    call: usize,
    way: Strategy,
    items: Vec<Piece<'a>>,
    output: &'a str,
}

#[derive(Serialize)]
struct Piece<'a> {
    id: &'a str,
    text: &'a str,
}

/// Writes a line of JSON for each call and way: `session`, `call`, `way`, `items` (`id`, `text`) in the order sent,
/// and `output`, the agent's answer without the names of tools and arguments. Secrets are masked in each text unless
/// they are to be revealed.
pub fn dump(replay: &Replay, reveal: bool, to: &mut impl Write) -> io::Result<()> {
    let items = &replay.session.items;
    // Most items are sent again and again.
    let mut masked: HashMap<ItemNum, Cow<'_, str>> = HashMap::new();
    let ways = replay.sent.iter().map(|(way, requests)| (*way, Played::new(requests)));
    let mut ways: Vec<_> = ways.collect();
    for (at, call) in replay.session.calls.iter().enumerate() {
        for (way, played) in &mut ways {
            if !played.next() {
                continue;
            }
            let all = || played.request.iter().chain([&call.output]).copied();
            if !reveal {
                for item in all() {
                    masked.entry(item).or_insert_with(|| mask(&items.get(item).text));
                }
            }
            let text = |item: ItemNum| masked.get(&item).map_or(&*items.get(item).text, |it| &**it);
            let pieces = played
                .request
                .iter()
                .map(|item| Piece { id: &items.get(*item).id, text: text(*item) });
            let line = Line {
                session: &replay.session.id,
                call: at,
                way: *way,
                items: pieces.collect(),
                output: text(call.output),
            };
            to.write_all(escape_json(&serde_json::to_string(&line)?).as_bytes())?;
            to.write_all(b"\n")?;
        }
    }
    to.flush()
}
