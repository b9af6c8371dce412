//! The real `OpenCode` against the scripted model and against readers, and the directions in which our crates depend.

#[cfg(test)]
mod architecture;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod opencode;
#[cfg(test)]
mod trial;
