//! The store from outside, as callers use its public interface.

#![cfg_attr(
    test,
    expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method that the lint suggests is one of a view of one lifetime, which does not compile"
    )
)]

#[cfg(test)]
mod begun;
#[cfg(test)]
#[cfg(unix)]
mod beside;
#[cfg(test)]
mod child;
#[cfg(test)]
mod concurrent;
#[cfg(test)]
mod copies;
#[cfg(test)]
mod damaged;
#[cfg(test)]
mod domain;
#[cfg(test)]
mod evidence;
#[cfg(test)]
mod feed;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod held;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod location;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod observers;
#[cfg(test)]
#[cfg(unix)]
mod overwritten;
#[cfg(test)]
mod purge;
#[cfg(test)]
mod rebuild;
#[cfg(test)]
mod references;
#[cfg(test)]
mod search;
#[cfg(test)]
mod suggestions;
#[cfg(test)]
mod support;
#[cfg(test)]
#[cfg(unix)]
mod vanished;
