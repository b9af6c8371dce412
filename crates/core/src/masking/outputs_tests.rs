use super::*;
use crate::transcript::{CallState, MessageKind, Part, Role, ToolCall};

fn message(id: &str, role: Role, calls: usize) -> Message {
    let call = |n| Part {
        id: format!("{id}.{n}"),
        body: ToolCall::new(format!("call_{id}_{n}"), "bash", CallState::Completed).into(),
    };
    let parts = (0..calls).map(call).collect();
    Message { id: id.to_owned(), role, standing: MessageKind::Normal, parts }
}

fn weight(said: usize, id: &str, results: &[usize]) -> Weight {
    let all = said + results.iter().sum::<usize>();
    let results = results.iter().enumerate();
    let result = |(n, it): (usize, &usize)| ResultWeight {
        part: format!("{id}.{n}"),
        tokens: *it,
        subject: None,
    };
    Weight { all, results: results.map(result).collect() }
}

fn session() -> (Vec<Message>, Vec<Weight>) {
    let transcript = vec![
        message("m1", Role::User, 0),
        message("m2", Role::Assistant, 2),
        message("m3", Role::Assistant, 1),
        message("m4", Role::Assistant, 1),
    ];
    let weights = vec![
        weight(50, "m1", &[]),
        weight(10, "m2", &[1_000, 300]),
        weight(10, "m3", &[2_000]),
        weight(10, "m4", &[4_000]),
    ];
    (transcript, weights)
}

/// Part, tokens, tokens in front; `?` where the model has not read it yet.
fn described(request: &Request<'_>) -> Vec<String> {
    let described = request.results.iter().map(|it| {
        let unread = if it.output.steps_since == 0 { " ?" } else { "" };
        format!("{} {} at {}{unread}", it.part, it.output.tokens, it.output.at)
    });
    described.collect()
}

fn output(message: &str, part: &str) -> FoldOp {
    FoldOp::Output { message: message.into(), part: part.into(), text: String::new() }
}

#[test]
fn what_no_operation_touches_is_sent_as_it_is() {
    let (transcript, weights) = session();
    let request = Request::of(&transcript, &[], &weights);
    assert_eq!(
        described(&request),
        ["m2.0 1000 at 60", "m2.1 300 at 1060", "m3.0 2000 at 1370", "m4.0 4000 at 3380 ?"]
    );
    assert_eq!(request.in_front, [0, 50, 1_360, 3_370]);
    assert_eq!((request.up_to(2), request.up_to(9)), (1_360, 3_370));
}

#[test]
fn what_is_masked_cut_or_left_out_is_not_there_again() {
    let (transcript, weights) = session();
    let masked = Request::of(&transcript, &[output("m2", "m2.0")], &weights);
    assert_eq!(described(&masked), ["m2.1 300 at 60", "m3.0 2000 at 370", "m4.0 4000 at 2380 ?"]);
    let cut = FoldOp::Cut { from: "m2".into(), to: "m3".into() };
    let cut = Request::of(&transcript, &[cut], &weights);
    assert_eq!(described(&cut), ["m4.0 4000 at 60 ?"]);
    assert_eq!(cut.cut, [false, true, true, false]);
    let keep = FoldOp::Keep { message: "m2".into(), parts: vec!["m2.1".into()] };
    let kept = Request::of(&transcript, &[keep], &weights);
    assert_eq!(described(&kept)[..2], ["m2.1 300 at 60", "m3.0 2000 at 370"]);
}

#[test]
fn our_texts_weigh_and_a_message_of_ours_in_front_of_a_cut_does_not_end_it() {
    let (transcript, weights) = session();
    let insert = FoldOp::Insert { after: "m2".into(), text: "four words of ours".into() };
    let cut = FoldOp::Cut { from: "m2".into(), to: "m2".into() };
    let request = Request::of(&transcript, &[insert, cut], &weights);
    let ours = estimate_tokens("four words of ours");
    assert_eq!(request.in_front, [0, 50, 50 + ours, 2_060 + ours]);
}

#[test]
fn without_a_step_after_them_nothing_was_read() {
    let (mut transcript, weights) = session();
    transcript.push(message("m5", Role::User, 0));
    let request = Request::of(&transcript, &[], &weights);
    let since = |n: usize| request.results[n].output.steps_since;
    assert_eq!((since(2), since(3)), (1, 0));
    let nobody = Request::of(&transcript[..1], &[], &weights);
    assert_eq!(nobody.results, []);
}
