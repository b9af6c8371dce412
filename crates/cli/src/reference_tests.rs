//! The reference pages are made from the command line and the table of operations. `UPDATE_DOCS=1` writes them again.

use std::fmt::Write as _;
use std::path::Path;

use callstack_engine::operation::{Access, CallerKind, Context, Operation};
use callstack_engine::operations::TABLE;
use callstack_engine::{Profile, SETTINGS, Scope, Setting, tools};
use serde_json::{Value, json};

use crate::error::EXIT_CODES;
use crate::operations::TABLE as MACHINE;

fn is_current(page: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "docs/reference/{page} is not what the program says; write it with UPDATE_DOCS=1 cargo \
         test -p callstack-cli reference"
    );
}

#[test]
fn commands() {
    let mut page = String::from(
        "# Commands\n\nWhat `callstack help COMMAND` says. Made from the program, not by hand.\n",
    );
    let mut command = crate::args::command().term_width(100);
    command.build();
    section(&mut page, "callstack", &command.render_long_help().to_string());
    for (_, names) in crate::args::GROUPS {
        for name in *names {
            let command = command.find_subcommand_mut(name).unwrap();
            let help = command.render_long_help().to_string();
            section(&mut page, &format!("callstack {name}"), &help);
            for inner in command.get_subcommands_mut().filter(|it| it.get_name() != "help") {
                let title = format!("callstack {name} {}", inner.get_name());
                section(&mut page, &title, &inner.render_long_help().to_string());
            }
        }
    }
    page.push_str("\n## Exit codes\n\n| code | meaning |\n| --- | --- |\n");
    for (code, meaning) in EXIT_CODES {
        writeln!(page, "| {code} | {meaning} |").unwrap();
    }
    page.push_str(
        "\nErrors go to standard error, with a hint at what to do; with `--json` as one object, \
         `{\"error\": {\"kind\", \"message\", \"hint\"}}`.\n",
    );
    is_current("commands.md", &page);
}

fn section(page: &mut String, title: &str, help: &str) {
    let help: Vec<_> = help.lines().map(str::trim_end).collect();
    write!(page, "\n## {title}\n\n```text\n{}\n```\n", help.join("\n").trim_end()).unwrap();
}

#[test]
fn tools() {
    let mut page = String::from(
        "# Operations\n\nWhatever can be done, by anybody. Agents reach those that are for them as tools: the ones marked \
         *listed* by themselves, all others through `stack` by name, or listed too with `STACK_TOOLS=full`. \
         [operations.json](operations.json) holds the JSON schemas of arguments and answers. Made from the program, \
         not by hand.\n",
    );
    for operation in TABLE {
        described(operation, &mut page);
    }
    page.push_str(
        "\n## Under their first names\n\nWith `STACK_TOOLS=flame` an agent is listed these, and `flame`, \
         which reaches all other operations by names of the same kind, such as `flame_log`. Frames are \
         named by their handles here too.\n\n| tool | operation |\n| --- | --- |\n",
    );
    for tool in tools::listed(Profile::Flame) {
        let (name, operation) = (tool.name(), tool.operation().name);
        writeln!(page, "| `{name}({})` | `{operation}` |", tool.signature()).unwrap();
    }
    page.push_str(
        "\n# Operations of the machine\n\nThey are declared as those above are, and need no store, or work on stores that \
         can't be opened. Commands call them, and nobody else can.\n",
    );
    for operation in MACHINE {
        described(operation, &mut page);
    }
    is_current("tools.md", &page);
}

/// Adds what an operation is called, who may carry it out, and what it takes.
fn described<C: Context>(operation: &Operation<C>, page: &mut String) {
    let listed = if operation.listed { " *(listed)*" } else { "" };
    write!(page, "\n## {}{listed}\n\n{}\n", operation.name, operation.summary).unwrap();
    let access = match operation.access {
        Access::Read => "Reads",
        Access::Write => "Writes",
    };
    writeln!(page, "\n{access}; for {}.", callers(operation).join(", ")).unwrap();
    let schema = (operation.at_terminal)();
    let required: Vec<_> = schema["required"].as_array().into_iter().flatten().collect();
    let properties = schema["properties"].as_object().unwrap();
    if properties.is_empty() {
        page.push_str("\nTakes no arguments.\n");
        return;
    }
    page.push_str("\n| argument | type | | |\n| --- | --- | --- | --- |\n");
    for (name, property) in properties {
        let needed = required.iter().any(|it| *it == name);
        let description = property["description"].as_str().unwrap_or_default();
        let at_terminal = operation.terminal_arguments.contains(&name.as_str());
        let needed = match (needed, at_terminal) {
            (true, _) => "required",
            (false, true) => "at a terminal",
            (false, false) => "",
        };
        writeln!(page, "| `{name}` | {} | {needed} | {description} |", kind(property)).unwrap();
    }
}

fn callers<C: Context>(operation: &Operation<C>) -> Vec<&'static str> {
    let name = |caller: &CallerKind| match caller {
        CallerKind::Agent => "agents",
        CallerKind::Terminal => "a terminal",
        CallerKind::Page => "pages",
    };
    operation.callers.iter().map(name).collect()
}

#[test]
fn schemas() {
    let operations = TABLE.iter().map(entry).chain(MACHINE.iter().map(entry));
    let page = Value::Object(operations.collect());
    is_current("operations.json", &format!("{page:#}\n"));
}

/// The name of an operation, and its schemas.
fn entry<C: Context>(operation: &Operation<C>) -> (String, Value) {
    let entry = json!({
        "summary": operation.summary,
        "writes": operation.access == Access::Write,
        "callers": callers(operation),
        "arguments": (operation.at_terminal)(),
        "argumentsAtTerminal": operation.terminal_arguments,
        "answer": (operation.output)(),
    });
    (operation.name.to_owned(), entry)
}

#[test]
fn settings() {
    let mut page = String::from(
        "# Settings\n\nA variable of a setting's name in the environment counts first. `callstack config NAME VALUE` sets it \
         for a project, until `callstack config NAME --reset`. What neither says comes from your own configuration, \
         `~/.config/callstack/config.toml`: lines such as `STACK_LOG = \"off\"`, which \
         `callstack config --user NAME VALUE` writes. A project may not set every one: its store may have come \
         from somebody else. Made from the program, not by hand.\n",
    );
    for (group, settings) in SETTINGS {
        let head =
            "| name | may be | default | a project may set it | |\n| --- | --- | --- | --- | --- |";
        write!(page, "\n## {group}\n\n{head}\n").unwrap();
        for setting in *settings {
            let Setting { name, values, default, doc, scope, meanings, .. } = setting;
            let meanings: Vec<_> =
                meanings.iter().map(|(of, means)| format!("`{of}`: {means}")).collect();
            let (doc, end) = (doc.to_string(), if meanings.is_empty() { "" } else { "." });
            let doc = format!("{doc} {}{end}", meanings.join("; "));
            let default = setting.shown(default);
            let (values_text, here) = (
                values.in_words(),
                match scope {
                    Scope::Project => "yes",
                    Scope::OffInProject => "off only",
                    Scope::User => "no",
                },
            );
            writeln!(
                page,
                "| `{name}` | {values_text} | `{default}` | {here} | {} |",
                doc.trim_end()
            )
            .unwrap();
        }
    }
    is_current("settings.md", &page);
}

fn kind(schema: &Value) -> String {
    let choices: Vec<_> = schema["enum"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|choice| format!("`{choice}`"))
        .collect();
    if !choices.is_empty() {
        return choices.join(", ");
    }
    match schema["type"].as_str() {
        Some("array") => format!("list of {}", fields(&schema["items"])),
        Some(kind) => kind.to_owned(),
        None => "any".to_owned(),
    }
}

fn fields(schema: &Value) -> String {
    let names: Vec<_> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    if names.is_empty() { kind(schema) } else { format!("{{{}}}", names.join(", ")) }
}
