//! Batches at the edge of what is allowed, and beyond.

use rl_losses::{
    Base, Column, CovarianceControl, Penalty, PlanError, PolicyLoss, PpoClip, Real, TokenBatch,
    TokenColumns, Treatment,
};

use crate::batches::{Columns, losses, rules, seeded};

fn columns(
    log_prob: &[f64],
    old_log_prob: &[f64],
    advantage: &[f64],
    lengths: &[usize],
) -> Columns {
    let level = |x: f64| vec![x; log_prob.len()];
    Columns {
        log_prob: log_prob.to_vec(),
        old_log_prob: old_log_prob.to_vec(),
        advantage: advantage.to_vec(),
        optional: [level(0.7), level(0.5), old_log_prob.to_vec(), log_prob.to_vec()],
        lengths: lengths.to_vec(),
        micro_batches: vec![lengths.len()],
    }
}

fn assert_finite(columns: &Columns) {
    let (double, single) = (columns.batch(), columns.stored::<f32>());
    let single = single.batch();
    for loss in losses() {
        for rule in rules() {
            let plan = loss.plan(&double, &rule, &mut seeded(1)).expect("all columns");
            let output = loss.evaluate(&double, plan.part(0..double.len()));
            assert!(output.value.is_finite(), "{loss:?}");
            assert!(output.grad_log_prob.iter().all(|slope| slope.is_finite()), "{loss:?}");
            let plan = loss.plan(&single, &rule, &mut seeded(1)).expect("all columns");
            let output = loss.evaluate(&single, plan.part(0..single.len()));
            assert!(output.value.is_finite(), "{loss:?}");
            assert!(output.grad_log_prob.iter().all(|slope| slope.is_finite()), "{loss:?}");
        }
    }
}

#[test]
fn log_ratios_of_seven_hundred_stay_finite() {
    let log_prob = [-0.5, -700.5, -0.5, -700.5, -0.5, -700.5, 0.0, -1e-300];
    let old_log_prob = [-700.5, -0.5, -700.5, -0.5, -700.5, -0.5, -700.0, 0.0];
    let advantage = [1.0, 1.0, -1.0, -1.0, 0.0, 0.0, 2.0, -2.0];
    assert_finite(&columns(&log_prob, &old_log_prob, &advantage, &[3, 3, 2]));
}

/// They are evaluated together, in blocks: those beside a ratio that is held are taken by other loops.
fn assert_neighbours_keep_their_slopes<R: Real>(near: &Columns<R>, far: &Columns<R>, moved: usize) {
    for loss in losses() {
        let plan = loss.plan(&near.batch(), &rules()[0], &mut seeded(1)).expect("all columns");
        let slopes = |columns: &Columns<R>| {
            let batch = columns.batch();
            let mut slopes = loss.evaluate(&batch, plan.part(0..batch.len())).grad_log_prob;
            slopes.remove(moved);
            slopes
        };
        assert_eq!(slopes(near), slopes(far), "{loss:?}");
    }
}

#[test]
fn a_ratio_that_is_held_changes_nothing_beside_it() {
    let old: Vec<f64> = (0..700).map(|t| -0.5 - f64::from(t % 11) * 0.2).collect();
    let near: Vec<f64> =
        (0..).zip(&old).map(|(t, old)| old + f64::from(t % 7) * 0.1 - 0.3).collect();
    let advantage: Vec<f64> = (0..700).map(|t| f64::from(t % 3) - 1.0).collect();
    let mut far = near.clone();
    far[300] = old[300] - 790.0;
    let [near, far] = [near, far].map(|new| columns(&new, &old, &advantage, &[300, 1, 399]));
    assert_neighbours_keep_their_slopes(&near.stored::<f64>(), &far.stored::<f64>(), 300);
    assert_neighbours_keep_their_slopes(&near.stored::<f32>(), &far.stored::<f32>(), 300);
}

#[test]
fn equal_advantages_and_single_tokens_are_batches() {
    assert_finite(&columns(&[-1.0; 6], &[-1.2; 6], &[0.5; 6], &[2, 4]));
    assert_finite(&columns(&[-1.0; 6], &[-1.0; 6], &[0.0; 6], &[6]));
    assert_finite(&columns(&[-2.0], &[-1.0], &[-1.0], &[0, 1, 0]));
}

#[test]
fn no_tokens_have_no_loss() {
    let columns = columns(&[], &[], &[], &[0, 0]);
    for loss in losses() {
        for rule in rules() {
            let plan = loss.plan(&columns.batch(), &rule, &mut seeded(1)).unwrap();
            let output = loss.evaluate(&columns.batch(), plan.part(0..0));
            assert!(output.value.abs() < f64::MIN_POSITIVE && output.grad_log_prob.is_empty());
        }
    }
}

#[test]
fn a_missing_column_is_named_with_its_method() {
    let column = [-1.0, -2.0];
    let columns = TokenColumns { log_prob: &column, old_log_prob: &column, advantage: &[1.0, 0.0] };
    let bare = TokenBatch::new(columns, &[1, 1]).unwrap();
    for loss in losses() {
        let needed = loss.requirements();
        let by_micro_batch = format!("{loss:?}").contains("MicroBatch");
        let outcome = loss.plan(&bare, &rules()[0], &mut seeded(1));
        match outcome {
            Ok(_) => assert!(needed.is_empty() && !by_micro_batch, "{loss:?}"),
            Err(PlanError::MissingColumn { method, column }) => {
                assert_eq!((method, column), (loss.name(), needed[0]));
            }
            Err(error) => assert!(by_micro_batch, "{loss:?}: {error}"),
        }
        let full = Column::ALL
            .into_iter()
            .fold(bare.clone(), |batch, one| batch.with(one, &column).unwrap());
        let full = full.with_micro_batches(&[2]).unwrap();
        assert_eq!(loss.check(&full), Ok(()));
    }
    let error = PolicyLoss::Steer(rl_losses::Steer::default()).check(&bare).unwrap_err();
    let expected = "`steer` needs the column `entropy`, which the batch does not have";
    assert_eq!(error.to_string(), expected);
}

/// STEER's weights are made of the entropy as the loss is evaluated.
#[test]
#[should_panic(expected = "the plan needs the column `entropy` of the batch")]
fn a_batch_without_the_columns_of_its_plan_is_not_evaluated() {
    let column = [-1.0, -2.0];
    let columns = TokenColumns { log_prob: &column, old_log_prob: &column, advantage: &[1.0, 0.0] };
    let bare = TokenBatch::new(columns, &[1, 1]).unwrap();
    let full = bare.clone().with(Column::Entropy, &[0.5, 0.25]).unwrap();
    let loss = PolicyLoss::Steer(rl_losses::Steer::default());
    let plan = loss.plan(&full, &rules()[0], &mut seeded(1)).unwrap();
    loss.evaluate(&bare, plan.part(0..2));
}

#[test]
fn settings_made_in_code_are_checked_when_planning() {
    let columns = columns(&[-1.0], &[-1.0], &[1.0], &[1]);
    let loss = PolicyLoss::Dro(rl_losses::Dro { beta: f64::NAN });
    let error = loss.plan(&columns.batch(), &rules()[0], &mut seeded(1)).unwrap_err();
    assert_eq!(error.to_string(), "`dro`: `beta` is NaN, expected a finite number, 0 or above");
    let complaint = |control: CovarianceControl| {
        PolicyLoss::CovarianceControl(control).check(&columns.batch()).unwrap_err().to_string()
    };
    let control = CovarianceControl::DEFAULT;
    let penalty = Penalty { coefficient: -1.0, ..Penalty::DEFAULT };
    assert_eq!(
        complaint(CovarianceControl { treatment: Treatment::Penalise(penalty), ..control }),
        "`covariance-control`: `coefficient` is -1, expected a finite number, 0 or above"
    );
    let base = Base::PpoClip(PpoClip { clip_ratio_low: f64::NAN, ..PpoClip::DEFAULT });
    assert_eq!(
        complaint(CovarianceControl { base, ..control }),
        "`covariance-control`: `clip_ratio_low` is NaN, expected a finite number, 0 or above"
    );
}

#[test]
fn optional_columns_are_checked_like_the_others() {
    let columns = columns(&[-1.0, -2.0], &[-1.0, -2.0], &[1.0, 0.0], &[2]);
    let error = columns.batch().with(Column::Entropy, &[0.5]).unwrap_err();
    assert_eq!(error.to_string(), "column `entropy` has 1 tokens, `log_prob` has 2");
    let error = columns.batch().with(Column::OldEntropy, &[0.5, f64::INFINITY]).unwrap_err();
    let expected = "column `old_entropy` is inf at token 1, expected a finite number";
    assert_eq!(error.to_string(), expected);
    let error = columns.batch().with_micro_batches(&[1, 1]).unwrap_err();
    assert_eq!(error.to_string(), "`micro_batches` add up to 2 sequences, the batch has 1");
}
