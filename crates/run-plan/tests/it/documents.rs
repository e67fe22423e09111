//! The page of the book that this crate prints.

use workspace_tests::book::compare_page;

#[test]
fn scaling_page_is_printed_by_the_plan() {
    compare_page("scaling.md", &run_plan::plan::scaling_page());
}
