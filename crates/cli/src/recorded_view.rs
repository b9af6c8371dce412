//! Sessions in the usual places of agents, for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::operations::import::usual::{RecordedSession, RecordedSessions};
use crate::page::{BOLD, DIM, PLAIN, Page};
use crate::wording::{bytes, counted};

/// Draws the sessions of each agent in a line, with `each` also every session.
pub(crate) fn draw(found: &RecordedSessions, each: bool, page: &mut Page) {
    let whose =
        if found.all { "of all projects".to_owned() } else { format!("of {}", found.project) };
    page.put(BOLD, &format!("Sessions {whose}")).end();
    // Sessions that OpenCode keeps are listed beside files that it exported.
    let group = |session: &RecordedSession| (session.agent.clone(), session.path.is_some());
    let mut groups: Vec<_> = found.sessions.iter().map(group).collect();
    groups.dedup();
    for (agent, is_file) in groups {
        let of = || {
            let all = found.sessions.iter();
            all.filter(|it| it.agent == agent && it.path.is_some() == is_file)
        };
        let size = of().filter_map(|it| it.bytes).sum();
        let count = counted(of().count() as u64, "session");
        let size = if size > 0 { format!(", {}", bytes(size)) } else { String::new() };
        page.put(PLAIN, &format!("  {agent:<12} {count}{size}"));
        let newest = of().filter_map(|it| it.changed_at).max();
        page.put(DIM, &newest.map(dated).unwrap_or_default()).end();
    }
    if each {
        for session in &found.sessions {
            let place = match (&session.path, &session.id) {
                (Some(path), _) => path.clone(),
                (None, id) => format!("opencode export {}", id.as_deref().unwrap_or_default()),
            };
            page.put(DIM, &format!("  {place}")).end();
        }
    }
    if found.elsewhere > 0 {
        let other = counted(found.elsewhere as u64, "session");
        page.put(DIM, &format!("  With --all, {other} of other projects, too")).end();
    }
    if found.all && found.sessions.iter().any(|session| session.path.is_none()) {
        page.put(
            DIM,
            "  OpenCode lists the sessions of one project only: these are of this folder",
        )
        .end();
    }
}

fn dated(at: i64) -> String {
    let Ok(at) = Timestamp::from_millisecond(at) else { return String::new() };
    format!(", the newest of {}", at.to_zoned(TimeZone::system()).strftime("%-d %b %Y"))
}
