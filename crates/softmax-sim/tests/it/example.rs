//! The example of a custom environment, loss and measurement.

#[path = "../../examples/custom_simulation.rs"]
#[expect(dead_code, reason = "its `main` is for the command line")]
mod custom_simulation;

#[test]
fn the_example_trains_its_lock_by_each_method() {
    let mut out = Vec::new();
    custom_simulation::run(&mut out).expect("tables that fit");
    insta::assert_snapshot!(String::from_utf8(out).expect("text"));
}
