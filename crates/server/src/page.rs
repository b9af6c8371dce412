//! The page that shows the tree. Its files hold nothing of the project, so they are served to everybody.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, Method, Uri};
use callstack_page::{FILES, File};

fn at(uri: &Uri) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == uri.path())
}

/// Returns whether a request asks for a file of the page.
pub(crate) fn is_asked_for(method: &Method, uri: &Uri) -> bool {
    method == Method::GET && at(uri).is_some()
}

/// Returns the file at a path; an empty one where there is none.
pub(crate) async fn file(uri: Uri) -> ([(HeaderName, &'static str); 1], &'static [u8]) {
    let (media_type, bytes) =
        at(&uri).map(|file| (file.media_type, file.bytes)).unwrap_or_default();
    ([(CONTENT_TYPE, media_type)], bytes)
}

/// The paths of the page's files.
pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|file| file.path)
}
