//! Tables of results in Markdown.

use entropy_core::Interval;
use run_report::evaluation::bootstrap::Estimate;
use run_report::evaluation::folder::Results;
use run_report::evaluation::measures::{NamedEstimate, SetResult};
use run_report::evaluation::table::{all_measures, main_table};

fn estimate(value: f64) -> Estimate {
    Estimate { value, interval: Interval { low: value - 0.1, high: value + 0.1 } }
}

fn results(values: &[(&str, usize, f64)]) -> Results {
    let set = |&(name, samples, value): &(&str, usize, f64)| {
        let named = |name: String| NamedEstimate { name, estimate: estimate(value) };
        let measures = vec![
            named(format!("avg@{samples}")),
            named(format!("pass@{samples}")),
            named("response_tokens".to_owned()),
        ];
        SetResult { name: name.to_owned(), problems: 2, samples, measures }
    };
    let mean = values.iter().map(|(_, _, value)| value).sum::<f64>() / values.len() as f64;
    Results::new(serde_json::Value::Null, values.iter().map(set).collect(), estimate(mean))
}

#[test]
fn a_column_stands_for_a_set_and_the_last_for_their_plain_mean() {
    let (first, second) = (results(&[("a", 32, 0.25), ("b", 1, 0.75)]), results(&[("a", 32, 0.5)]));
    let expected = "| model | a (avg@32) | b (avg@1) | plain mean of the columns |\n|---|---|---|---|\n\
                    | one | 0.250 [0.150, 0.350] | 0.750 [0.650, 0.850] | 0.500 [0.400, 0.600] |\n\
                    | two | 0.500 [0.400, 0.600] |  | 0.500 [0.400, 0.600] |\n";
    assert_eq!(main_table(&[("one", &first), ("two", &second)]), expected);
}

#[test]
fn measures_stand_in_their_order_and_by_their_number() {
    let table = all_measures(&results(&[("a", 32, 0.25), ("b", 4, 0.75)]));
    let names: Vec<&str> =
        table.lines().skip(2).filter_map(|line| line.split('|').nth(1)).map(str::trim).collect();
    assert_eq!(names, ["avg@4", "avg@32", "pass@4", "pass@32", "response_tokens"]);
}
