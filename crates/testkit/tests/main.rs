//! The real `OpenCode` against the scripted model and against readers, the directions in which our crates depend,
//! and the map of them.

#[cfg(test)]
mod architecture;
#[cfg(test)]
mod hints;
#[cfg(test)]
mod house;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod map;
#[cfg(test)]
mod opencode;
#[cfg(test)]
mod packaged_features;
#[cfg(test)]
mod paths;
#[cfg(test)]
mod surfaces;
#[cfg(test)]
mod trial;
