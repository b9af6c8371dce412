//! Everything that would have been sent, so that others can count again.

use std::io::{self, Write};

use serde::Serialize;

use crate::replay::Replay;
use crate::requests::Played;
use crate::ways::Way;

#[derive(Serialize)]
struct Line<'a> {
    session: &'a str,
    /// From 0 on.
    call: usize,
    way: Way,
    items: Vec<Piece<'a>>,
    output: &'a str,
}

#[derive(Serialize)]
struct Piece<'a> {
    id: &'a str,
    text: &'a str,
}

/// Writes a line of JSON for each call and way: `session`, `call`, `way`, `items` (`id`, `text`) in the order
/// sent, and `output`, what the agent then said and called: whatever of it can be kept, so without the names
/// of tools and arguments.
pub fn dump(replay: &Replay, to: &mut impl Write) -> io::Result<()> {
    let items = &replay.session.items;
    let ways = replay.sent.iter().map(|(way, requests)| (*way, Played::new(requests)));
    let mut ways: Vec<_> = ways.collect();
    for (at, call) in replay.session.calls.iter().enumerate() {
        for (way, played) in &mut ways {
            if !played.next() {
                continue;
            }
            let pieces = played.request.iter().map(|item| {
                let item = items.get(*item);
                Piece { id: &item.id, text: &item.text }
            });
            let line = Line {
                session: &replay.session.id,
                call: at,
                way: *way,
                items: pieces.collect(),
                output: &items.get(call.output).text,
            };
            serde_json::to_writer(&mut *to, &line)?;
            to.write_all(b"\n")?;
        }
    }
    to.flush()
}
