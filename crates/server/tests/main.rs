//! A server on loopback, asked as clients ask and as strangers do.

#[cfg(test)]
mod attacks;
#[cfg(test)]
mod calling;
#[cfg(test)]
mod description;
#[cfg(test)]
mod entering;
#[cfg(test)]
mod events;
#[cfg(all(test, unix))]
mod generated;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod live;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod page;
#[cfg(test)]
mod projects;
#[cfg(test)]
mod proposal;
#[cfg(test)]
mod support;
