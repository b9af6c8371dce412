//! States of files in real repositories, whatever lies in them.

#[cfg(test)]
mod keep;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod odd;
#[cfg(test)]
mod places;
#[cfg(test)]
mod repository;
