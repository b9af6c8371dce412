//! States of files in real repositories, whatever lies in them.

#[cfg(test)]
#[cfg(unix)]
mod caller;
#[cfg(test)]
#[cfg(unix)]
mod hostile;
#[cfg(test)]
mod keep;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod odd;
#[cfg(test)]
mod patches;
#[cfg(test)]
mod places;
#[cfg(test)]
mod repository;
#[cfg(test)]
#[cfg(unix)]
mod writers;
