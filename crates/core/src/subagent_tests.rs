use proptest::prelude::*;

use super::*;

fn session(title: &str) -> SubagentSession {
    SubagentSession {
        session: "ses_child".to_owned(),
        parent: "ses_parent".to_owned(),
        title: title.to_owned(),
        created_at: 1_000,
        last_activity_at: 1_000,
        is_subagent: SubagentSettings::default().matches(title),
        has_frame: false,
        message_count: 0,
        is_idle: false,
        is_completed: false,
        idle_since: None,
        completes_at: None,
        completed_by: None,
        caller: None,
        frame: None,
        trouble: None,
    }
}

fn with_patterns(patterns: &[&str]) -> SubagentSettings {
    let patterns = patterns.iter().map(|it| (*it).to_owned()).collect();
    SubagentSettings { patterns, ..SubagentSettings::default() }
}

#[test]
fn the_default_patterns_know_subagents() {
    let settings = SubagentSettings::default();
    for title in ["look (@general subagent)", "A Subagent", "[Task] look", "[TASK] look"] {
        assert!(settings.matches(title), "{title}");
    }
    for title in ["look", "Task: look", "@general", "agent"] {
        assert!(!settings.matches(title), "{title}");
    }
    assert_eq!(settings.skipped(), []);
}

#[test]
fn a_pattern_that_is_none_is_skipped_and_the_others_count() {
    let settings = with_patterns(&["(", "^job ", "a{99999999}"]);
    assert!(settings.matches("job 7"));
    assert!(!settings.matches("a job"));
    let skipped: Vec<_> = settings.skipped().into_iter().map(|it| (it.pattern, it.why)).collect();
    assert_eq!(skipped[0], ("(".to_owned(), "unclosed group".to_owned()));
    assert_eq!(skipped[1].0, "a{99999999}");
    assert_eq!(skipped.len(), 2);
}

#[test]
fn a_session_deserves_a_frame_by_title_by_length_or_by_messages() {
    let settings = SubagentSettings::default();
    let plain = session("look");
    assert!(settings.deserves_frame(&session("[Task] look"), 0, 1_000));
    assert!(!settings.deserves_frame(&plain, 2, 60_999));
    assert!(settings.deserves_frame(&plain, 2, 61_000));
    assert!(settings.deserves_frame(&plain, 3, 1_000));
    let off = SubagentSettings { enabled: false, ..settings };
    assert!(!off.deserves_frame(&session("[Task] look"), 9, 99_000));
}

#[test]
fn silence_ends_frames_after_the_delay() {
    let settings = SubagentSettings::default();
    let framed = SubagentSession { has_frame: true, ..session("look") };
    assert_eq!(settings.at_idle(&session("look"), false, 2_000), AtIdle::Nothing);
    assert_eq!(settings.at_idle(&framed, false, 2_000), AtIdle::CompleteAt(7_000));
    let completed = SubagentSession { is_completed: true, ..framed.clone() };
    assert_eq!(settings.at_idle(&completed, false, 2_000), AtIdle::Nothing);
    let at_once = SubagentSettings { idle_delay: 0, ..settings.clone() };
    assert_eq!(at_once.at_idle(&framed, false, 2_000), AtIdle::Complete);
    assert_eq!(at_once.at_idle(&framed, true, 2_000), AtIdle::CompleteAt(7_000));
    let by_hand = SubagentSettings { auto_complete: false, ..settings.clone() };
    assert_eq!(by_hand.at_idle(&framed, false, 2_000), AtIdle::Stays);
    let off = SubagentSettings { enabled: false, ..settings };
    assert_eq!(off.at_idle(&framed, false, 2_000), AtIdle::Nothing);
}

#[test]
fn a_frame_is_called_as_its_session_without_the_agents_name() {
    for (title, frame) in [
        ("look (@general subagent)", "look"),
        ("look (twice) (@explore subagent)", "look (twice)"),
        ("look (twice)", "look (twice)"),
        ("(@general subagent)", "(@general subagent)"),
        ("  look ", "look"),
        ("é)", "é)"),
    ] {
        assert_eq!(frame_title(title), frame);
    }
}

#[test]
fn every_session_is_counted_once_for_what_it_is() {
    let mut stats = SubagentStats::default();
    stats.add(&session("look"));
    stats.add(&SubagentSession { is_idle: true, ..session("look") });
    stats.add(&SubagentSession {
        has_frame: true,
        is_idle: true,
        is_completed: true,
        completed_by: Some(Completion::Auto),
        ..session("[Task] look")
    });
    assert_eq!(
        stats,
        SubagentStats {
            tracked: 3,
            detected: 1,
            with_frames: 1,
            skipped: 1,
            active: 1,
            idle: 1,
            completed: 1,
            auto_completed: 1,
            ..SubagentStats::default()
        }
    );
    assert_eq!(SubagentStats::percent(1, 3), Some(33));
    assert_eq!(SubagentStats::percent(2, 3), Some(67));
    assert_eq!(SubagentStats::percent(0, 0), None);
}

proptest! {
    /// Whoever deserves a frame still does when it has gone on for longer or has said more.
    #[test]
    fn nothing_that_deserves_a_frame_loses_it_by_going_on(
        min_duration in 0_u64..100, min_messages in 0_u64..6,
        age in 0_i64..100, messages in 0_u64..6, longer in 0_i64..100, more in 0_u64..6,
    ) {
        let settings =
            SubagentSettings { min_duration, min_messages, ..SubagentSettings::default() };
        let session = session("look");
        let at = |age: i64| session.created_at + age;
        prop_assert!(
            !settings.deserves_frame(&session, messages, at(age))
                || settings.deserves_frame(&session, messages + more, at(age + longer))
        );
    }

    /// A title or a pattern of any kind is never a failure, and what is skipped matches nothing.
    #[test]
    fn titles_and_patterns_may_be_anything(pattern in ".{0,12}", title in ".{0,24}") {
        let settings = with_patterns(&[&pattern]);
        let matches = settings.matches(&title);
        prop_assert!(!matches || settings.skipped().is_empty());
        prop_assert!(!frame_title(&title).is_empty() || title.trim().is_empty());
    }

    /// A deadline is never before the delay has passed.
    #[test]
    fn a_deadline_keeps_its_distance(delay in any::<u64>(), now in 0_i64..1 << 50, awaited: bool) {
        let settings = SubagentSettings { idle_delay: delay, ..SubagentSettings::default() };
        let framed = SubagentSession { has_frame: true, ..session("look") };
        match settings.at_idle(&framed, awaited, now) {
            AtIdle::Complete => prop_assert_eq!(delay, 0),
            AtIdle::CompleteAt(until) => {
                prop_assert!(until - now >= i64::try_from(delay).unwrap_or(i64::MAX).min(i64::MAX - now));
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
