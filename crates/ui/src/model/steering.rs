//! The steering: each dialog carries out the operation that the command line has, once somebody agrees.

use callstack_core::frame::{FrameNum, Status};
use callstack_engine::EngineError;
use serde_json::json;

use super::app::{App, Order};
use super::details::Remote;
use super::dialog::{Dialog, Launch, Pick, Picked, Preview};
use super::form::Form;
use super::keys::Action;
use crate::data::loads::{Deed, Load, Rollback};

/// The ends of a frame by a pop.
const ENDINGS: &[&str] = &["completed", "failed", "blocked"];

impl App {
    /// Opens the dialog of an action.
    pub(crate) fn steer(&mut self, action: Action) {
        if action == Action::Push {
            return self.push();
        }
        let Some(frame) = self.frame() else {
            self.notice = Some("there is no frame yet; `p` pushes one".to_owned());
            return;
        };
        match action {
            Action::Edit => self.pick_file(),
            Action::GoToSession => self.go_to_session(),
            Action::Rollback => self.preview(Rollback { frame, all: false, undo: false }),
            Action::UndoRollback => self.preview(Rollback { frame, all: false, undo: true }),
            Action::Unpin => self.pick_pin(frame),
            _ => {
                if let Some(form) = self.form(action, frame) {
                    self.dialog = Some(Dialog::Form(Box::new(form)));
                }
            }
        }
    }

    fn push(&mut self) {
        let about = match self.tree.open().and_then(|open| self.tree.row(open)) {
            Some(open) => format!("A new frame below the open one, {} {}.", open.num, open.title),
            None => "A new root frame: none is open.".to_owned(),
        };
        let form = Form::new("Push a frame", about, "stack_frame_push", &["push"])
            .text("Title", "title", "", true)
            .text("Done when", "successCriteria", "--criteria", false);
        self.dialog = Some(Dialog::Form(Box::new(form)));
    }

    fn label(&self, frame: FrameNum) -> String {
        match self.tree.row(frame) {
            Some(row) => format!("{frame} {}", row.title),
            None => frame.to_string(),
        }
    }

    fn form(&self, action: Action, frame: FrameNum) -> Option<Form> {
        let handle = frame.to_string();
        let name = handle.as_str();
        let label = self.label(frame);
        Some(match action {
            Action::Pop => {
                // A pop of a frame that waits or is over means the open one.
                let is_open =
                    self.tree.row(frame).is_some_and(|it| it.status == Status::InProgress);
                let meant = if is_open { frame } else { self.tree.open().unwrap_or(frame) };
                let (handle, label) = (meant.to_string(), self.label(meant));
                let about = "Its steps leave the agent's context, and the results take their place. \
                             Without results, what can be extracted stands there.";
                Form::new(format!("Pop {label}"), about, "stack_frame_pop", &["pop", &handle])
                    .with("frame", handle.clone())
                    .choice("How it ended", "status", "--status", ENDINGS)
                    .text("Results", "results", "--results", false)
            }
            Action::Block => {
                let about = "It waits for something, and can be activated again.";
                let command = ["pop", name, "--status", "blocked"];
                Form::new(format!("Block {label}"), about, "stack_frame_pop", &command)
                    .with("frame", name)
                    .with("status", "blocked")
                    .text("What it waits for", "results", "--results", true)
            }
            Action::Plan => {
                let about = format!("A planned frame below {label}.");
                Form::new("Plan a frame", about, "stack_frame_plan", &["plan", "--parent", name])
                    .with("parent", name)
                    .text("Title", "title", "", true)
                    .text("Done when", "successCriteria", "--criteria", false)
            }
            Action::Activate => {
                let about = "The session that works now goes on in it.";
                let command = ["activate", name];
                Form::new(format!("Activate {label}"), about, "stack_frame_activate", &command)
                    .with("frame", name)
            }
            Action::Reopen => {
                let about = "Work in it goes on; its results stay until it ends again.";
                Form::new(format!("Reopen {label}"), about, "stack_frame_reopen", &["reopen", name])
                    .with("frame", name)
            }
            Action::Retry => {
                let about = "A second attempt beside it, with the same purpose, which is told what \
                             the first one came to.";
                Form::new(format!("Retry {label}"), about, "stack_frame_retry", &["retry", name])
                    .with("frame", name)
            }
            Action::Invalidate => {
                let about = "It and what is planned below it are no longer relevant.";
                let command = ["invalidate", name];
                Form::new(format!("Invalidate {label}"), about, "stack_frame_invalidate", &command)
                    .with("frame", name)
                    .text("Why", "reason", "--reason", true)
            }
            Action::Pin => {
                let is_over = self.tree.row(frame).is_some_and(|it| it.status.is_finished());
                let about = if is_over {
                    format!(
                        "{label} is over: a rule in it reaches no agent. Pin it in the open frame, \
                             or in one around that."
                    )
                } else {
                    format!(
                        "{label} and every frame below it see it word for word, from the next \
                             request on."
                    )
                };
                Form::new("Pin a rule", about, "stack_pin", &["pin", "--frame", name])
                    .with("frame", name)
                    .text("Rule", "text", "", true)
            }
            Action::Decision => {
                let about = format!("In {label}; frames below it are told.");
                let command = ["decision", "--frame", name];
                Form::new("Note a decision", about, "stack_add_decision", &command)
                    .with("frame", name)
                    .text("Decision", "decision", "", true)
            }
            _ => return None,
        })
    }

    fn preview(&mut self, rollback: Rollback) {
        self.dialog = Some(Dialog::Rollback(Preview { rollback, plan: Remote::Asked, scroll: 0 }));
        self.load(Load::Preview(rollback));
    }

    /// Shows the effect of a rollback of everything that changed, or of the changes that were seen.
    pub(crate) fn widen_rollback(&mut self) {
        if let Some(Dialog::Rollback(Preview { rollback, .. })) = &self.dialog
            && !rollback.undo
        {
            self.preview(Rollback { all: !rollback.all, ..*rollback });
        }
    }

    /// Carries out the rollback that was shown: files that were not shown are not agreed to.
    pub(crate) fn roll_back(&mut self, preview: Preview) {
        let Preview { rollback, .. } = preview;
        let files: Option<Vec<_>> = preview
            .plan
            .known()
            .map(|plan| plan.restored.iter().map(|file| file.path.clone()).collect());
        match files {
            Some(files) if !files.is_empty() => {
                let arguments = json!({"frame": rollback.frame.to_string(), "all": rollback.all,
                    "undo": rollback.undo, "files": files});
                let operation = "stack_frame_rollback";
                self.load(Load::Do(Deed { operation, arguments }));
            }
            // Nothing is shown yet, or there is nothing to restore.
            Some(_) => {}
            None => self.dialog = Some(Dialog::Rollback(preview)),
        }
    }

    fn pick_pin(&mut self, frame: FrameNum) {
        let pins = self.details.answer.known().map(|answer| &answer.frame.pins);
        let items: Vec<_> =
            pins.into_iter().flatten().map(|(num, text)| format!("{num} {text}")).collect();
        if items.is_empty() {
            self.notice = Some(format!("{frame} has no pins of its own"));
            return;
        }
        let title = "Take back which pin?".to_owned();
        let what = Picked::Unpin(frame.to_string());
        self.dialog = Some(Dialog::Pick(Pick { title, what, items, at: 0 }));
    }

    pub(crate) fn unpin(&mut self, frame: &str, item: &str) {
        let pin = item.split(' ').next().unwrap_or_default();
        let arguments = json!({"pin": pin, "frame": frame});
        self.load(Load::Do(Deed { operation: "stack_unpin", arguments }));
    }

    fn pick_file(&mut self) {
        let items = self.details.files();
        match items.as_slice() {
            [] => self.notice = Some("no file is known that the frame changed".to_owned()),
            [one] => self.edit(&one.clone()),
            _ => {
                let title = "Open which file?".to_owned();
                let at = self.details.file_on_screen().min(items.len() - 1);
                self.dialog = Some(Dialog::Pick(Pick { title, what: Picked::Edit, items, at }));
            }
        }
    }

    pub(crate) fn edit(&mut self, path: &str) {
        let path = self.options.project.join(path);
        let mut words = self.options.editor.clone();
        words.push(path.to_string_lossy().into_owned());
        self.orders.push(Order::Run(Launch { about: format!("edit {}", path.display()), words }));
    }

    fn go_to_session(&mut self) {
        let Some(answer) = self.details.answer.known() else { return };
        let frame = &answer.frame;
        let Some(session) = &frame.worked_in else {
            self.notice = Some(format!("no session has worked in {} yet", frame.handle));
            return;
        };
        let host = self.tree.selected().and_then(|row| row.host.clone()).unwrap_or_default();
        match (self.options.resume)(&host, session) {
            Some(words) => {
                let about = format!("Opens the session of {} in its agent.", frame.handle);
                self.dialog = Some(Dialog::Command(Launch { about, words }));
            }
            None => {
                self.dialog = Some(Dialog::Failed(EngineError::invalid(
                    format!("session {session} can't be opened: it belongs to no agent"),
                    "Frames that were begun at a terminal have no conversation.",
                )));
            }
        }
    }
}
