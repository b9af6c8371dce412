//! Reads lines of the protocol between the plugin and callstack.

use std::path::Path;

use callstack_hosts::opencode::{activities, read_requests};

use crate::is_one_in;
use crate::session::answered;

/// Takes the input as lines of the protocol: each is read with its parameters and the messages in it, and these once
/// more as they are stored. One input in 500 is answered, too, as all inputs of the target `session` are.
pub fn protocol(data: &[u8]) {
    let project = Path::new("/project");
    let requests = read_requests(data, project).expect("nothing is read from a pipe");
    for message in requests.iter().flatten().flatten() {
        let found = activities(&message.json, project);
        assert_eq!(found, activities(&message.json, project));
    }
    if is_one_in(500, data) {
        answered(data);
    }
}
