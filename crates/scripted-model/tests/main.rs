//! The model as a plain HTTP client sees it.

#[cfg(test)]
mod formats;
#[cfg(test)]
mod http;
