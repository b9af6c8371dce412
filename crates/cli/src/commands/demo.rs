/// Watch an agent work in frames, in a real OpenCode session
///
/// A scripted model plays the agent unless you name one of your own; without one, nothing of yours is sent anywhere.
/// The network is used to download OpenCode where it is missing, and by OpenCode itself, which fetches a package for
/// its plugins. The demo's project is kept, so that you can look around.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Run on a real provider's model instead
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// Show for each model call what was sent, and what would have been sent without frames
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Remove the project at the end
    #[arg(long)]
    pub(crate) remove: bool,
}
