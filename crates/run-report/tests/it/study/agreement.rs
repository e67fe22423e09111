//! Comparison with a study of other seeds: differences that the seeds do not explain.

use run_report::study::agreement::{Agreement, Recorded};
use run_report::study::finding::Finding;
use run_report::study::measure::{Measure, Target};

fn finding(values: [f64; 3], rest: [f64; 3]) -> Finding {
    let measures = vec![
        Measure::new("x", values, Target::AtLeast(0.0)),
        Measure::new("y", rest, Target::None),
        Measure::new("of no seed", [], Target::None),
    ];
    let (figures, notes) = (vec![], vec![]);
    Finding { name: "one", title: "", claim: "", targets: "", measures, figures, notes }
}

#[test]
fn what_seeds_explain_is_no_difference() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reproduce.json");
    let recorded = |finding: &Finding| {
        std::fs::write(&path, serde_json::to_vec(&[finding]).unwrap()).unwrap();
        Recorded::read(&path).unwrap()
    };
    let here = finding([1.0, 1.1, 1.2], [5.0, 6.0, 7.0]);
    let near = Agreement::of(
        std::slice::from_ref(&here),
        &recorded(&finding([1.2, 1.0, 1.1], [7.0, 5.0, 6.0])),
    );
    assert_eq!(near, Agreement { compared: 2, ..Agreement::default() });
    let far = Agreement::of(&[here], &recorded(&finding([-1.2, -1.0, -1.15], [7.0, 5.0, 6.0])));
    assert_eq!((far.compared, far.different.len()), (2, 1));
    assert_eq!(far.different[0].0, "x");
    assert_eq!(far.verdicts, [("one".to_owned(), "reproduced", "not reproduced")]);
    assert!(far.markdown().contains("\n| one | reproduced | not reproduced |\n\n| quantity |"));
}

#[test]
fn a_file_that_is_no_study_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reproduce.json");
    std::fs::write(&path, "{}").unwrap();
    let error = Recorded::read(&path).unwrap_err().to_string();
    assert!(error.contains("reproduce.json: ") && error.contains("line 1"), "{error}");
}
