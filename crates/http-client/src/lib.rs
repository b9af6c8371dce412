//! The HTTP client for servers that the user has configured: a model, a collector of traces.
//!
//! Its requests contain keys and work, so it follows no redirection, and uses no proxy for an address of this
//! machine.

use std::time::Duration;

pub use ureq;
use ureq::Agent;
use ureq::http::{HeaderMap, Uri};

/// Returns a client for requests to an address, each with its answer within `time`. An error status or a redirection
/// is returned like any other answer.
pub fn client(url: &str, time: Duration) -> Agent {
    let mut config = Agent::config_builder()
        .timeout_global(Some(time))
        .http_status_as_error(false)
        // After a redirection, another server would get the key and the work.
        .max_redirects(0)
        .max_redirects_will_error(false);
    if is_on_this_machine(url) {
        // A proxy from the environment is for other machines, and would see the work.
        config = config.proxy(None);
    }
    config.build().new_agent()
}

/// Returns the time that a server asks to wait before the next request.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get("retry-after")?.to_str().ok()?;
    let seconds: f64 = value.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Whether an address is that of this machine itself.
pub fn is_on_this_machine(url: &str) -> bool {
    let address = url.parse::<Uri>().ok();
    let host = address.as_ref().and_then(Uri::host).unwrap_or_default();
    let plain = host.trim_matches(['[', ']']);
    let is_loopback = plain.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    host == "localhost" || is_loopback
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_not_asked_for_what_is_on_this_machine() {
        for url in ["http://127.0.0.1:8080/v1", "http://localhost/v1", "http://[::1]:1/v1"] {
            assert!(is_on_this_machine(url), "{url}");
        }
        for url in ["https://api.example/v1", "http://127.0.0.1.example", "nothing"] {
            assert!(!is_on_this_machine(url), "{url}");
        }
    }
}
