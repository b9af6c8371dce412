use super::*;

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

#[test]
fn the_defaults_are_the_specifications() {
    let TokenBudget { total, ancestors, siblings, current, overhead } = TokenBudget::default();
    assert_eq!((total, ancestors, siblings, current, overhead), (4000, 1500, 1500, 800, 200));
    assert_eq!(ancestors + siblings + current + overhead, total);
}
