//! The part of a documentation page that this crate prints.

use run_report::evaluation::measures::MEASURES;
use training_run::metrics::Metric;
use workspace_tests::book::{compare_page, root};

/// The text between two marks of the page is printed from the code.
#[test]
fn the_measures_of_an_evaluation_are_printed_from_their_table() {
    const MARKS: [&str; 2] = ["<!-- measures -->\n", "<!-- end of measures -->"];
    let page = root().join("docs/evaluation.md");
    let text = std::fs::read_to_string(page).expect("the page is there");
    let (before, rest) = text.split_once(MARKS[0]).expect("the page has the mark");
    let (_, after) = rest.split_once(MARKS[1]).expect("the page has the second mark");
    let [start, end] = MARKS;
    let mut table = String::from("| measure | unit | definition |\n|---|---|---|\n");
    for Metric { name, unit, definition } in MEASURES.iter() {
        table.extend(["| `", name, "` | ", unit, " | ", definition, " |\n"]);
    }
    compare_page("evaluation.md", &format!("{before}{start}{table}{end}{after}"));
}
