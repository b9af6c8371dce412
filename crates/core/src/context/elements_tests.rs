//! Every element of the specification's examples, in both dialects.

use super::tests::{Nested, artifact, frame, shown, well_formed};
use super::*;
use crate::frame::Status;

/// Everything that a context can show at once: two ancestors of which one has no room, siblings of
/// which some are filtered out, plans, artifacts and decisions.
fn all() -> Nested {
    let mut nested = Nested::new();
    nested.current.artifacts = vec![artifact("src/api/cursor.rs")];
    nested.ancestors[0].results = Some("Routes for items are there; ".repeat(40));
    nested.ancestors[0].decisions.clear();
    nested.ancestors[0].artifacts = vec![artifact("src/api.rs")];
    nested.siblings[2].decisions = vec!["no PATCH".to_owned()];
    nested
}

fn everything(nested: &Nested, dialect: Dialect) -> RenderedContext {
    let budget = TokenBudget { ancestors: 85, ..TokenBudget::default() };
    let seen = nested.siblings.iter().map(|it| (it.num, format!("`make {}`: exit 0", it.num)));
    let seen = seen.collect();
    let input = nested.input();
    render(&ContextInput { new_session: true, budget, dialect, sibling_evidence: &seen, ..input })
}

#[test]
fn every_element_of_the_stack_context_at_once() {
    let mut nested = all();
    nested.ancestors[0].results = None;
    let out = everything(&nested, Dialect::Stack);
    let text = shown(&out, 4000);
    for element in [
        "<stack-context session=",
        "<stack-task-management>",
        "<philosophy>",
        "<initial-planning priority=\"HIGH\">",
        "<when-to-create-child-frames>",
        "<open-when-written>",
        "<title>",
        "<success-criteria>",
        "<status>in_progress</status>",
        "<position>Task 4 of 5</position>",
        "<sibling-status completed=\"2\" in-progress=\"1\" pending=\"1\"",
        "<next-action>",
        "<next-sibling title=\"API docs\" id=\"f7\" />",
        "<rules>",
        "<rule>",
        "<metadata>",
        "<budget total=\"4000\" ancestors=\"85\" siblings=\"1500\" current=\"800\" />",
        "<truncation ancestors-omitted=\"1\" siblings-omitted=\"1\" />",
        "<ancestors count=\"1\" omitted=\"1\">",
        "<frame id=\"f2\" status=\"in_progress\"",
        "<completed-siblings count=\"2\" omitted=\"1\">",
        "<results>",
        "<evidence>`make f4`: exit 0</evidence>",
        "<artifacts>src/api.rs</artifacts>",
        "<planned-children count=\"2\">",
        "<frame id=\"f8\" title=",
        "<open-when-written id=\"f6\" status=\"in_progress\">",
        "<artifacts>src/api/cursor.rs</artifacts>",
        "<decisions by=\"f4\" for=\"f2 and below\">no PATCH</decisions>",
        "<decisions by=\"f6\" for=\"f6 and below\">cursors are opaque</decisions>",
    ] {
        assert!(text.contains(element), "{element} is missing in\n{text}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn every_element_of_the_flame_context_at_once() {
    let out = everything(&all(), Dialect::Flame);
    let text = shown(&out, 4000);
    for element in [
        "<flame-context session=",
        "<metadata>",
        "<budget total=\"4000\" ancestors=\"85\" siblings=\"1500\" current=\"800\" />",
        "<truncation ancestors-omitted=\"1\" siblings-omitted=\"1\" />",
        "<ancestors count=\"1\" omitted=\"1\">",
        "<frame id=\"f2\" status=\"in_progress\"",
        "<goal>API routes: REST with pagination</goal>",
        "<summary truncated=\"true\">",
        "<summary>",
        "<artifacts>src/api.rs</artifacts>",
        "<completed-siblings count=\"2\" omitted=\"1\">",
        "<evidence>`make f4`: exit 0</evidence>",
        "<open-when-written id=\"f6\" status=\"in_progress\">",
        "<decisions by=\"f6\" for=\"f6 and below\">cursors are opaque</decisions>",
        "</flame-context>",
    ] {
        assert!(text.contains(element), "{element} is missing in\n{text}");
    }
    assert!(!text.contains("stack"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn both_dialects_choose_the_same_frames() {
    let nested = all();
    let [stack, flame] = [Dialect::Stack, Dialect::Flame].map(|dialect| {
        let out = render(&ContextInput { dialect, ..nested.input() });
        (out.metadata.ancestors, out.metadata.siblings, out.metadata.planned_children)
    });
    assert_eq!(stack, flame);
}

#[test]
fn what_became_of_a_sibling_stands_before_its_results_and_nobody_else_is_asked_for() {
    let mut nested = Nested::new();
    nested.siblings[0].results = None;
    let above = BTreeSet::from([nested.siblings[2].num]);
    for dialect in [Dialect::Stack, Dialect::Flame] {
        let input = ContextInput { visible_above: &above, dialect, ..nested.input() };
        let mut asked = Vec::new();
        let out = render_since(&input, &mut |sibling| {
            asked.push(sibling.num);
            format!("[gone since: {}.rs]", sibling.num)
        });
        asked.sort_unstable();
        assert_eq!(asked, out.metadata.siblings, "{}", out.text);
        assert!(asked.len() > 1, "{}", out.text);
        for num in asked {
            let gone = format!(">[gone since: {num}.rs]");
            assert!(out.text.contains(&gone), "{gone} is missing in\n{}", out.text);
        }
    }
}

#[test]
fn siblings_that_are_not_worth_showing_need_no_element() {
    let nested = Nested::new();
    let only = &nested.siblings[1..2];
    let input = ContextInput {
        siblings: only,
        sibling_counts: StatusCounts::of(only),
        parts: Parts::for_start(),
        ..nested.input()
    };
    let out = render(&input);
    assert!(!out.text.contains("completed-siblings"), "{}", out.text);
    assert_eq!(out.metadata.siblings_omitted, 1);
    let whole = render(&ContextInput { parts: Parts::full(), ..input });
    let truncation = "<truncation ancestors-omitted=\"0\" siblings-omitted=\"1\" />";
    assert!(whole.text.contains(truncation), "{}", whole.text);
}

#[test]
fn a_goal_is_said_once() {
    let goal = |title: &str, criteria: &str| {
        let frame = frame(1, None, Status::InProgress, title, criteria);
        let input = ContextInput::new("ses_1", &frame, 0);
        let text = render(&ContextInput { dialect: Dialect::Flame, ..input }).text;
        well_formed(&text);
        let from = text.split("<goal>").nth(1).unwrap_or_default();
        from.split("</goal>").next().unwrap_or_default().to_owned()
    };
    assert_eq!(goal("Build the…", "Build the parser"), "Build the parser");
    assert_eq!(goal("Parser", "All tests pass"), "Parser: All tests pass");
    assert_eq!(goal("Parser", " "), "Parser");
}

#[test]
fn secrets_are_masked_in_every_element() {
    let token = ["gh", "p_", &"a1B2c3".repeat(6)].concat();
    let mut nested = all();
    let Nested { current, ancestors, siblings, .. } = &mut nested;
    for frame in std::iter::once(current).chain(ancestors).chain(siblings) {
        frame.identity.title = format!("Use {token}");
        frame.identity.success_criteria = format!("{token} works");
        frame.identity.success_criteria_compacted.clear();
        frame.results = frame.results.is_some().then(|| format!("It is \"{token}\""));
        frame.decisions = vec![format!("keep {token}")];
    }
    for dialect in [Dialect::Stack, Dialect::Flame] {
        let out = everything(&nested, dialect);
        let text = shown(&out, 4000);
        assert!(text.contains("‹masked: GitHub token›") && !text.contains(&token), "{text}");
    }
}
