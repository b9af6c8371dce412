//! Runs trials: a real `OpenCode` with a person, an agent or any `OpenAI`-compatible model as its model.
//! `docs/trials.md` describes how.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line says what it does")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use callstack_testkit::Callstack;
use callstack_testkit::trial::{Coming, Next, Part, Plan, Reader, Remote, Wheel, ledger, run};
use clap::{Args, Parser, Subcommand};

/// The longest wait for the request after an answer.
const FOLLOWS: Duration = Duration::from_secs(20);

/// Lets a real OpenCode work on a task, with a model at the wheel that nobody scripted
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start OpenCode in a project folder and say the turns of a file, one after the other
    Run(Box<RunArguments>),
    /// Wait for the next request and show what is new in it
    Next {
        /// The trial's folder
        folder: PathBuf,
        /// Show everything: for whoever takes over
        #[arg(long)]
        whole: bool,
        /// Show everything from the first message on that has changed, and go on after a fold
        #[arg(long, conflicts_with = "whole")]
        changed: bool,
        /// How many seconds to wait for a request
        #[arg(long, default_value_t = 540)]
        wait: u64,
    },
    /// Answer the request that was shown
    Answer {
        /// The trial's folder
        folder: PathBuf,
        /// {"text": "…", "calls": [{"name": "…", "input": {…}}]}
        file: PathBuf,
    },
    /// Print what trials took
    Ledger {
        /// The trials' folders
        #[arg(required = true)]
        folders: Vec<PathBuf>,
    },
    /// End a running trial
    Stop {
        /// The trial's folder
        folder: PathBuf,
    },
}

#[derive(Debug, Args)]
struct RunArguments {
    /// The folder that the agent works in: a fresh copy, for it is written to
    project: PathBuf,
    /// A JSON list of what the user says, turn by turn
    turns: PathBuf,
    /// The trial's folder, a new one. Without --url, each request waits in it for a reader
    #[arg(long, value_name = "DIR")]
    model_dir: PathBuf,
    /// Ask an OpenAI-compatible model at this address, which ends before /chat/completions
    #[arg(long, requires = "model")]
    url: Option<String>,
    /// The model's name there
    #[arg(long, requires = "url")]
    model: Option<String>,
    /// The environment variable that holds its key
    #[arg(long, default_value = "TRIAL_KEY")]
    key_variable: String,
    /// Leave callstack out: the control
    #[arg(long)]
    control: bool,
    /// The level of autonomy: manual, suggest or auto
    #[arg(long, default_value = "suggest", conflicts_with = "control")]
    level: String,
    /// The callstack to install [default: the one in the folder above this program's]
    #[arg(long, value_name = "FILE")]
    callstack: Option<PathBuf>,
    /// A further variable, NAME=VALUE, or NAME as it is here. Nothing else but PATH is passed on
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// How many tokens the model can take
    #[arg(long, default_value_t = 200_000)]
    context: u32,
    /// Minutes after which the trial is ended
    #[arg(long)]
    limit: Option<u64>,
}

fn main() -> ExitCode {
    match carry_out(Arguments::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

type Failure = Box<dyn std::error::Error>;

fn carry_out(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Run(arguments) => start(&arguments)?,
        Verb::Next { folder, whole, changed, wait } => {
            let part = match (whole, changed) {
                (true, _) => Part::Whole,
                (false, true) => Part::Changed,
                (false, false) => Part::New,
            };
            match Reader::of(&folder).next(part, Duration::from_secs(wait))? {
                Next::Shown(text) => print!("{text}"),
                Next::Handover(why) => {
                    println!("HANDOVER: {why}. Stop here, report, and answer nothing more.");
                }
                Next::Over(why) => println!("OVER: {why}"),
                Next::NothingYet => println!("nothing yet; call next again"),
            }
        }
        Verb::Answer { folder, file } => {
            let reader = Reader::of(&folder);
            let number = reader.answer(&fs::read_to_string(&file)?)?;
            match reader.coming(FOLLOWS)? {
                Coming::Request(next) => {
                    println!("answered {number}; request {next} waits: call next");
                }
                Coming::Over(why) => println!("answered {number}. OVER: {why}"),
                Coming::NothingYet => println!("answered {number}; no request yet: call next"),
            }
        }
        Verb::Ledger { folders } => print!("{}", ledger::table(&folders)?),
        Verb::Stop { folder } => Reader::of(&folder).stop()?,
    }
    Ok(())
}

fn start(arguments: &RunArguments) -> Result<(), Failure> {
    let turns: Vec<String> =
        serde_json::from_str(&fs::read_to_string(&arguments.turns)?).map_err(|error| {
            format!("{} is no JSON list of texts: {error}", arguments.turns.display())
        })?;
    let callstack = if arguments.control {
        None
    } else {
        let binary = match &arguments.callstack {
            Some(binary) => binary.clone(),
            None => beside()?,
        };
        let binary =
            binary.canonicalize().map_err(|error| format!("{}: {error}", binary.display()))?;
        Some((Callstack::at(binary), arguments.level.clone()))
    };
    let wheel = match (&arguments.url, &arguments.model) {
        (Some(url), Some(model)) => {
            Wheel::Remote(Remote::new(url, model, env::var(&arguments.key_variable).ok()))
        }
        _ => Wheel::Reader,
    };
    let plan = Plan {
        project: arguments.project.clone(),
        folder: arguments.model_dir.clone(),
        turns,
        callstack,
        env: variables(&arguments.env)?,
        wheel,
        context: arguments.context,
        limit: arguments.limit.map(Duration::from_mins),
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    run(&plan, &interrupted, &mut |line| println!("{line}"))?;
    Ok(())
}

/// `callstack` as cargo builds it: this program lies in `examples`, below it.
fn beside() -> Result<PathBuf, Failure> {
    let own = env::current_exe()?;
    let binary = own.parent().and_then(Path::parent).map(|folder| folder.join("callstack"));
    let binary = binary.filter(|binary| binary.is_file());
    Ok(binary.ok_or(
        "there is no callstack yet; build it (cargo build -p callstack-cli), or name --callstack",
    )?)
}

fn variables(named: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let path = env::var("PATH").unwrap_or_default();
    let mut variables = vec![("PATH".to_owned(), path)];
    for entry in named {
        let (name, value) = match entry.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => {
                (entry.clone(), env::var(entry).map_err(|_| format!("{entry} is not set here"))?)
            }
        };
        variables.push((name, value));
    }
    Ok(variables)
}
