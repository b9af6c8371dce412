//! A form for the arguments of an operation, and the command that does the same.

use callstack_core::control::escape_line;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::{Input, TextArea};
use serde_json::{Map, Value, json};

use crate::data::loads::Deed;

/// A form.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) title: String,
    /// Its effect, in a sentence.
    pub(crate) about: String,
    pub(crate) fields: Vec<Field>,
    /// The field that is written in.
    pub(crate) at: usize,
    /// The missing value, after an attempt to continue.
    pub(crate) missing: Option<&'static str>,
    operation: &'static str,
    arguments: Map<String, Value>,
    /// The words of the command before the fields' values.
    command: Vec<String>,
}

/// A field of a form.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) label: &'static str,
    pub(crate) value: Entry,
    /// The argument's name.
    name: &'static str,
    /// The option of the command; empty for its first argument.
    option: &'static str,
    is_needed: bool,
}

/// The input of a field.
#[derive(Debug)]
pub(crate) enum Entry {
    Text(Box<TextArea<'static>>),
    Choice { of: &'static [&'static str], at: usize },
}

/// The effect of a key in a form.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Stays,
    Cancelled,
    Agreed(Deed),
}

impl Form {
    pub(crate) fn new(
        title: impl Into<String>,
        about: impl Into<String>,
        operation: &'static str,
        command: &[&str],
    ) -> Self {
        Self {
            title: title.into(),
            about: about.into(),
            fields: Vec::new(),
            at: 0,
            missing: None,
            operation,
            arguments: Map::new(),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    /// Adds an argument that is known already.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.arguments.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a field for a text.
    pub(crate) fn text(
        mut self,
        label: &'static str,
        name: &'static str,
        option: &'static str,
        is_needed: bool,
    ) -> Self {
        let mut area = TextArea::default();
        area.set_cursor_line_style(ratatui::style::Style::default());
        let value = Entry::Text(Box::new(area));
        self.fields.push(Field { label, value, name, option, is_needed });
        self
    }

    /// Adds a field with a choice, of which the first one is selected.
    pub(crate) fn choice(
        mut self,
        label: &'static str,
        name: &'static str,
        option: &'static str,
        of: &'static [&'static str],
    ) -> Self {
        let value = Entry::Choice { of, at: 0 };
        self.fields.push(Field { label, value, name, option, is_needed: false });
        self
    }

    /// Takes a key.
    pub(crate) fn key(&mut self, event: KeyEvent) -> Outcome {
        let last = self.at + 1 >= self.fields.len();
        let is_plain = !event.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::CONTROL);
        match event.code {
            KeyCode::Esc => return Outcome::Cancelled,
            KeyCode::Char('c') if event.modifiers.contains(KeyModifiers::CONTROL) => {
                return Outcome::Cancelled;
            }
            KeyCode::Enter if is_plain && last => return self.agree(),
            KeyCode::Char('y') if self.fields.is_empty() => return self.agree(),
            KeyCode::Char('n' | 'q') if self.fields.is_empty() => return Outcome::Cancelled,
            KeyCode::Enter if is_plain => self.at += 1,
            KeyCode::Tab => self.at = if last { 0 } else { self.at + 1 },
            KeyCode::BackTab => {
                self.at = self.at.checked_sub(1).unwrap_or(self.fields.len().saturating_sub(1));
            }
            _ => self.enter(event),
        }
        Outcome::Stays
    }

    fn enter(&mut self, event: KeyEvent) {
        let Some(field) = self.fields.get_mut(self.at) else { return };
        self.missing = None;
        match &mut field.value {
            Entry::Choice { of, at } => match event.code {
                KeyCode::Left | KeyCode::Up => *at = at.checked_sub(1).unwrap_or(of.len() - 1),
                KeyCode::Right | KeyCode::Down | KeyCode::Char(' ') => *at = (*at + 1) % of.len(),
                _ => {}
            },
            Entry::Text(area) => {
                // Enter with Alt is a new line, since Enter alone continues.
                let event = if event.code == KeyCode::Enter {
                    KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)
                } else {
                    event
                };
                area.input(Input::from(event));
            }
        }
    }

    /// Takes pasted text.
    pub(crate) fn paste(&mut self, text: &str) {
        if let Some(Field { value: Entry::Text(area), .. }) = self.fields.get_mut(self.at) {
            let text = text.replace("\r\n", "\n").replace('\r', "\n");
            area.insert_str(text);
            self.missing = None;
        }
    }

    /// Goes on, if nothing is missing.
    pub(crate) fn agree(&mut self) -> Outcome {
        let missing = |field: &Field| field.is_needed && field.value().is_none();
        if let Some(at) = self.fields.iter().position(missing) {
            self.at = at;
            self.missing = self.fields.get(at).map(|field| field.label);
            return Outcome::Stays;
        }
        Outcome::Agreed(Deed { operation: self.operation, arguments: self.filled() })
    }

    fn filled(&self) -> Value {
        let mut arguments = self.arguments.clone();
        let mut children = Map::new();
        for field in &self.fields {
            let value = field.value();
            // A plan takes a list of frames, of which this is one.
            if self.operation == "stack_frame_plan" {
                children.insert(field.name.to_owned(), value.unwrap_or_default().into());
            } else if let Some(value) = value {
                arguments.insert(field.name.to_owned(), value.into());
            } else if field.name == "successCriteria" {
                arguments.insert(field.name.to_owned(), "".into());
            }
        }
        if !children.is_empty() {
            arguments.insert("children".to_owned(), json!([children]));
        }
        Value::Object(arguments)
    }

    /// The command that does the same.
    pub(crate) fn command_line(&self) -> String {
        let mut words = vec!["callstack".to_owned()];
        words.extend(self.command.iter().map(|word| quoted(word)));
        for field in &self.fields {
            let value = field.value();
            if let (Entry::Choice { .. }, true) =
                (&field.value, value.as_deref() == Some("completed"))
            {
                continue;
            }
            if let Some(value) = value.or(field.is_needed.then(|| "…".to_owned())) {
                words.extend((!field.option.is_empty()).then(|| field.option.to_owned()));
                words.push(quoted(&value));
            }
        }
        words.join(" ")
    }
}

impl Field {
    /// Returns the entered value, if there is one.
    fn value(&self) -> Option<String> {
        match &self.value {
            Entry::Choice { of, at } => of.get(*at).map(|chosen| (*chosen).to_owned()),
            Entry::Text(area) => {
                let text = area.lines().join("\n");
                let text = text.trim();
                (!text.is_empty()).then(|| text.to_owned())
            }
        }
    }
}

/// Returns a word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || "-_./:=,…".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", escape_line(&word.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(form: &mut Form, text: &str) {
        for char in text.chars() {
            form.key(KeyEvent::new(KeyCode::Char(char), KeyModifiers::NONE));
        }
    }

    fn press(form: &mut Form, code: KeyCode) -> Outcome {
        form.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn pop() -> Form {
        Form::new("Pop f3", "", "stack_frame_pop", &["pop", "f3"])
            .with("frame", "f3")
            .choice("How it ended", "status", "--status", &["completed", "failed"])
            .text("Results", "results", "--results", false)
    }

    #[test]
    fn a_form_says_what_it_will_do_and_does_that() {
        let mut form = pop();
        press(&mut form, KeyCode::Right);
        press(&mut form, KeyCode::Enter);
        typed(&mut form, "it's q");
        assert_eq!(form.command_line(), r"callstack pop f3 --status failed --results 'it'\''s q'");
        let arguments = json!({"frame": "f3", "status": "failed", "results": "it's q"});
        let deed = Deed { operation: "stack_frame_pop", arguments };
        assert_eq!(press(&mut form, KeyCode::Enter), Outcome::Agreed(deed));
    }

    #[test]
    fn what_is_needed_is_asked_for() {
        let mut form = Form::new("Pin", "", "stack_pin", &["pin"]).text("Rule", "text", "", true);
        assert_eq!(press(&mut form, KeyCode::Enter), Outcome::Stays);
        assert_eq!(form.missing, Some("Rule"));
        form.paste("one\r\ntwo");
        let Outcome::Agreed(deed) = press(&mut form, KeyCode::Enter) else { panic!("{form:?}") };
        assert_eq!(deed.arguments, json!({"text": "one\ntwo"}));
        assert_eq!(form.command_line(), r"callstack pin 'one\ntwo'");
    }

    #[test]
    fn nothing_happens_without_agreement() {
        let mut form = Form::new("Retry f3", "", "stack_frame_retry", &["retry", "f3"]);
        assert_eq!(press(&mut form, KeyCode::Char('x')), Outcome::Stays);
        assert_eq!(press(&mut form, KeyCode::Char('n')), Outcome::Cancelled);
        assert_eq!(press(&mut form, KeyCode::Esc), Outcome::Cancelled);
        assert!(matches!(press(&mut form, KeyCode::Char('y')), Outcome::Agreed(_)));
    }

    #[test]
    fn a_plan_is_a_list_of_one() {
        let mut form = Form::new("Plan", "", "stack_frame_plan", &["plan"])
            .with("parent", "f1")
            .text("Title", "title", "", true)
            .text("Done when", "successCriteria", "--criteria", false);
        typed(&mut form, "Write it");
        press(&mut form, KeyCode::Tab);
        let Outcome::Agreed(deed) = press(&mut form, KeyCode::Enter) else { panic!("{form:?}") };
        let child = json!({"title": "Write it", "successCriteria": ""});
        assert_eq!(deed.arguments, json!({"parent": "f1", "children": [child]}));
    }
}
