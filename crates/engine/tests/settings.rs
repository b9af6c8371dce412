//! Settings from variables.

use callstack_engine::{EngineError, Kind, Settings};

use crate::support::Project;

/// Every variable with a value that is not its default, and one that is wrong; empty where none is.
const VARIABLES: [(&str, &str, &str); 15] = [
    ("STACK_TOOLS", "full", "some"),
    ("STACK_CONTEXT_PLACEMENT", "system", "below"),
    ("STACK_FOLD_REASONING", "wait", "never"),
    ("STACK_TOKEN_BUDGET_TOTAL", "5000", "much"),
    ("STACK_TOKEN_BUDGET_ANCESTORS", "1234", "-5"),
    ("STACK_TOKEN_BUDGET_SIBLINGS", "1234", "1.5"),
    ("STACK_TOKEN_BUDGET_CURRENT", "321", "1e3"),
    ("STACK_LIMIT_DEPTH", "7", "deep"),
    ("STACK_LIMIT_CHILDREN", "7", "-1"),
    ("STACK_LIMIT_LIVE_FRAMES", "7", "99999999999999999999999"),
    ("STACK_AUTONOMY_LEVEL", "auto", "full"),
    ("STACK_PUSH_THRESHOLD", "55", "101"),
    ("STACK_POP_THRESHOLD", "55", "75%"),
    ("STACK_SUGGEST_IN_CONTEXT", "off", "perhaps"),
    ("STACK_ENABLED_HEURISTICS", "stagnation, duration", ""),
];

fn with(name: &str, value: &str) -> Result<Settings, EngineError> {
    Settings::from_vars(|asked| (asked == name).then(|| value.to_owned()))
}

fn shown(settings: &Settings) -> String {
    format!("{settings:?}")
}

#[test]
fn every_variable_changes_something_of_its_own() {
    let plain = shown(&Settings::from_vars(|_| None).unwrap());
    assert_eq!(plain, shown(&Settings::default()));
    let mut seen = vec![plain];
    for (name, value, _) in VARIABLES {
        let changed = shown(&with(name, value).unwrap());
        assert!(!seen.contains(&changed), "{name}={value} changes nothing of its own: {changed}");
        seen.push(changed);
    }
}

#[test]
fn a_value_that_is_not_understood_names_its_variable_and_what_it_may_be() {
    for (name, _, value) in VARIABLES.into_iter().filter(|(.., value)| !value.is_empty()) {
        let error = with(name, value).expect_err(name);
        assert_eq!(error.kind, Kind::Invalid, "{name}");
        assert!(error.message.contains(name) && error.message.contains(value), "{name}: {error}");
        assert!(error.hint.is_some_and(|hint| !hint.is_empty()), "{name}");
    }
}

#[test]
fn an_empty_variable_is_none() {
    for (name, ..) in VARIABLES {
        let settings = with(name, "").unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(shown(&settings), shown(&Settings::default()), "{name}");
    }
}

/// The variables that the specification's first generation names.
const FLAME: [&str; 9] = [
    "FLAME_TOKEN_BUDGET_TOTAL",
    "FLAME_TOKEN_BUDGET_ANCESTORS",
    "FLAME_TOKEN_BUDGET_SIBLINGS",
    "FLAME_TOKEN_BUDGET_CURRENT",
    "FLAME_AUTONOMY_LEVEL",
    "FLAME_PUSH_THRESHOLD",
    "FLAME_POP_THRESHOLD",
    "FLAME_SUGGEST_IN_CONTEXT",
    "FLAME_ENABLED_HEURISTICS",
];

/// The settings in profile flame with these variables besides.
fn in_flame(vars: &[(&str, &str)]) -> Result<Settings, EngineError> {
    Settings::from_vars(|asked| {
        let vars = [("STACK_TOOLS", "flame")].into_iter().chain(vars.iter().copied());
        vars.into_iter().find(|(name, _)| *name == asked).map(|(_, value)| value.to_owned())
    })
}

#[test]
fn in_profile_flame_every_variable_has_its_other_name() {
    let asked = std::cell::RefCell::new(Vec::new());
    let plain = shown(&in_flame(&[]).unwrap());
    for (name, value, wrong) in VARIABLES.iter().skip(1) {
        let flame = name.replace("STACK_", "FLAME_");
        let changed = shown(&in_flame(&[(&flame, value)]).unwrap());
        assert_ne!(changed, plain, "{flame}={value} changes nothing");
        assert_eq!(changed, shown(&in_flame(&[(name, value)]).unwrap()), "{flame} is not {name}");
        let both = in_flame(&[(&flame, wrong), (name, value)]).unwrap();
        assert_eq!(shown(&both), changed, "{name} must win");
        let both = in_flame(&[(&flame, value), (name, "")]).unwrap();
        assert_eq!(shown(&both), changed, "an empty {name} is none");
        if let Err(error) = in_flame(&[(name, wrong)]) {
            assert!(error.message.contains(name), "{error}");
            let error = in_flame(&[(&flame, wrong)]).expect_err(&flame);
            assert!(error.message.contains(&flame) && !error.message.contains(name), "{error}");
        }
        assert_eq!(shown(&with(&flame, value).unwrap()), shown(&Settings::default()), "{flame}");
        asked.borrow_mut().push(flame);
    }
    let asked = asked.into_inner();
    let missing: Vec<_> = FLAME.iter().filter(|name| !asked.iter().any(|it| it == *name)).collect();
    assert!(missing.is_empty(), "{missing:?} are not read");
}

/// A variable that is read and does not stand above would go untested.
#[test]
fn no_variable_is_read_that_is_not_tried_here() {
    let asked = std::cell::RefCell::new(Vec::new());
    Settings::from_vars(|name| {
        asked.borrow_mut().push(name.to_owned());
        None
    })
    .unwrap();
    for name in asked.into_inner() {
        assert!(VARIABLES.iter().any(|(known, ..)| *known == name), "{name} is not tried");
    }
}

#[test]
fn an_unknown_heuristic_is_named_and_skipped() {
    use callstack_core::autonomy::Heuristic::{self, Duration, Stagnation};
    let read = |names: &str| {
        let settings = with("STACK_ENABLED_HEURISTICS", names).unwrap().autonomy;
        (settings.heuristics, settings.unknown_heuristics.join(" "))
    };
    assert_eq!(
        read("stagnation, moods,, DURATION ,stagnation, luck"),
        (vec![Duration, Stagnation], "moods luck".to_owned())
    );
    assert_eq!(read("all"), (Heuristic::ALL.to_vec(), String::new()));
    assert_eq!(read("none"), (vec![], String::new()));
}

#[test]
fn what_is_set_in_a_store_stays_until_it_is_reset() {
    let project = Project::new();
    project.engine.set_setting("STACK_X", Some("1")).unwrap();
    project.engine.set_setting("STACK_X", Some("2")).unwrap();
    project.engine.set_setting("STACK_Y", Some("")).unwrap();
    let stored = || project.engine.stored_settings().unwrap();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(stored(), [pair("STACK_X", "2"), pair("STACK_Y", "")].into());
    project.engine.set_setting("STACK_X", None).unwrap();
    assert_eq!(stored(), [pair("STACK_Y", "")].into());
    project.engine.rebuild().unwrap();
    assert_eq!(stored(), [pair("STACK_Y", "")].into());
}
