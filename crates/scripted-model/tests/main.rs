//! The model as a plain HTTP client sees it.

#[cfg(test)]
mod http;
