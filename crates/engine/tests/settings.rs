//! Settings from variables.

use std::collections::BTreeMap;

use callstack_engine::{EngineError, Kind, SETTINGS, Setting, Settings, Values};

use crate::support::Project;

/// A value that is not the default, and one that is wrong.
fn tried(setting: &Setting) -> (String, &'static str) {
    match setting.values {
        Values::OneOf(words) => {
            let other = words.iter().find(|word| **word != setting.default);
            (other.expect(setting.name).to_string(), "neither")
        }
        Values::Switch if setting.default == "on" => ("off".to_owned(), "perhaps"),
        Values::Switch => ("on".to_owned(), "perhaps"),
        Values::Number { .. } => {
            let default: u64 = setting.default.parse().expect(setting.name);
            ((default + 1).to_string(), "-1")
        }
        Values::List => ("something else".to_owned(), " , "),
        Values::Word => ("other".to_owned(), "two words"),
        Values::Address => ("http://127.0.0.1:9/v1".to_owned(), "ftp://127.0.0.1"),
        Values::Variable => ("OTHER_KEY".to_owned(), "sk-no-name-of-a-variable"),
    }
}

fn with(name: &str, value: &str) -> Result<Settings, EngineError> {
    Settings::from_vars(|asked| (asked == name).then(|| value.to_owned()))
}

fn shown(settings: &Settings) -> String {
    format!("{settings:?}")
}

#[test]
fn every_variable_changes_something_of_its_own() {
    let plain = shown(&Settings::from_vars(|_| None).unwrap());
    assert_eq!(plain, shown(&Settings::default()), "the table's defaults are not the code's");
    let mut seen = vec![plain];
    for setting in Setting::all() {
        let (value, _) = tried(setting);
        let changed = shown(&with(setting.name, &value).unwrap());
        let name = setting.name;
        assert!(!seen.contains(&changed), "{name}={value} changes nothing of its own: {changed}");
        seen.push(changed);
    }
}

#[test]
fn a_value_that_is_not_understood_names_its_variable_and_what_it_may_be() {
    for setting in Setting::all() {
        let (_, value) = tried(setting);
        if value.trim().is_empty() {
            continue;
        }
        let error = with(setting.name, value).expect_err(setting.name);
        assert_eq!(error.kind, Kind::Invalid, "{}", setting.name);
        // Somebody may have put the key there.
        let is_named = error.message.contains(value) || setting.values == Values::Variable;
        assert!(error.message.contains(setting.name) && is_named, "{error}");
        assert!(
            error.hint.is_some_and(|hint| hint.to_string().contains(&setting.values.in_words()))
        );
    }
}

#[test]
fn numbers_have_bounds_and_nothing_else_is_one() {
    for value in ["0", "-1", "4k", "1.5", "1e3", "1000001", "99999999999999999999"] {
        let error = with("STACK_TOKEN_BUDGET_SIBLINGS", value).expect_err(value);
        assert_eq!(error.message, format!("STACK_TOKEN_BUDGET_SIBLINGS is `{value}`"));
        assert_eq!(
            error.hint.as_ref().map(ToString::to_string).as_deref(),
            Some("It may be a whole number from 1 to 1000000.")
        );
    }
    assert_eq!(with("STACK_LIMIT_DEPTH", " 7 ").unwrap().limits.depth, 7);
}

#[test]
fn switches_take_the_usual_words() {
    for (value, on) in [("on", true), ("OFF", false), ("true", true), ("0", false), ("no", false)] {
        assert_eq!(with("STACK_FRAME_MODE", value).unwrap().frame_mode, on, "{value}");
    }
}

#[test]
fn an_empty_variable_is_none() {
    for setting in Setting::all() {
        let name = setting.name;
        let settings = with(name, " ").unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(shown(&settings), shown(&Settings::default()), "{name}");
        assert_eq!(settings.given(name), None);
    }
}

/// A variable that is not in the table would not be read at all.
#[test]
fn the_table_is_sound() {
    let mut names: Vec<_> = Setting::all().map(|setting| setting.name).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "a name stands there twice");
    for (group, settings) in SETTINGS {
        assert!(!group.is_empty() && !settings.is_empty());
        for setting in *settings {
            assert!(setting.name.starts_with("STACK_"), "{}", setting.name);
            assert!(setting.doc.ends_with('.'), "{}", setting.name);
            let explained: Vec<_> = setting.meanings.iter().map(|(of, _)| *of).collect();
            match setting.values {
                Values::OneOf(words) => assert_eq!(explained, words, "{}", setting.name),
                Values::Switch => assert_eq!(explained, ["on", "off"], "{}", setting.name),
                Values::Number { .. } => assert!(setting.unit.is_some(), "{}", setting.name),
                _ => {}
            }
            assert_eq!(setting.read(setting.default).expect(setting.name), setting.default);
        }
    }
}

#[test]
fn what_is_stored_lies_over_the_users_configuration() {
    let user = BTreeMap::from([("STACK_LIMIT_DEPTH", "7".to_owned())]);
    let given = Settings::from_sources(&|_: &str| None, &user).unwrap();
    let stored = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
    let laid = |stored| given.overlaid(&stored).unwrap().limits;
    assert_eq!(laid(stored("STACK_LIMIT_DEPTH", "3")).depth, 3);
    assert_eq!(laid(stored("STACK_LIMIT_CHILDREN", "9")).depth, 7);
    assert_eq!(laid(stored("STACK_LIMIT_CHILDREN", "9")).children, 9);
    // A newer version may have stored a value that this one does not know.
    assert_eq!(laid(stored("STACK_LIMIT_DEPTH", "as needed")).depth, 7);
    assert_eq!(laid(stored("STACK_OF_TOMORROW", "1")).depth, 7);
}

#[test]
fn the_environment_lies_over_what_is_stored() {
    for setting in Setting::all() {
        let (value, _) = tried(setting);
        let stored = BTreeMap::from([(setting.name.to_owned(), value.clone())]);
        let given = with(setting.name, setting.default).unwrap();
        let laid = given.overlaid(&stored).unwrap();
        assert_eq!(shown(&laid), shown(&given), "{}={value} in the store", setting.name);
        if setting.counts_in_project(&value) {
            let without = Settings::default().overlaid(&stored).unwrap();
            assert_ne!(shown(&without), shown(&laid), "{}={value} alone", setting.name);
        }
    }
}

#[test]
fn the_hosts_configuration_counts_where_nobody_else_says_anything() {
    let mode = Setting::find("STACK_FRAME_MODE").unwrap();
    let off = |settings: Settings| settings.with_host_value(mode, "off").unwrap();
    assert!(!off(Settings::default()).frame_mode);
    assert!(off(with(mode.name, "on").unwrap()).frame_mode);
    let stored = BTreeMap::from([(mode.name.to_owned(), "on".to_owned())]);
    assert!(off(Settings::default()).overlaid(&stored).unwrap().frame_mode);
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
    let plain = shown(&in_flame(&[]).unwrap());
    let mut read = Vec::new();
    for setting in Setting::all().filter(|setting| setting.name != "STACK_TOOLS") {
        let name = setting.name;
        let (value, wrong) = tried(setting);
        let flame = name.replace("STACK_", "FLAME_");
        let changed = shown(&in_flame(&[(&flame, &value)]).unwrap());
        assert_ne!(changed, plain, "{flame}={value} changes nothing");
        assert_eq!(changed, shown(&in_flame(&[(name, &value)]).unwrap()), "{flame} is not {name}");
        let both = in_flame(&[(&flame, wrong), (name, &value)]).unwrap();
        assert_eq!(shown(&both), changed, "{name} must win");
        let both = in_flame(&[(&flame, &value), (name, "")]).unwrap();
        assert_eq!(shown(&both), changed, "an empty {name} is none");
        if let Err(error) = in_flame(&[(name, wrong)]) {
            assert!(error.message.contains(name), "{error}");
            let error = in_flame(&[(&flame, wrong)]).expect_err(&flame);
            assert!(error.message.contains(&flame) && !error.message.contains(name), "{error}");
        }
        assert_eq!(shown(&with(&flame, &value).unwrap()), shown(&Settings::default()), "{flame}");
        read.push(flame);
    }
    let missing: Vec<_> = FLAME.iter().filter(|name| !read.iter().any(|it| it == *name)).collect();
    assert!(missing.is_empty(), "{missing:?} are not read");
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
