//! The page that shows the tree. Its files hold nothing of the project, so they are served to everybody.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, Method, Uri};

/// A file of the page: its path, its type and its text.
type File = (&'static str, &'static str, &'static str);

const FILES: [File; 3] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("page/page.js")),
];

/// Returns whether a request asks for a file of the page.
pub(crate) fn is_asked_for(method: &Method, uri: &Uri) -> bool {
    method == Method::GET && FILES.iter().any(|(path, ..)| *path == uri.path())
}

/// Returns the file at a path; an empty one where there is none.
pub(crate) async fn file(uri: Uri) -> ([(HeaderName, &'static str); 1], &'static str) {
    let found = FILES.iter().find(|(path, ..)| *path == uri.path());
    let (_, media_type, text) = found.copied().unwrap_or_default();
    ([(CONTENT_TYPE, media_type)], text)
}

/// The paths of the page's files.
pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(path, ..)| *path)
}
