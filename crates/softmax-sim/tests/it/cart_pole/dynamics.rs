//! Equations of motion of the cart and its pole, without friction.

use softmax_sim::cart_pole::dynamics::{ANGLE_LIMIT, POSITION_LIMIT, State};

#[test]
fn left_and_right_are_mirror_images() {
    let state = State::from([0.3, -0.2, 0.1, 0.7]);
    let mirrored = State::from(state.observation().map(|x| -x));
    let (right, left) = (state.after(10.0), mirrored.after(-10.0));
    assert_eq!(right, State::from(left.observation().map(|x| -x)));
}

#[test]
fn an_upright_pole_falls_away_from_the_push() {
    let rest = State::from([0.0; 4]);
    let pushed = rest.after(10.0);
    // By hand: pull = 10 / 1.1; spin rate = -pull / (0.5 · (4/3 - 0.1/1.1)).
    let pull = 10.0 / 1.1;
    let spin_rate = -pull / (0.5 * (4.0 / 3.0 - 0.1 / 1.1));
    assert!((pushed.spin - 0.02 * spin_rate).abs() < 1e-15);
    assert!((pushed.velocity - 0.02 * (pull - 0.05 * spin_rate / 1.1)).abs() < 1e-15);
    assert_eq!(pushed, State { position: 0.0, angle: 0.0, ..pushed });
}

#[test]
fn limits_themselves_are_inside() {
    let state = |position, angle| State { position, velocity: 0.0, angle, spin: 0.0 };
    assert!(!state(POSITION_LIMIT, -ANGLE_LIMIT).has_failed());
    assert!(state(2.400_000_1, 0.0).has_failed() && state(0.0, -0.209_44).has_failed());
}
