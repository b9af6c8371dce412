//! The collector that spans are sent to, by the variables that OpenTelemetry gives every program. Only the user's
//! environment names it: a store or a project's file can't.

use callstack_engine::{EngineError, Kind};
use callstack_exports::otlp::{Encoding, SendError, Sender, Sent};

use crate::project::variable;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];

/// Returns the collector that the environment names. An error says what is missing or wrong in it.
pub(super) fn from_environment() -> Result<Sender, EngineError> {
    from(&|name| variable(name).map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()))
}

fn from(variable: &impl Fn(&str) -> Option<String>) -> Result<Sender, EngineError> {
    let (name, address) = match (variable(TRACES_ENDPOINT), variable(ENDPOINT)) {
        (Some(address), _) => (TRACES_ENDPOINT, address),
        (None, Some(base)) => (ENDPOINT, format!("{}/v1/traces", base.trim_end_matches('/'))),
        (None, None) => {
            return Err(EngineError::invalid(
                format!("no collector is set to send spans to: {ENDPOINT} is empty"),
                format!("Set it in your environment: {ENDPOINT}=http://localhost:4318."),
            ));
        }
    };
    let rest = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split('/').next()).unwrap_or_default();
    if host.is_empty() || host.contains('@') {
        return Err(EngineError::invalid(
            format!("{name} is no address with http:// or https:// and without a key in it"),
            format!("Set it to one such as http://localhost:4318; a key goes into {}.", HEADERS[1]),
        ));
    }
    Ok(Sender { address, encoding: encoding(variable)?, headers: headers(variable)? })
}

fn encoding(variable: &impl Fn(&str) -> Option<String>) -> Result<Encoding, EngineError> {
    let Some((name, protocol)) = first(&PROTOCOLS, variable) else {
        return Ok(Encoding::default());
    };
    match protocol.as_str() {
        "http/protobuf" => Ok(Encoding::Protobuf),
        "http/json" => Ok(Encoding::Json),
        other => Err(EngineError::invalid(
            format!("{name} is `{other}`, which callstack does not speak"),
            "It may be http/protobuf or http/json.",
        )),
    }
}

/// Pairs such as `api-key=secret,tenant=a%20b`.
fn headers(
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, EngineError> {
    let Some((name, list)) = first(&HEADERS, variable) else { return Ok(Vec::new()) };
    let pairs = list.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        let key = key.trim();
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let value = decoded(value.trim())?;
        (!key.is_empty() && key.bytes().all(is_token)).then(|| (key.to_owned(), value))
    };
    // The list may hold a key, so it is not repeated.
    pairs.map(pair).collect::<Option<_>>().ok_or_else(|| {
        EngineError::invalid(
            format!("{name} is no list of headers"),
            "Write pairs with commas between them, such as api-key=…,tenant=….",
        )
    })
}

/// A value with `%20` and the like decoded, if it may stand in a header.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        let byte = if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            u8::try_from(high << 4 | low).ok()?
        } else {
            byte
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok().filter(|it| it.chars().all(|char| !char.is_control()))
}

fn first(
    names: &[&'static str],
    variable: &impl Fn(&str) -> Option<String>,
) -> Option<(&'static str, String)> {
    names.iter().find_map(|name| Some((*name, variable(name)?)))
}

/// Returns the failure to send spans, of which so many were sent before.
pub(super) fn unsent(error: SendError, before: usize) -> EngineError {
    let message = match before {
        0 => format!("no span was sent: {error}"),
        _ => format!("only {before} spans were sent: {error}"),
    };
    let hint = "See that the collector runs and takes OTLP over HTTP there, then send them again: spans keep their ids.";
    EngineError::new(Kind::Unavailable, message).with_hint(hint).caused_by(error)
}

/// Returns the failure that a collector took only some spans.
pub(super) fn rejected(sent: &Sent) -> EngineError {
    let why = sent.why.as_deref().unwrap_or("it does not say why");
    EngineError::new(
        Kind::Unavailable,
        format!(
            "the collector took {} of {} spans: {why}",
            sent.spans.saturating_sub(sent.rejected),
            sent.spans
        ),
    )
    .with_hint("Its own log may say more.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(variables: &[(&str, &str)]) -> Result<Sender, EngineError> {
        from(&|name| {
            let found = variables.iter().find(|(it, _)| *it == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_collector_is_what_the_standard_variables_say() {
        let base = set(&[(ENDPOINT, "http://localhost:4318/")]).unwrap();
        assert_eq!(base.address, "http://localhost:4318/v1/traces");
        assert_eq!((base.encoding, base.headers), (Encoding::Protobuf, vec![]));
        let whole = set(&[
            (ENDPOINT, "http://localhost:4318"),
            (TRACES_ENDPOINT, "https://traces.example/in"),
            (HEADERS[1], "api-key=not this"),
            (HEADERS[0], "api-key=a%20b, x-tenant = c"),
            (PROTOCOLS[1], "http/json"),
        ])
        .unwrap();
        assert_eq!(whole.address, "https://traces.example/in");
        assert_eq!(whole.encoding, Encoding::Json);
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(whole.headers, [pair("api-key", "a b"), pair("x-tenant", "c")]);
        assert!(!format!("{whole:?}").contains("a b"), "a header is no one's to read");
    }

    #[test]
    fn what_is_wrong_in_the_environment_is_named_and_no_key_repeated() {
        let address = (ENDPOINT, "http://localhost");
        for (variables, name) in [
            (&[][..], ENDPOINT),
            (&[(ENDPOINT, "localhost:4318")], ENDPOINT),
            (&[(ENDPOINT, "http://")], ENDPOINT),
            (&[(TRACES_ENDPOINT, "http://me:secret@host/")], TRACES_ENDPOINT),
            (&[address, (PROTOCOLS[1], "grpc")], PROTOCOLS[1]),
            (&[address, (HEADERS[1], "secret")], HEADERS[1]),
            (&[address, (HEADERS[1], "a=secret%0d%0ax: y")], HEADERS[1]),
            (&[address, (HEADERS[1], "a b=secret")], HEADERS[1]),
        ] {
            let error = set(variables).unwrap_err();
            assert!(error.message.contains(name), "{error:?}");
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
    }
}
