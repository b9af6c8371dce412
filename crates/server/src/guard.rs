//! Decides which requests are admitted, and limits their time.

use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::app::App;
use crate::connections::Proof;
use crate::page;
use crate::problem::Problem;

/// Headers of every response. Nothing may put the page into a frame, store an answer or guess another type for it.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Admits a request that comes from this computer's owner.
pub(crate) async fn let_in(State(app): State<App>, request: Request, next: Next) -> Response {
    let mut response = match check(&app, &request) {
        Err(problem) => problem.into_response(),
        Ok(()) => match tokio::time::timeout(app.limits.request, next.run(request)).await {
            Ok(response) => response,
            Err(_) => Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "the request took too long; what it asked for may still happen",
            )
            .hint("Ask again with the same `Idempotency-Key`.")
            .into_response(),
        },
    };
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

fn check(app: &App, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    let host = host(app, request)?;
    // A browser may come to the page by a link, and has no token before it runs the page's script.
    if page::is_asked_for(request.method(), request.uri()) {
        return Ok(());
    }
    check_origin(headers, host)?;
    let sent = single(headers, &AUTHORIZATION).and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token)
    });
    if !sent.is_some_and(|sent| app.token.is(sent)) {
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "the token is missing or not right")
            .hint("`callstack serve` prints the address with the token."));
    }
    match request.extensions().get::<Proof>() {
        Some(proof) if !proof.accept() => Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "there are too many connections already",
        )
        .hint("Close one of them, and try again.")),
        _ => Ok(()),
    }
}

/// Returns the host that a request names. It has to be this server, and not a foreign name that was made to lead here
/// (DNS rebinding).
fn host<'r>(app: &App, request: &'r Request) -> Result<&'r str, Problem> {
    let named = single(request.headers(), &HOST);
    let target = request.uri().authority().map(axum::http::uri::Authority::as_str);
    match named.filter(|named| target.is_none_or(|target| target == *named)) {
        Some(named) if is_own(named, app.port) => Ok(named),
        _ => Err(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            format!("this server is 127.0.0.1:{0} and localhost:{0} only", app.port),
        )),
    }
}

fn is_own(host: &str, port: u16) -> bool {
    let (name, at) = match host.rsplit_once(':') {
        Some((name, at)) => (name, at.parse().ok()),
        None => (host, Some(80)),
    };
    at == Some(port) && (name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost"))
}

/// Refuses a request that a page of another origin makes.
fn check_origin(headers: &HeaderMap, host: &str) -> Result<(), Problem> {
    let foreign = || Problem::new(StatusCode::FORBIDDEN, "pages of other origins have no access");
    if headers.contains_key(ORIGIN)
        && single(headers, &ORIGIN).and_then(|origin| origin.strip_prefix("http://")) != Some(host)
    {
        return Err(foreign());
    }
    let site = HeaderName::from_static("sec-fetch-site");
    if headers.contains_key(&site)
        && !matches!(single(headers, &site), Some("same-origin" | "none"))
    {
        return Err(foreign());
    }
    Ok(())
}

/// Returns the value of a header that a request may have only once.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}
