//! The data that is shown, from the answers of operations. The view holds no rules: it asks, and draws the answers.

pub(crate) mod answers;
pub(crate) mod feed;
pub(crate) mod loads;
pub(crate) mod messages;
pub(crate) mod rows;
pub(crate) mod worker;
