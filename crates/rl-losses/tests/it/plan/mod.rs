//! Tests of `plan`.

mod step_plan;
