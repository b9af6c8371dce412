use super::*;

fn vars(pairs: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<String> {
    move |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
}

#[test]
fn defaults_unless_set() {
    assert_eq!(TokenBudget::from_vars(|_| None), Ok(TokenBudget::default()));
    let set = vars(&[
        ("STACK_TOKEN_BUDGET_TOTAL", "9000"),
        ("STACK_TOKEN_BUDGET_ANCESTORS", " 10 "),
        ("STACK_TOKEN_BUDGET_SIBLINGS", ""),
        ("STACK_TOKEN_BUDGET_CURRENT", "30"),
    ]);
    assert_eq!(
        TokenBudget::from_vars(set),
        Ok(TokenBudget { total: 9000, ancestors: 10, siblings: 1500, current: 30, overhead: 200 })
    );
}

#[test]
fn what_is_no_number_of_tokens_is_named() {
    for value in ["0", "-1", "4k", "1.5", "99999999999999999999"] {
        let error = TokenBudget::from_vars(|name| {
            (name == "STACK_TOKEN_BUDGET_SIBLINGS").then(|| value.to_owned())
        })
        .expect_err(value);
        assert_eq!(error.name, "STACK_TOKEN_BUDGET_SIBLINGS");
        assert!(error.to_string().contains(value), "{error}");
    }
}

#[test]
fn calibration_never_promises_more_than_there_is() {
    for factor in [0.3, 0.9, 1.0, 1.37, 2.8] {
        let calibration = Calibration::new(factor);
        for tokens in [0, 1, 7, 100, 4000] {
            assert!(calibration.tokens(calibration.units(tokens)) <= tokens, "{factor} {tokens}");
        }
    }
    for nonsense in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Calibration::new(nonsense).tokens(700), 7);
    }
}
