//! Opening a database as a file that nobody changes.

use std::fmt::Write as _;
use std::path::Path;

/// Returns the URI by which a database is opened as a file that nobody changes, without its log.
pub(crate) fn unchanging(path: &Path) -> String {
    format!("file:{}?immutable=1", uri_path(path))
}

/// A path as it stands in a URI, where it has to be ASCII and `?` and `#` mean something else.
fn uri_path(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    path.as_os_str().as_encoded_bytes().iter().fold(String::new(), |mut uri, byte| {
        if plain(*byte) {
            uri.push(char::from(*byte));
        } else {
            // Writing to a string can't fail.
            let _ = write!(uri, "%{byte:02x}");
        }
        uri
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use rusqlite::{Connection, OpenFlags};

    use super::*;

    #[test]
    fn each_byte_of_a_path_stands_in_its_uri() {
        let uri = |path| uri_path(Path::new(OsStr::from_bytes(path)));
        assert_eq!(uri(b"/home/a-b_c.d~/x"), "/home/a-b_c.d~/x");
        assert_eq!(uri(b"/a b/\xc3\xa9\xff?#%"), "/a%20b/%c3%a9%ff%3f%23%25");
    }

    #[test]
    fn a_store_is_opened_by_such_a_uri() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(OsStr::from_bytes(b"a?b#c%41"));
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (n)").unwrap();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(unchanging(&path), flags).unwrap();
        connection.query_row("SELECT count(*) FROM t", [], |_| Ok(())).unwrap();
    }
}
