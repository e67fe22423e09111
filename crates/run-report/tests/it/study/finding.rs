//! A finding of the paper, what was measured of it, and the verdict.

use run_report::study::finding::{Finding, Verdict};
use run_report::study::measure::{Measure, Target};
use run_report::study::page::{Setting, write, write_book};

#[test]
fn the_verdict_follows_the_targets() {
    let verdict = |values: &[f64]| {
        let measure = |&value: &f64| Measure::new("x", [value, value], Target::AtLeast(0.5));
        let mut measures: Vec<Measure> = values.iter().map(measure).collect();
        measures.push(Measure::new("context", [0.0], Target::None));
        let (figures, notes) = (vec![], vec![]);
        Finding { name: "", title: "", claim: "", targets: "", measures, figures, notes }.verdict()
    };
    assert_eq!(verdict(&[1.0, 1.0]), Some(Verdict::Reproduced));
    assert_eq!(verdict(&[1.0, 0.0]), Some(Verdict::InPart));
    assert_eq!(verdict(&[0.0]), Some(Verdict::NotReproduced));
    assert_eq!(verdict(&[]), None);
}

#[test]
fn the_page_escapes_a_quantity_once_and_the_book_keeps_its_prose() {
    let measures = vec![Measure::new("R < 1 & H > 0", [0.5], Target::AtLeast(0.2))];
    let (figures, notes) = (vec![], vec![]);
    let finding = Finding {
        name: "law",
        title: "The law",
        claim: "A claim",
        targets: "A target",
        measures,
        figures,
        notes,
    };
    let setting = Setting {
        command: String::new(),
        summary: String::new(),
        has_verdicts: true,
        agreement: None,
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = write(std::slice::from_ref(&finding), &setting, folder.path()).expect("a page");
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains(r#"<span class="wrap">R &lt; 1 &amp; H &gt; 0</span>"#));
    assert!(!page.contains("&lt;span"));

    write_book(&[finding], &setting, folder.path()).expect("a page of the book");
    let page = std::fs::read_to_string(folder.path().join("language-model.md")).expect("a page");
    let order =
        ["# Findings", "Of 1 findings", "## The law", "| R < 1 & H > 0 | 0.500 |", "## How"];
    let places = order.map(|part| page.find(part).unwrap_or_else(|| panic!("{part}: {page}")));
    assert!(places.is_sorted() && page.matches("\n## ").count() == 3, "{page}");
}
