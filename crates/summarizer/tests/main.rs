//! Models on loopback that are asked over real HTTP.

#[cfg(test)]
mod asking;
