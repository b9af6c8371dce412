//! The operation that checks the store, the plugin and OpenCode of a project, also where no engine can open the store.

use std::fs;
use std::path::Path;

use callstack_core::frame::FrameNum;
use callstack_engine::operation::{
    Access, Caller, CallerKind, Operate, Repeated, Reply, TERMINAL_ONLY,
};
use callstack_engine::{
    Configured, Engine, EngineError, Health, Kind, LeftOut, Omitted, path_text, plain,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Machine;
use crate::error::CommandError;
use crate::project::open;
use crate::user::registry;
use crate::wording::{bytes, for_a_terminal};
use crate::{binary, opencode, plugin, tui_plugin};

/// `stack_doctor`.
pub(crate) struct Doctor;

/// Arguments of `stack_doctor`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DoctorParams {
    /// Build the store's tables again from its log of events
    #[serde(default)]
    pub(crate) rebuild: bool,
}

/// The findings, in the order in which they were made.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DoctorOutput {
    /// The version of callstack
    pub(crate) version: String,
    /// The project's folder
    pub(crate) project: Option<String>,
    /// The store, if it can be opened
    pub(crate) store: Option<CheckedStore>,
    /// What is wrong
    pub(crate) problems: Vec<Problem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plugin: Option<CheckedPlugin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) opencode: Option<CheckedOpenCode>,
    /// All findings, as a person reads them
    pub(crate) findings: Vec<Finding>,
}

/// A finding, for people.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    pub(crate) text: String,
    pub(crate) hint: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Good,
    Remark,
    Bad,
}

/// Something that is wrong.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Problem {
    /// Kind of the error, such as `unavailable`
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// A store that was opened.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckedStore {
    path: String,
    /// Version of the database's schema
    schema: i64,
    /// Bytes of the database's files
    bytes: u64,
    read_only: bool,
    /// Number of events from which the tables were built again
    #[serde(skip_serializing_if = "Option::is_none")]
    rebuilt_from: Option<u64>,
    /// Numbers of the frames that are no longer in the tables
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_frames: Option<Vec<u64>>,
    #[serde(flatten)]
    health: Option<StoreHealth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<MessageSizes>,
}

/// The result of a check.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct StoreHealth {
    /// Number of events in the log
    events: u64,
    /// Damage in the file
    damage: Vec<String>,
    /// Tables that are not what the events say
    drift: Vec<String>,
    unreadable: Vec<UnreadableEvent>,
    /// Logs of writes that were put aside, where they are now
    logs_aside: Vec<String>,
}

/// An event that the tables leave out.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct UnreadableEvent {
    /// Its number in the log
    seq: i64,
    /// When it happened, in milliseconds since 1970
    at: i64,
    /// Its kind, as far as that can still be read
    kind: Option<String>,
    /// Number of the frame that it is about, as far as that can still be read
    frame: Option<u64>,
    /// Why it is left out
    why: String,
}

/// How much is kept of messages.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MessageSizes {
    count: u64,
    /// Bytes of them as they came
    bytes: u64,
    stored_bytes: u64,
}

/// OpenCode's plugin in a project.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckedPlugin {
    path: String,
    installed: bool,
    /// Whether it is the one that this version installs
    current: bool,
    /// The program that it starts
    binary: Option<String>,
    binary_exists: bool,
    /// Whether the plugin for OpenCode's screen is the one that this version installs, if there is one
    interface_current: Option<bool>,
}

/// OpenCode on this machine.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CheckedOpenCode {
    version: Option<String>,
}

/// The file in the store's folder to which callstack writes its log.
const LOG: &str = "callstack.log";
/// The most unreadable events that are listed, each on a line.
const MOST_NAMED: usize = 20;

impl DoctorOutput {
    fn good(&mut self, text: String) {
        self.findings.push(Finding { verdict: Verdict::Good, text, hint: None });
    }

    fn remark(&mut self, text: impl Into<String>, hint: &str) {
        let (text, hint) = (text.into(), Some(hint.to_owned()));
        self.findings.push(Finding { verdict: Verdict::Remark, text, hint });
    }

    fn bad(&mut self, error: &EngineError) {
        let hint = error.hint.as_ref().map(for_a_terminal);
        self.problems.push(Problem {
            kind: error.kind.as_str().to_owned(),
            message: error.message.clone(),
            hint: hint.clone(),
        });
        let text = error.message.clone();
        self.findings.push(Finding { verdict: Verdict::Bad, text, hint });
    }
}

impl Operate<Machine> for Doctor {
    const NAME: &'static str = "stack_doctor";
    const SUMMARY: &'static str = "Check the store, the plugin and OpenCode, and say what to do; build the store's \
        tables again.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = TERMINAL_ONLY;
    type Params = DoctorParams;
    type Output = DoctorOutput;

    fn run(
        machine: &Machine,
        _: &Caller,
        params: DoctorParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let binary = binary::this()?;
        let mut report = DoctorOutput { version, ..DoctorOutput::default() };
        report.good(format!("callstack {}, {}", report.version, binary.display()));
        match machine.place.existing() {
            Ok(project) => {
                report.project = Some(path_text(&project).into_owned());
                match open(&project) {
                    Ok(engine) => store(&mut report, &engine, params.rebuild)?,
                    Err(error) => report.bad(&unusable(error, &project)),
                }
                if let Err(error) = plugin_of(&mut report, &project) {
                    report.bad(&error.into_error());
                }
            }
            Err(error) => report.bad(&error),
        }
        unreadable_records(&mut report);
        opencode_itself(&mut report);
        let text = format!("{} problems", report.problems.len());
        Ok(Reply::new("doctor", text, report))
    }
}

/// Replaces the hint of an error of a store that can't be opened, since the engine's hint points to this command.
fn unusable(mut error: EngineError, project: &Path) -> EngineError {
    if error.is_of_damage() {
        let store = project.join(callstack_store::FOLDER);
        let advice = if registry().is_ok_and(|registry| registry.keeps_sound(project)) {
            format!(
                "A sound database is kept in the state folder: {}. The next command puts the sound one back.",
                move_away(&store)
            )
        } else {
            replace(&store)
        };
        error.hint = Some(format!("Nothing was changed. {advice}").into());
    }
    error
}

/// Returns how the database of a store is moved away, in whose place another one comes.
fn move_away(store: &Path) -> String {
    let store = store.display();
    format!(
        "end what works here, and move callstack.db from {store} to another folder, with callstack.db-wal and \
         callstack.db-shm where they are there"
    )
}

/// Returns a hint for a store whose file is damaged, so that deriving the tables again can't help.
fn replace(store: &Path) -> String {
    let store = store.display();
    format!(
        "Keep a copy of {store}, then put a backup in its place, or move it away to begin a new one."
    )
}

/// Adds a hint to an error of a store that could be opened, if it is damaged.
fn damaged(error: EngineError, path: &Path) -> EngineError {
    match path.parent().filter(|_| error.is_of_damage()) {
        Some(store) => error.with_hint(replace_in_part(store)),
        None => error,
    }
}

/// Returns a hint for a damaged store of which some can still be read.
fn replace_in_part(store: &Path) -> String {
    format!("`callstack export` saves the frames that can still be read. {}", replace(store))
}

fn store(report: &mut DoctorOutput, engine: &Engine, rebuild: bool) -> Result<(), EngineError> {
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
    let mut checked = CheckedStore {
        path: path_text(path).into_owned(),
        schema,
        bytes: size,
        read_only: engine.is_read_only(),
        ..CheckedStore::default()
    };
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
        report.remark(text, &error.hint.as_ref().map(for_a_terminal).unwrap_or_default());
    }
    if let Err(error) = engine.check_files_untracked() {
        report.remark(error.message, &error.hint.as_ref().map(for_a_terminal).unwrap_or_default());
    }
    if rebuild {
        let done = engine.rebuild()?;
        let read = done.events - done.omitted.events.len() as u64;
        checked.rebuilt_from = Some(read);
        checked.lost_frames = Some(done.omitted.frames.iter().map(|frame| frame.0).collect());
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
        Ok(health) => sound(report, engine, &health, &mut checked)?,
        Err(error) => report.bad(&damaged(error, path)),
    }
    report.store = Some(checked);
    Ok(())
}

fn sound(
    report: &mut DoctorOutput,
    engine: &Engine,
    health: &Health,
    checked: &mut CheckedStore,
) -> Result<(), EngineError> {
    let unreadable_event = |event: &LeftOut| UnreadableEvent {
        seq: event.seq,
        at: event.at,
        kind: event.kind.clone(),
        frame: event.frame.map(|frame| frame.0),
        why: event.why.clone(),
    };
    checked.health = Some(StoreHealth {
        events: health.events,
        damage: health.damage.clone(),
        drift: health.drifted.clone(),
        unreadable: health.omitted.events.iter().map(unreadable_event).collect(),
        logs_aside: health.logs_aside.iter().map(|path| path_text(path).into_owned()).collect(),
    });
    for damage in &health.damage {
        let mut error =
            EngineError::new(Kind::Unavailable, format!("the store is damaged: {damage}"));
        error.hint = engine.store_path().parent().map(|store| replace_in_part(store).into());
        report.bad(&error);
    }
    for event in health.omitted.events.iter().take(MOST_NAMED) {
        report.bad(&unreadable(event));
    }
    if let Some(more) = health.omitted.events.len().checked_sub(MOST_NAMED).filter(|it| *it > 0) {
        report.bad(
            &EngineError::new(Kind::Unavailable, format!("{more} more events can't be used"))
                .with_hint("`callstack doctor --json` names all of them."),
        );
    }
    if !health.drifted.is_empty() {
        report.bad(
            &EngineError::new(
                Kind::Unavailable,
                format!("tables that are not what the events say: {}", health.drifted.join(", ")),
            )
            .with_hint(remedy(&health.omitted)),
        );
    }
    log_aside(report, health);
    not_kept(report, health);
    if let Some(store) = engine.store_path().parent() {
        database_aside(report, health, store);
    }
    let all_read = health.omitted.events.is_empty();
    if health.damage.is_empty() && health.drifted.is_empty() && all_read {
        report.good(format!("{} events, and the tables agree with them", health.events));
    }
    let (messages, whole, stored) = engine.message_sizes()?;
    checked.messages = Some(MessageSizes { count: messages, bytes: whole, stored_bytes: stored });
    let (whole, stored) = (bytes(whole), bytes(stored));
    report.good(format!("{messages} messages, {whole}, stored in {stored}"));
    Ok(())
}

fn log_aside(report: &mut DoctorOutput, health: &Health) {
    for path in &health.logs_aside {
        report.remark(
            format!("{} is a write-ahead log that was put aside: it has no mark of callstack's", path.display()),
            "It came from elsewhere, or from a process that was killed before its change was done. Where something is \
             missing, or it belongs to a backup: put it back as callstack.db-wal, beside the database as it was then, and \
             run `callstack trust` before anything else. Otherwise delete it.",
        );
    }
}

fn database_aside(report: &mut DoctorOutput, health: &Health, store: &Path) {
    for path in &health.databases_aside {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let way = if fs::metadata(log).is_ok_and(|log| log.len() > 0) {
            // It is written back where it is: the log of another path would not be known as the store's.
            "end what works here, and run `callstack doctor` once more: a process still has it open"
                .to_owned()
        } else {
            let database = store.join(callstack_store::DATABASE);
            format!("{}. Then move {} to {}", move_away(store), path.display(), database.display())
        };
        report.remark(
            format!("{} holds work that the store lacks", path.display()),
            &format!(
                "An earlier or a changed state of the store, such as a backup, came into its place, and it was put \
                 aside. To go on with it, {way}. If it is not wanted, delete it."
            ),
        );
    }
}

fn unreadable_records(report: &mut DoctorOutput) {
    for record in registry().and_then(|it| Ok(it.unreadable_records()?)).unwrap_or_default() {
        let hint = "Its store is passed over. Where root has made it, give its folder to yourself with `sudo chown -R`.";
        report.remark(format!("the record {} can't be read", record.display()), hint);
    }
}

fn not_kept(report: &mut DoctorOutput, health: &Health) {
    if let Some(why) = &health.not_kept {
        let hint = "Where .callstack is deleted while nobody works, such as by `git clean -x`, what is in it is lost. \
            Set XDG_STATE_HOME to a folder of yours on the project's file system.";
        report.remark(format!("no copy of the database is kept: {why}"), hint);
    }
}

/// Returns the error of an event that the tables leave out, or would leave out if they were derived again.
fn unreadable(event: &LeftOut) -> EngineError {
    let kind = event.kind.iter().cloned();
    let about: Vec<_> = kind.chain(event.frame.map(|frame| format!("of {frame}"))).collect();
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(" ")) };
    EngineError::new(
        Kind::Unavailable,
        format!("event {}{about} can't be used: {}", event.seq, event.why),
    )
    .with_hint("It stays in the log. Rebuilding the tables leaves it out.")
}

fn remedy(omitted: &Omitted) -> String {
    let rebuild = "`callstack doctor --rebuild` derives them from the events again";
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

fn plugin_of(report: &mut DoctorOutput, project: &Path) -> Result<(), CommandError> {
    let path = plugin::path(project);
    let found = plugin::installed(project)?;
    let binary = binary::of_plugins();
    let interface = tui_plugin::current(project)?;
    let usable = binary.as_deref().is_some_and(Path::is_file);
    report.plugin = Some(CheckedPlugin {
        path: path_text(&path).into_owned(),
        installed: found.is_some(),
        current: found.as_ref().is_some_and(|it| it.current),
        binary: binary.as_deref().map(|path| path_text(path).into_owned()),
        binary_exists: usable,
        interface_current: interface,
    });
    match (&found, &binary) {
        (None, _) => {
            let hint = "`callstack init opencode` installs it.";
            report.remark("OpenCode's plugin is not installed", hint);
        }
        (Some(_), Some(binary)) if !usable => report.bad(
            &EngineError::new(
                Kind::Unavailable,
                format!("the plugin starts {}, which is not there", binary.display()),
            )
            .with_hint(format!("{} says so: correct it, or take it back.", binary::VARIABLE)),
        ),
        (Some(_), None) => report.bad(
            &EngineError::new(
                Kind::Unavailable,
                "the plugin finds no callstack: none is on record or on the path",
            )
            .with_hint("`callstack init opencode` records where this one is."),
        ),
        (Some(plugin), Some(binary)) if plugin.current => {
            report.good(format!("plugin {}, starts {}", path.display(), binary.display()));
            if interface == Some(false) {
                let again = "`callstack init opencode` installs it again.";
                let interface = tui_plugin::path(project);
                report.remark(
                    format!("{} is of another version, or not listed", interface.display()),
                    again,
                );
            }
        }
        _ => {
            let again = "`callstack init opencode` installs it again.";
            report.remark(format!("plugin {} is of another version", path.display()), again);
        }
    }
    Ok(())
}

fn opencode_itself(report: &mut DoctorOutput) {
    let found = opencode::version();
    report.opencode = Some(CheckedOpenCode { version: found.as_ref().ok().cloned() });
    match found {
        Ok(version) => report.good(format!("OpenCode {version}")),
        Err(why) => report.remark(why, "You need it only if its agent is to work in frames."),
    }
}
