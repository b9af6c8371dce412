//! The callers that an operation is for, and the arguments that are for a terminal alone.

use callstack_engine::effect::EffectOutcome;
use callstack_engine::operation::{Caller, PAGE, TERMINAL};
use callstack_engine::{Kind, operations};
use serde_json::json;

use crate::operations::{project, right_for};
use crate::support::caller;

#[test]
fn a_call_is_continued_only_by_those_that_the_operation_is_for() {
    let project = project();
    let mut refused = 0;
    for operation in operations::TABLE {
        for host in ["test", TERMINAL, PAGE] {
            let caller = Caller { host: host.to_owned(), ..caller("ses_a") };
            if operation.is_for(caller.kind()) || operation.on_request {
                continue;
            }
            let outcome = EffectOutcome::Ok(json!({}));
            let error = operation.resume(&project.engine, &caller, json!({}), outcome).unwrap_err();
            let expected = format!("`{}` is not for ", operation.name);
            assert!(error.message.starts_with(&expected), "{}", error.message);
            assert_eq!(error.kind, Kind::NotFound);
            refused += 1;
        }
    }
    assert!(refused > 0);
}

#[test]
fn arguments_for_a_terminal_are_listed_to_nobody_else_and_refused_from_them() {
    let mut tried = Vec::new();
    for operation in operations::TABLE {
        let all = (operation.at_terminal)();
        let lists = [(operation.parameters)(), (operation.brief)()];
        for name in operation.terminal_arguments {
            assert!(all["properties"].get(name).is_some(), "{}: no {name}", operation.name);
            assert!(lists.iter().all(|it| it["properties"].get(name).is_none()));
            for host in ["test", PAGE] {
                let project = project();
                let stranger = Caller { host: host.to_owned(), ..caller("ses_a") };
                let mut arguments = right_for(operation);
                arguments[*name] = json!(true);
                let refused = operation.run(&project.engine, &stranger, arguments).unwrap_err();
                let expected = format!("`{name}` of `{}` is for a terminal alone", operation.name);
                assert_eq!((refused.kind, refused.message), (Kind::Invalid, expected));
            }
            tried.push(*name);
        }
    }
    assert_eq!(
        tried,
        [
            "own", "figures", "frame", "session", "near", "whole", "form", "session", "thorough",
            "raw"
        ]
    );
}
