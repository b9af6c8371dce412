//! The lines at the end of what a frame returned: where work continues, and with what.

use super::{Returned, Text, WentOn, label, nothing_open, open_now};
use crate::frame::{Frame, Status};
use crate::own_lines;

const ACTIVATE: &str = "stack_frame_activate";
/// The number of planned frames that are named.
const NAMED_FRAMES: usize = 12;

impl Text {
    pub(super) fn now(&mut self, returned: &Returned<'_>) {
        if let WentOn::In(open) = returned.went_on
            && !returned.elsewhere
        {
            // The call that opened another frame comes after this one, and its answer reports that.
            if open.identity_derived {
                self.line(open_now(Some(open)));
            }
            return;
        }
        let Some(parent) = returned.parent else {
            let (what, then) = match returned.frame.status {
                Status::Failed => (own_lines::OUTERMOST_ENDED, "tell the user what failed and why"),
                Status::Blocked => (own_lines::OUTERMOST_ENDED, "tell the user what it waits for"),
                _ => (own_lines::SESSION_ENDED, "report to the user"),
            };
            self.line(format_args!("{what}: {then}."));
            self.unfinished(returned);
            self.line(nothing_open(returned.is_followed));
            return;
        };
        if returned.elsewhere {
            self.line(format_args!(
                "{}: end your turn now, with what the session that asked for it should know.",
                own_lines::SESSION_ENDED
            ));
            return;
        }
        match returned.went_on {
            WentOn::Parent if returned.closed.is_some() => {
                return self.line(open_now(Some(parent)));
            }
            WentOn::Parent | WentOn::In(_) => {}
            WentOn::Nowhere => return self.line(nothing_open(returned.is_followed)),
        }
        if !parent.identity_derived && !returned.parent_above {
            self.criteria(&format!("{} of {}", self.aim(), parent.num), parent);
        }
        self.next(returned, parent);
        self.line(open_now(Some(parent)));
    }

    fn unfinished(&mut self, returned: &Returned<'_>) {
        if returned.planned.is_empty() {
            return;
        }
        let line = |frame: &Frame| format!("{} {}", label(frame), frame.status);
        let named: Vec<_> = returned.planned.iter().take(NAMED_FRAMES).map(line).collect();
        let more = match returned.planned.len().saturating_sub(NAMED_FRAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        self.line(format_args!("{}: {}{more}.", own_lines::UNFINISHED, named.join(", ")));
        if returned.frame.status == Status::Blocked {
            return;
        }
        self.line(format_args!(
            "Nobody works on that any more: say so to the user. {} declares it irrelevant, and after {} of {} it can be \
             activated.",
            self.dialect.tool("stack_frame_invalidate"),
            self.dialect.tool("stack_frame_reopen"),
            returned.frame.num,
        ));
    }

    fn next(&mut self, returned: &Returned<'_>, parent: &Frame) {
        let frame = returned.frame.num;
        // The criteria of a session's root are the user's own words, which are never folded away; the newest count.
        let rest = match (parent.identity_derived, returned.parent_above) {
            (true, _) => "what the user asked last, which stands above".to_owned(),
            (false, true) => {
                format!("the criteria of {}, which stand where it was opened", parent.num)
            }
            (false, false) => format!("the criteria of {}", parent.num),
        };
        // A frame that holds a user's request ends with the answer.
        let end = match parent.parent {
            Some(_) if !parent.identity_derived => format!("pop {}", parent.num),
            _ => "report to the user".to_owned(),
        };
        let next = own_lines::NEXT;
        let Some(first) = returned.planned.first() else {
            self.line(match returned.frame.status {
                Status::Completed => format!(
                    "{next}: hold what is done against {rest}. Go on with what is missing, without doing {frame} \
                     again; if nothing is, {end}."
                ),
                Status::Failed | Status::Blocked => format!(
                    "{next}: {frame} is not done. Do what is possible of {rest}; if nothing is, {end} and say what \
                     is missing and why."
                ),
                _ => format!("{next}: go on with {rest}, without {frame}."),
            });
            return;
        };
        self.line(format_args!(
            "{next}: start {} with {}, unless {} says otherwise.",
            label(first),
            self.dialect.tool(ACTIVATE),
            if parent.identity_derived { "what the user asked last" } else { "a later request" },
        ));
        let later: Vec<String> =
            returned.planned.iter().take(NAMED_FRAMES).skip(1).map(label).collect();
        let count = returned.planned_count.max(returned.planned.len());
        let unnamed = count - returned.planned.len().min(NAMED_FRAMES);
        let tree = self.dialect.tool("stack_tree").into_owned();
        match (later.is_empty(), unnamed) {
            (true, 0) => {}
            (false, 0) => {
                self.line(format_args!("{}: {}", own_lines::PLANNED, later.join(", ")));
            }
            (_, more) => self.line(format_args!(
                "{}: {} and {more} more ({tree} shows all)",
                own_lines::PLANNED,
                later.join(", ")
            )),
        }
    }
}
