//! Plan of one optimiser step over its mini-batch.

use rl_losses::StepPlan;

#[test]
fn a_part_knows_its_own_marks() {
    let plan = StepPlan::new(vec![true, false, true, true], vec![1.0, 2.0, 3.0, 4.0]);
    assert_eq!(plan.selected_tokens(), [0, 2, 3]);
    assert_eq!(plan.part(1..3).selected(), [false, true]);
    assert_eq!(plan.part(1..3).weights(), [2.0, 3.0]);
}
