//! Measures the cost of a transaction's check that the files of its store are still there.

#![expect(clippy::print_stdout, reason = "its figures are for whoever runs it")]
#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method that the lint suggests is one of a view of one lifetime, which does not compile"
)]

use std::fs;
use std::path::Path;
use std::time::Instant;

use callstack_core::event::Event;
use callstack_store::{DATABASE, FOLDER, Store, StoreError, prepare};

const ROUNDS: usize = 3_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = std::env::args().nth(1).unwrap_or_else(|| "target".to_owned());
    let project = tempfile::tempdir_in(place)?;
    let folder = prepare(project.path())?;
    let store = Store::open_unchecked(&folder)?;
    let mut round = 0_u64;
    let write = median(|| {
        round += 1;
        let event = Event::SettingSet { name: "LOOKS".to_owned(), value: Some(round.to_string()) };
        store.write(|change| change.append(1, std::slice::from_ref(&event)))
    })?;
    let read = median(|| store.read(|view| view.revision()).map(drop))?;
    let look = median(|| {
        look(project.path());
        Ok(())
    })?;
    let (of_read, of_write) = (look / read * 100.0, look * 3.0 / write * 100.0);
    println!("a durable write of one event  {write:>8.2} us");
    println!("a read of the newest event    {read:>8.2} us");
    println!("a look at the files           {look:>8.2} us, {of_read:.1} % of such a read");
    println!(
        "three looks                   {:>8.2} us, {of_write:.1} % of such a write",
        look * 3.0
    );
    Ok(())
}

/// The files that are looked at.
fn look(project: &Path) {
    for file in [DATABASE, "callstack.db-wal", "callstack.db-shm", "id"] {
        // The mark, `id`, may be missing.
        let _found = fs::metadata(project.join(FOLDER).join(file));
    }
}

/// The median time of something, in microseconds.
fn median(mut act: impl FnMut() -> Result<(), StoreError>) -> Result<f64, StoreError> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        act()?;
        times.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}
