use super::*;

/// A text, the real count of o200k (tiktoken), and the percentage by which the estimate may be off: single short
/// texts scatter more than the long ones that the estimate was measured on.
const COUNTED: &[(&str, &str, usize, usize)] = &[
    (
        "code",
        r"pub(crate) fn whole_words<'a>(text: &'a str, prefix: &'a str) -> &'a str {
    let in_word = |char: char| !char.is_whitespace();
    let goes_on = text.get(prefix.len()..).is_some_and(|rest| rest.starts_with(in_word));
    if !goes_on || !prefix.ends_with(in_word) {
        return prefix.trim_end();
    }
    match prefix.rfind(char::is_whitespace) {
        Some(at) if at * 3 >= prefix.len() * 2 => prefix.get(..at).unwrap_or(prefix).trim_end(),
        _ => prefix.trim_end(),
    }
}
",
        140,
        8,
    ),
    (
        "json",
        r#"{"name":"callstack","version":"0.1.0","frames":[{"id":"f12","status":"in_progress","title":"Fix tokenizer","artifacts":["src/text/tokens.rs","docs/performance.md"],"createdAt":1763712000000,"parent":null},{"id":"f13","status":"completed","results":"12 tests pass; see crates/core/src/text.rs:42"}],"updatedAt":1763712345678}
"#,
        94,
        8,
    ),
    (
        "prose",
        r"Engineers think of work as a call stack: push a subtask, complete it, pop back to the parent. Linear transcripts don't reflect this natural structure of problem-solving. When working on Task B, the full history of sibling Task A is unnecessarily included, and a long debugging session wastes tokens after you've moved on. Every debugging tangent, exploration, and dead end remains in context even after the relevant work is complete.
",
        84,
        8,
    ),
    (
        "chinese",
        r"工程师把工作看成调用栈：压入一个子任务，完成它，然后返回上一层。线性的对话记录不能反映这种解决问题的自然结构。每一次调试、探索和走进的死胡同都会留在上下文里，即使相关的工作已经完成。
",
        65,
        15,
    ),
    (
        "japanese",
        r"エンジニアは作業をコールスタックとして考えます。サブタスクを積み、完了したら親に戻ります。線形の記録はこの自然な構造を反映していません。
",
        53,
        15,
    ),
    (
        "korean",
        r"엔지니어는 작업을 호출 스택으로 생각합니다. 하위 작업을 넣고, 완료하고, 부모로 돌아갑니다. 선형 기록은 이러한 자연스러운 구조를 반영하지 않습니다.
",
        45,
        15,
    ),
    (
        "russian",
        r"Инженеры думают о работе как о стеке вызовов: положить подзадачу, закончить её и вернуться к родителю. Линейная запись не отражает эту естественную структуру решения задач.
",
        48,
        15,
    ),
    (
        "german",
        r"Ingenieure denken sich Arbeit als Aufrufstapel: eine Teilaufgabe auflegen, fertigstellen und zur übergeordneten zurückkehren. Lineare Mitschriften spiegeln diese natürliche Gliederung nicht wider.
",
        45,
        25,
    ),
    (
        "base64",
        r"bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB1L9RIvNEVUxTveLruM0rfj0WAK1jHDhaXXzOI8d4VFmtvBtMkA/+SNV1tdpcY4BAEl9l2w/j4kSUt26phkV9mGCE/tCLl4r019GWp0RqhrWACeY2thHbFiEbZamq3/KcXlLZxQjFAjRzRNjAetkcvWBor8df9ikvBioJyjgcieced7mprp4wsNvbb1EKJk753ngVAde2uSronrBZxat0PbZ1humPrSfaC5lovAOaHvNMk5ubjlI6i++J1HhgjF7PbKNYdY9tJ+bPRScpN5d6dI/Yg5HbZ5ztp9x78fAF7oeb7q13mUz1czQewXtYu/frNNJxHJk8HZdrEosxiNwYKaK0w0L1Qz6+WRodp34BPRtyR1Vi1IV43Ki4S6xmUcPLkBukcZyAtv6RGwkafAUSS2Tu7Olk4JwFjvj5gF2spUa+fPRqB4/tT6/QteOv8USAK4U/iuRZpPDBSt0zFLfMOm
",
        351,
        8,
    ),
    (
        "hex",
        r"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459adbc1b4c900ffe48d575b5da5c638040125f65db0fe3e24494b76ea986457d986084fed08b978af4d7d196a7446a86b58009e636b611db16211b65a9aadff29c5e52d9c508c502347344d8c07ad91cbd6068afc75ff6292f062a09ca381c89e71e77b9a9ae9e30b0dbdb6f510a264ef9de781501d7b6b92ae89eb059c5ab743db67586e98fad27da0b9968bc039a1ef34c939b9b8e523a8bef89d478608c5ecf6ca358758f6d27e6cf45272937977a748fd88391db679ceda7dc7bf1f005ee879
",
        287,
        8,
    ),
    (
        "digits",
        r"3.14159265358979 2718281828 1763712345678 404 500 8080 65535 10.0.0.1 2026-11-21T08:15:30Z 99.97 % 12/34 1,000,000
",
        66,
        10,
    ),
    (
        "listing",
        r"drwxr-xr-x  5 root root   4096 Nov 21 07:31 corpus
-rw-r--r--  1 root root  14964 Nov 21 07:31 design.md
-rwxr-xr-x  1 root root 182736 Nov 21 07:31 callstack
test result: ok. 128 passed; 0 failed; 2 ignored; 0 measured; finished in 3.41s
",
        102,
        12,
    ),
    (
        "xml",
        r#"  <completed-siblings count="2" omitted="1">
    <frame id="f3" status="failed">
      <title>Offset pagination</title>
      <results>Too slow at 1M rows &amp; wrong under writes; use cursors &lt;id, created_at&gt;</results>
      <artifacts>src/api/routes.rs, src/api/cursor.rs</artifacts>
    </frame>
  </completed-siblings>
"#,
        95,
        8,
    ),
];

#[test]
fn the_estimate_is_close_to_the_true_count() {
    for (name, text, truth, percent) in COUNTED {
        let estimate = estimate_tokens(text);
        let off = estimate.abs_diff(*truth) * 100;
        assert!(off <= truth * percent, "{name}: {estimate} estimated, {truth} counted");
    }
}

#[test]
fn blanks_are_cheap_and_nothing_is_free() {
    // o200k counts 9.
    assert!((8..=10).contains(&estimate_tokens(&" ".repeat(1000))));
    assert_eq!(estimate_tokens(""), 0);
    for text in ["a", " ", "\n", ".", "7", "界", "\u{1b}", "🎉"] {
        assert!(estimate_tokens(text) >= 1, "{text:?}");
    }
}

#[test]
fn costs_of_lines_add_up() {
    for (name, text, ..) in COUNTED {
        let by_line: usize = text.split_inclusive('\n').map(estimate_units).sum();
        assert_eq!(by_line, estimate_units(text), "{name}");
    }
}

proptest::proptest! {
    #[test]
    fn every_prefix_within_a_budget_is_one(text in "\\PC{0,200}|[a-zA-Z0-9+/=]{0,300}|[ \n\ta-z.,(]{0,200}", max in 0_usize..6000) {
        let prefix = prefix_within(&text, max);
        proptest::prop_assert!(text.starts_with(prefix));
        proptest::prop_assert!(prefix.len() == text.len() || estimate_units(&text) > max);
        proptest::prop_assert!(estimate_units(prefix) <= max + 2 * UNITS_PER_TOKEN);
    }
}
