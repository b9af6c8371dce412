//! The commands: one file each, whose arguments' doc comment is the help.

mod activate;
mod artifact;
mod completions;
mod config;
mod consolidate;
mod context;
mod decision;
pub(crate) mod demo;
mod doctor;
pub(crate) mod export;
mod go;
mod host;
mod import;
pub(crate) mod init;
mod invalidate;
mod log;
mod man;
mod mcp;
mod pin;
mod plan;
mod pop;
mod preset;
mod purge;
mod push;
mod reopen;
mod replay;
pub(crate) mod report;
mod retry;
mod rollback;
mod search;
mod serve;
pub(crate) mod show;
mod status;
mod tree;
mod trust;
mod ui;
mod unpin;

use callstack_engine::operation::Answer;
use callstack_engine::tree::sign;
use clap::Subcommand;

use crate::args::Args;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{DIM, PLAIN, style};

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::InitArgs),
    Demo(demo::DemoArgs),
    Doctor(doctor::DoctorArgs),
    Config(config::ConfigArgs),
    Trust(trust::TrustArgs),
    Ui(ui::UiArgs),
    Tree(tree::TreeArgs),
    Status(status::StatusArgs),
    Show(show::ShowArgs),
    Log(log::LogArgs),
    Search(search::SearchArgs),
    Context(context::ContextArgs),
    Serve(serve::ServeArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    Replay(replay::ReplayArgs),
    Report(report::ReportArgs),
    Push(push::PushArgs),
    Pop(pop::PopArgs),
    Plan(plan::PlanArgs),
    Preset(preset::PresetArgs),
    Activate(activate::ActivateArgs),
    Go(go::GoArgs),
    Invalidate(invalidate::InvalidateArgs),
    Reopen(reopen::ReopenArgs),
    Retry(retry::RetryArgs),
    Rollback(rollback::RollbackArgs),
    Consolidate(consolidate::ConsolidateArgs),
    Decision(decision::DecisionArgs),
    Artifact(artifact::ArtifactArgs),
    Pin(pin::PinArgs),
    Unpin(unpin::UnpinArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Purge(purge::PurgeArgs),
    Mcp(mcp::McpArgs),
    Host(host::HostArgs),
}

/// Carries out a command.
pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), CommandError> {
    let invocation = || Invocation::of(&args.global);
    match &args.command {
        Command::Demo(args) => crate::demo::run(args, output),
        Command::Completions(args) => completions::run(args, output),
        Command::Man(args) => man::run(args, &invocation()?, output),
        Command::Init(args) => init::run(args, &invocation()?, output),
        Command::Doctor(args) => doctor::run(args, &invocation()?, output),
        Command::Config(args) => config::run(args, &invocation()?, output),
        Command::Trust(args) => trust::run(args, &invocation()?, output),
        Command::Ui(args) => ui::run(args, &invocation()?, output),
        Command::Tree(args) => tree::run(args, &invocation()?, output),
        Command::Status(args) => status::run(args, &invocation()?, output),
        Command::Show(args) => show::run(args, &invocation()?, output),
        Command::Log(args) => log::run(args, &invocation()?, output),
        Command::Search(args) => search::run(args, &invocation()?, output),
        Command::Context(args) => context::run(args, &invocation()?, output),
        Command::Serve(args) => serve::run(args, &invocation()?, output),
        Command::Export(args) => export::run(args, &invocation()?, output),
        Command::Import(args) => import::run(args, &invocation()?, output),
        Command::Replay(args) => replay::run(args, &invocation()?, output),
        Command::Report(args) => report::run(args, &invocation()?, output),
        Command::Push(args) => push::run(args, &invocation()?, output),
        Command::Pop(args) => pop::run(args, &invocation()?, output),
        Command::Plan(args) => plan::run(args, &invocation()?, output),
        Command::Preset(args) => preset::run(args, &invocation()?, output),
        Command::Go(args) => go::run(args, &invocation()?, output),
        Command::Activate(args) => activate::run(args, &invocation()?, output),
        Command::Invalidate(args) => invalidate::run(args, &invocation()?, output),
        Command::Retry(args) => retry::run(args, &invocation()?, output),
        Command::Rollback(args) => rollback::run(args, &invocation()?, output),
        Command::Reopen(args) => reopen::run(args, &invocation()?, output),
        Command::Consolidate(args) => consolidate::run(args, &invocation()?, output),
        Command::Decision(args) => decision::run(args, &invocation()?, output),
        Command::Artifact(args) => artifact::run(args, &invocation()?, output),
        Command::Pin(args) => pin::run(args, &invocation()?, output),
        Command::Unpin(args) => unpin::run(args, &invocation()?, output),
        Command::Purge(args) => purge::run(args, &invocation()?, output),
        Command::Mcp(args) => mcp::run(args, invocation()?, output),
        Command::Host(args) => host::run(args, &invocation()?, output),
    }
}

/// Prints that work in a frame began.
fn began(output: &mut Output, answer: &Answer, session: &str) -> Result<(), CommandError> {
    output.either(&answer.data, |page| {
        if let Some(Ok(status)) = answer.data["status"].as_str().map(str::parse) {
            page.put(style(status), sign(status)).put(PLAIN, " ");
        }
        page.put(PLAIN, &answer.title).put(DIM, &format!("  in session {session}")).end();
    })
}

/// Prints that something was recorded in a frame.
fn noted(output: &mut Output, answer: &Answer, what: &str) -> Result<(), CommandError> {
    output.either(&answer.data, |page| {
        let frame = answer.data["frame"].as_str().unwrap_or_default();
        page.put(PLAIN, &format!("{what} {frame}")).end();
    })
}
