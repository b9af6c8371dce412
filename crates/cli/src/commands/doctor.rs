use std::path::Path;

use callstack_core::frame::FrameNum;
use callstack_engine::{
    Configured, Engine, EngineError, Health, Kind, LeftOut, Omitted, path_text, plain,
};
use serde_json::{Value, json};

use crate::binary;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::opencode;
use crate::output::Output;
use crate::page::{BAD, DIM, GOOD, HINT, PLAIN, WARN};
use crate::plugin;
use crate::project::open;
use crate::tui_plugin;
use crate::wording::{bytes, for_a_terminal};

/// Check the store and the plugin, and say what to do
///
/// It changes nothing unless --rebuild is given.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Build the store's tables again from its log of events
    #[arg(long)]
    rebuild: bool,
}

/// The file in the store's folder to which callstack writes its log.
const LOG: &str = "callstack.log";
/// The most unreadable events that are listed, each on a line.
const MOST_NAMED: usize = 20;

/// The findings, for people and for programs.
#[derive(Default)]
struct Report {
    lines: Vec<Line>,
    data: Value,
    worst: Option<Kind>,
}

struct Line {
    sign: (anstyle::Style, &'static str),
    text: String,
    hint: Option<String>,
}

impl Report {
    fn good(&mut self, text: String) {
        self.lines.push(Line { sign: (GOOD, "✓"), text, hint: None });
    }

    fn remark(&mut self, text: impl Into<String>, hint: &str) {
        let hint = Some(hint.to_owned());
        self.lines.push(Line { sign: (WARN, "!"), text: text.into(), hint });
    }

    fn bad(&mut self, error: &EngineError) {
        let hint = error.hint.as_deref().map(for_a_terminal);
        let problem = json!({"kind": error.kind.as_str(), "message": error.message, "hint": hint});
        if let Some(problems) = self.data["problems"].as_array_mut() {
            problems.push(problem);
        }
        self.lines.push(Line { sign: (BAD, "✗"), text: error.message.clone(), hint });
        self.worst.get_or_insert(error.kind);
    }
}

pub(crate) fn run(
    args: &DoctorArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let mut report = Report::default();
    let version = env!("CARGO_PKG_VERSION");
    report.data = json!({"version": version, "project": null, "store": null, "problems": []});
    let binary = binary::this()?;
    report.good(format!("callstack {version}, {}", binary.display()));
    match invocation.place.existing() {
        Ok(project) => {
            report.data["project"] = json!(path_text(&project));
            match open(&project) {
                Ok(engine) => store(&mut report, &engine, args.rebuild)?,
                Err(error) => report.bad(&unusable(error, &project)),
            }
            match plugin_of(&mut report, &project) {
                Err(CommandError::Told(error)) => report.bad(&error),
                outcome => outcome?,
            }
        }
        Err(error) => report.bad(&error),
    }
    opencode_itself(&mut report);
    output.either(&report.data, |page| {
        for line in &report.lines {
            page.put(line.sign.0, line.sign.1).put(PLAIN, " ").put(PLAIN, &line.text).end();
            if let Some(hint) = &line.hint {
                page.put(PLAIN, "  ").put(HINT, "hint:").put(DIM, " ").put(PLAIN, hint).end();
            }
        }
    })?;
    report.worst.map_or(Ok(()), |kind| Err(CommandError::Reported(kind)))
}

/// Replaces the hint of an error of a store that can't be opened, since the engine's hint points to this command.
fn unusable(mut error: EngineError, project: &Path) -> EngineError {
    if error.message.contains("is damaged") {
        let store = project.join(callstack_store::FOLDER);
        error.hint = Some(format!("Nothing was changed. {}", replace(&store)));
    }
    error
}

/// Returns a hint for a store whose file is damaged, so that deriving the tables again can't help.
fn replace(store: &Path) -> String {
    let store = store.display();
    format!(
        "Keep a copy of {store}, then put a backup in its place, or move it away to begin anew."
    )
}

/// Adds a hint to an error of a store that could be opened, if it is damaged.
fn damaged(error: EngineError, path: &Path) -> EngineError {
    let is_damaged = error.message.contains("is damaged");
    let hint = path.parent().map(replace_in_part).filter(|_| is_damaged);
    EngineError { hint: hint.or(error.hint.clone()), ..error }
}

/// Returns a hint for a damaged store of which some can still be read.
fn replace_in_part(store: &Path) -> String {
    format!("`callstack export` saves the frames that can still be read. {}", replace(store))
}

fn store(report: &mut Report, engine: &Engine, rebuild: bool) -> Result<(), CommandError> {
    let path = engine.store_path();
    let schema = callstack_store::SCHEMA_VERSION;
    let size: u64 = ["", "-wal", "-shm"]
        .iter()
        .filter_map(|end| {
            let mut file = path.as_os_str().to_owned();
            file.push(end);
            std::fs::metadata(file).ok().map(|file| file.len())
        })
        .sum();
    report.good(format!("store {}, schema {schema}, {}", path.display(), bytes(size)));
    report.data["store"] = json!({
        "path": path_text(path),
        "schema": schema,
        "bytes": size,
        "readOnly": engine.is_read_only(),
    });
    if engine.is_read_only() {
        let hint = "It can be read but not changed: make the file and its folder writable.";
        report.remark("the store is read-only", hint);
    }
    for Configured { setting, ignored, .. } in engine.configuration().unwrap_or_default() {
        if ignored.is_some() {
            let text = format!(
                "the store sets {}, which a project may not: it does not count",
                setting.name
            );
            let hint = format!("`callstack config {} --reset` takes it out.", setting.name);
            report.remark(text, &hint);
        }
    }
    let log = path.with_file_name(LOG);
    if let Err(error) = plain::refuse_special(&log) {
        let hint = "What is done is told nowhere. Move it away.";
        report.remark(format!("{} can't be written: {error}", log.display()), hint);
    }
    if let Err(error) = engine.check_work_tree() {
        let text = format!("files can't be rolled back: {}", error.message);
        report.remark(text, &error.hint.unwrap_or_default());
    }
    if rebuild {
        let done = engine.rebuild()?;
        let read = done.events - done.omitted.events.len() as u64;
        report.data["store"]["rebuiltFrom"] = json!(read);
        report.data["store"]["lostFrames"] = json!(done.omitted.frames);
        report.good(format!("rebuilt the tables from {read} events"));
        if !done.omitted.frames.is_empty() {
            let lost = list(&done.omitted.frames);
            report.remark(
                format!("frames that are no longer in the tables: {lost}"),
                "What was said in their sessions is still there. An event that can be read again brings them back.",
            );
        }
    }
    match engine.check() {
        Ok(health) => sound(report, engine, &health)?,
        Err(error) => report.bad(&damaged(error, path)),
    }
    Ok(())
}

fn sound(report: &mut Report, engine: &Engine, health: &Health) -> Result<(), CommandError> {
    let store = &mut report.data["store"];
    store["events"] = json!(health.events);
    store["damage"] = json!(health.damage);
    store["drift"] = json!(health.drifted);
    store["unreadable"] = json!(health.omitted.events);
    for damage in &health.damage {
        report.bad(&EngineError {
            kind: Kind::Unavailable,
            message: format!("the store is damaged: {damage}"),
            hint: engine.store_path().parent().map(replace_in_part),
        });
    }
    for event in health.omitted.events.iter().take(MOST_NAMED) {
        report.bad(&unreadable(event));
    }
    if let Some(more) = health.omitted.events.len().checked_sub(MOST_NAMED).filter(|it| *it > 0) {
        report.bad(&EngineError {
            kind: Kind::Unavailable,
            message: format!("{more} more events can't be used"),
            hint: Some("`callstack doctor --json` names all of them.".into()),
        });
    }
    if !health.drifted.is_empty() {
        report.bad(&EngineError {
            kind: Kind::Unavailable,
            message: format!(
                "tables that are not what the events say: {}",
                health.drifted.join(", ")
            ),
            hint: Some(remedy(&health.omitted)),
        });
    }
    log_aside(report, health);
    let all_read = health.omitted.events.is_empty();
    if health.damage.is_empty() && health.drifted.is_empty() && all_read {
        report.good(format!("{} events, and the tables agree with them", health.events));
    }
    let (messages, whole, stored) = engine.message_sizes()?;
    report.data["store"]["messages"] =
        json!({"count": messages, "bytes": whole, "storedBytes": stored});
    let (whole, stored) = (bytes(whole), bytes(stored));
    report.good(format!("{messages} messages, {whole}, stored in {stored}"));
    Ok(())
}

fn log_aside(report: &mut Report, health: &Health) {
    report.data["store"]["logsAside"] = json!(health.logs_aside);
    for path in &health.logs_aside {
        report.remark(
            format!("{} is a log of writes that was put aside: it has no mark of callstack's", path.display()),
            "It came from elsewhere, or from a process that was killed before its change was done. Delete it, unless it \
             belongs to a backup that you have put back: then put back database and log, the log as callstack.db-wal, \
             and run `callstack trust` before anything else.",
        );
    }
}

/// Returns the error of an event that the tables leave out, or would leave out if they were derived again.
fn unreadable(event: &LeftOut) -> EngineError {
    let kind = event.kind.iter().cloned();
    let about: Vec<_> = kind.chain(event.frame.map(|frame| format!("of {frame}"))).collect();
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(" ")) };
    EngineError {
        kind: Kind::Unavailable,
        message: format!("event {}{about} can't be used: {}", event.seq, event.why),
        hint: Some("It stays in the log. Rebuilding the tables leaves it out.".into()),
    }
}

fn remedy(omitted: &Omitted) -> String {
    let rebuild = "`callstack doctor --rebuild` derives them from the events anew";
    if omitted.events.is_empty() {
        return format!("{rebuild}.");
    }
    let lost = match &omitted.frames[..] {
        [] => "what the events above say".to_owned(),
        frames => format!("what the events above say, and so {}", list(frames)),
    };
    format!("{rebuild}, and loses {lost}. Keep a copy of the store first.")
}

fn list(frames: &[FrameNum]) -> String {
    let frames: Vec<String> = frames.iter().map(ToString::to_string).collect();
    frames.join(", ")
}

fn plugin_of(report: &mut Report, project: &Path) -> Result<(), CommandError> {
    let path = plugin::path(project);
    let found = plugin::installed(project)?;
    let binary = binary::of_plugins();
    let interface = tui_plugin::current(project)?;
    let usable = binary.as_deref().is_some_and(Path::is_file);
    report.data["plugin"] = json!({
        "path": path_text(&path),
        "installed": found.is_some(),
        "current": found.as_ref().is_some_and(|it| it.current),
        "binary": binary.as_deref().map(path_text),
        "binaryExists": usable,
        "interfaceCurrent": interface,
    });
    match (&found, &binary) {
        (None, _) => {
            let hint = "`callstack init opencode` installs it.";
            report.remark("OpenCode's plugin is not installed", hint);
        }
        (Some(_), Some(binary)) if !usable => report.bad(&EngineError {
            kind: Kind::Unavailable,
            message: format!("the plugin starts {}, which is not there", binary.display()),
            hint: Some(format!("{} says so: correct it, or take it back.", binary::VARIABLE)),
        }),
        (Some(_), None) => report.bad(&EngineError {
            kind: Kind::Unavailable,
            message: "the plugin finds no callstack: none is on record or on the path".to_owned(),
            hint: Some("`callstack init opencode` records where this one is.".to_owned()),
        }),
        (Some(plugin), Some(binary)) if plugin.current => {
            report.good(format!("plugin {}, starts {}", path.display(), binary.display()));
            if interface == Some(false) {
                let again = "`callstack init opencode` installs it anew.";
                let interface = tui_plugin::path(project);
                report.remark(
                    format!("{} is of another version, or not listed", interface.display()),
                    again,
                );
            }
        }
        _ => {
            let again = "`callstack init opencode` installs it anew.";
            report.remark(format!("plugin {} is of another version", path.display()), again);
        }
    }
    Ok(())
}

fn opencode_itself(report: &mut Report) {
    let found = opencode::version();
    report.data["opencode"] = json!({"version": found.as_ref().ok()});
    match found {
        Ok(version) => report.good(format!("OpenCode {version}")),
        Err(why) => report.remark(why, "You need it only if its agent is to work in frames."),
    }
}
