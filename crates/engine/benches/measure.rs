//! Samples of durations, their statistics, and tables for people.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Durations of the same thing, in milliseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// Carries `work` out and takes its time.
    pub(crate) fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let value = work();
        self.add(start.elapsed());
        value
    }

    pub(crate) fn add(&mut self, duration: Duration) {
        self.add_ms(duration.as_secs_f64() * 1e3);
    }

    pub(crate) fn add_ms(&mut self, ms: f64) {
        self.0.push(ms);
    }

    pub(crate) fn append(&mut self, others: &Self) {
        self.0.extend_from_slice(&others.0);
    }

    /// The number of samples.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    pub(crate) fn p99(&self) -> f64 {
        self.quantile(0.99)
    }

    pub(crate) fn largest(&self) -> f64 {
        self.quantile(1.0)
    }

    /// Returns the median of the ratios of each sample to the one of `base` that was taken beside it, so that a load
    /// that slows both down for a while does not count.
    pub(crate) fn ratio_to(&self, base: &Self) -> f64 {
        Self(self.0.iter().zip(&base.0).map(|(own, base)| own / base).collect()).median()
    }

    /// The smallest sample that at least the share `q` of all does not exceed.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank lies between 0 and the number of samples"
    )]
    fn quantile(&self, q: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (q * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }
}

/// Milliseconds with three digits that count.
pub(crate) fn ms(value: f64) -> String {
    match value {
        value if value < 0.1 => format!("{value:.4}"),
        value if value < 10.0 => format!("{value:.3}"),
        value => format!("{value:.1}"),
    }
}

/// Rows under a head, as Markdown, so that they can go into a page as they are.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(ToString::to_string).collect()] }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Prints it with its title.
    pub(crate) fn print(&self, title: &str) {
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|it| it.chars().count()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        let mut text = format!("\n{title}\n\n");
        for (at, row) in self.rows.iter().enumerate() {
            text.push('|');
            for (cell, width) in row.iter().zip(&widths) {
                // Writing to a string can't fail.
                let _ = write!(text, " {cell:width$} |");
            }
            text.push('\n');
            if at == 0 {
                let rules = widths.iter().map(|width| format!(" {} |", "-".repeat(*width)));
                let _ = writeln!(text, "|{}", rules.collect::<String>());
            }
        }
        println!("{text}");
    }
}

/// Returns the load of the machine at this moment, where the system reports it: figures from a busy machine have to
/// be read as such.
pub(crate) fn load() -> String {
    std::fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|text| text.split(' ').next().map(|one| format!("load {one}")))
        .unwrap_or_else(|| "load unknown".to_owned())
}

/// Numbers that are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % end.max(1)
    }

    /// Draws so many words from a vocabulary in which few words are frequent and many are rare.
    pub(crate) fn words(&mut self, count: usize) -> String {
        const SYLLABLES: &[&str] = &[
            "par", "ser", "tok", "en", "cache", "que", "ry", "in", "dex", "mi", "gra", "tion",
            "fold", "re", "play", "ses", "sion", "stor", "age", "lock", "er", "rout", "ing",
            "test",
        ];
        let mut text = String::new();
        for at in 0..count {
            let rank = self.below(600).min(self.below(600));
            let (first, second) = (rank % SYLLABLES.len(), rank / SYLLABLES.len());
            let separator = if at == 0 { "" } else { " " };
            // Writing to a string can't fail.
            let _ = write!(
                text,
                "{separator}{}{}",
                SYLLABLES[first],
                SYLLABLES[(first + second) % SYLLABLES.len()]
            );
        }
        text
    }
}
