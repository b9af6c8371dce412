//! Values in the outputs of Terraform, which tells beside them that they are secret.

use super::form::{Form, field, gap};

pub(super) const SENSITIVE: Form = field(
    "secret",
    &["\"sensitive"],
    concat!(
        r#"\\*"sensitive\\*":"#,
        gap!(),
        "true,",
        gap!(),
        r#"\\*"type\\*":"#,
        gap!(),
        r#"\\*"string\\*","#,
        gap!(),
        r#"\\*"value\\*":"#,
        gap!(),
        r#"\\*"(?P<s>[^"\\\n]{6,})"#,
    ),
);

pub(super) const SENSITIVE_LAST: Form = field(
    "secret",
    &["\"sensitive"],
    concat!(
        r#"\\*"value\\*":"#,
        gap!(),
        r#"\\*"(?P<s>[^"\\\n]{6,})\\*","#,
        gap!(),
        r#"\\*"type\\*":"#,
        gap!(),
        r#"\\*"string\\*","#,
        gap!(),
        r#"\\*"sensitive\\*":"#,
        gap!(),
        "true",
    ),
);

pub(super) const SPECIAL: Form = field(
    "secret",
    &["\"special"],
    concat!(
        r#"\\*"result\\*":"#,
        gap!(),
        r#"\\*"(?P<s>[^"\n]{6,}?)\\*","#,
        gap!(),
        r#"\\*"special\\*":"#,
        gap!(),
        "(?:true|false)",
    ),
);
