/// Watch an agent work in frames: a real OpenCode session in a temporary project
///
/// Without a model of your own, a scripted one plays the agent; nothing leaves this machine but the
/// download of OpenCode, where there is none yet. For each model call you see what was sent, and what
/// would have been sent without frames.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Run on a real provider's model instead
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// Keep the project, and say where it is
    #[arg(long)]
    pub(crate) keep: bool,
}
