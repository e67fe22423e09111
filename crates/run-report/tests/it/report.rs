//! The report as a reader sees it: order, numbers, hostile text, empty runs, nothing from the network.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;

use run_report::report::{Pictures, PrintSize, Report, ReportRun, Verification, VerificationRow};
use run_report::run_view::ViewedSample;
use training_run::metrics::StepMetrics;
use training_run::token_record::TokenRecord;

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'&]]>\u{0}";

/// Entropy falls on a straight line, reward is exactly `0.9 - 0.2 e^H`, predictions are twice the measured change.
fn run(name: &str) -> ReportRun {
    let record = |index: u32| {
        let entropy = 1.0 - 0.02 * f64::from(index);
        let change = -0.02 - 0.001 * f64::from(index);
        let values = [
            ("actor/entropy", entropy),
            ("critic/rewards/mean", 0.9 - 0.2 * entropy.exp()),
            ("entropy/measured_change", change),
            ("entropy/predicted_change_lemma1", 2.0 * change),
            ("cov/mean", -5.0 * change),
            ("cov/top_0.02", 3.25),
            ("val-core/made-up/acc/mean@4", 0.5),
            ("timing_s/step", 1.5),
        ];
        let values = values.map(|(metric, value)| (metric.to_owned(), value)).into();
        StepMetrics::from_values(u64::from(index + 1), values)
    };
    ReportRun {
        name: name.to_owned(),
        steps: (0..40).map(record).collect(),
        ..ReportRun::default()
    }
}

/// Changes the metrics of a step, whatever their names.
fn edit(step: &mut StepMetrics, change: impl FnOnce(&mut BTreeMap<String, f64>)) {
    let mut values = step.iter().map(|(name, value)| (name.to_owned(), value)).collect();
    change(&mut values);
    *step = StepMetrics::from_values(step.step(), values);
}

fn report(runs: Vec<ReportRun>) -> Report {
    Report { title: "A title".to_owned(), runs, ..Report::default() }
}

/// Tokens whose texts want out of their place.
fn hostile_tokens() -> TokenRecord {
    TokenRecord {
        sample: 0,
        token_ids: vec![1, 2],
        text: vec![HOSTILE.to_owned(), "5".to_owned()],
        log_prob: vec![-0.5, -2.0],
        entropy: vec![0.25, 0.5],
        advantage: vec![1.0, 1.0],
        covariance: vec![0.125, -4.0],
        selected: Some(vec![1]),
    }
}

/// The text of the table row that begins with a heading for `name`, in the section `id`.
fn row<'a>(html: &'a str, id: &str, name: &str) -> &'a str {
    let section = html.split(&format!("<section id=\"{id}\">")).nth(1).expect("the section");
    let section = section.split("</section>").next().expect("its end");
    let rows = section.split("<tr>").filter(|row| row.contains("<th scope=\"row\">"));
    let mut rows = rows.filter(|row| row.contains(&format!(">{name}</span>")));
    rows.next().expect("the row of the run")
}

#[test]
fn the_numbers_are_those_of_the_data() {
    let html = report(vec![run("GRPO")]).render();
    // Means of steps 1..4 and 37..40: 1 - 0.02 · 1.5 and 1 - 0.02 · 37.5.
    let summary = row(&html, "summary", "GRPO");
    assert!(summary.contains("0.970") && summary.contains("<strong>0.250</strong>"), "{summary}");
    assert!(summary.contains("1.50"), "{summary}");
    let lemma = row(&html, "lemma-1", "GRPO");
    assert!(lemma.contains(">1.000<") && lemma.contains(">0.500<"), "{lemma}");
    let law = row(&html, "law", "GRPO");
    assert!(law.contains("0.200 ±") && law.contains("0.900 ±"), "{law}");
    assert!(law.contains(">1.000<"), "{law}");
    let theorem = row(&html, "theorem-2", "GRPO");
    assert!(theorem.contains(">1.000<"), "{theorem}");
}

#[test]
fn health_and_samples_stand_before_the_theory() {
    let html = report(vec![run("GRPO"), run("KL-Cov")]).render();
    let order = [
        "class=\"headline\"",
        "id=\"summary\"",
        "id=\"curves\"",
        "id=\"health\"",
        "id=\"samples\"",
        "id=\"law\"",
        "id=\"forecast\"",
        "id=\"lemma-1\"",
        "id=\"theorem-2\"",
        "id=\"tail\"",
        "id=\"verification\"",
        "id=\"configuration\"",
        "id=\"glossary\"",
        "<footer>",
    ];
    let places: Vec<Option<usize>> = order.iter().map(|part| html.find(part)).collect();
    assert!(places.iter().all(Option::is_some), "{places:?}");
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn hostile_text_cannot_leave_its_place() {
    let mut hostile = run(HOSTILE);
    hostile.description = HOSTILE.to_owned();
    hostile.config_toml = HOSTILE.to_owned();
    edit(&mut hostile.steps[0], |values| {
        values.insert(format!("val-core/{HOSTILE}/acc/mean@1"), 0.5);
    });
    hostile.samples = vec![ViewedSample {
        step: 1,
        problem: HOSTILE.to_owned(),
        response: HOSTILE.to_owned(),
        answer: HOSTILE.to_owned(),
        reward: 1.0,
        tokens: Some(hostile_tokens()),
        ..ViewedSample::default()
    }];
    let verification = VerificationRow {
        statement: HOSTILE.to_owned(),
        check: HOSTILE.to_owned(),
        ..VerificationRow::default()
    };
    let report = Report {
        title: HOSTILE.to_owned(),
        introduction: vec![HOSTILE.to_owned()],
        runs: vec![hostile],
        verification: Some(Verification { seed: 1, rows: vec![verification] }),
        command: HOSTILE.to_owned(),
    };
    let charts: String = report.charts().into_iter().map(|(_, svg)| svg).collect();
    for text in [report.render(), charts] {
        assert!(text.contains("&lt;/script&gt;&lt;img"), "the text itself must be shown");
        assert!(!text.contains("<img") && !text.contains("script>") && !text.contains('\u{0}'));
    }
}

#[test]
fn empty_and_not_finite_runs_are_said_not_drawn() {
    let empty = report(vec![]).render();
    assert!(empty.contains("No step with an entropy was recorded yet"));
    assert!(report(vec![]).charts().is_empty());

    let names = ["actor/entropy", "critic/rewards/mean", "entropy/measured_change"];
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let record = StepMetrics::from_values(1, names.map(|name| (name.to_owned(), value)).into());
        let run =
            ReportRun { name: "A".to_owned(), steps: vec![record; 3], ..ReportRun::default() };
        let html = report(vec![run, ReportRun::default()]).render();
        assert!(html.contains("actor/entropy was not recorded by any run"));
        assert!(!html.contains("NaN") && !html.contains(">inf"));
    }
    let one = ReportRun { steps: run("A").steps[..1].to_vec(), ..run("A") };
    let html = report(vec![one]).render();
    assert!(html.contains("no fit: ") && !html.contains("NaN"));
}

#[test]
fn nothing_is_fetched() {
    let report = report(vec![run("GRPO")]);
    let mut text = report.render();
    text.extend(report.charts().into_iter().map(|(_, svg)| svg));
    let allowed = ["http://www.w3.org/", "https://arxiv.org/"];
    for (offset, _) in text.match_indices("http") {
        let link = &text[offset..];
        assert!(allowed.iter().any(|start| link.starts_with(start)), "{link:.60}");
    }
    for forbidden in ["<script", "<link", "@import", "url(", " src="] {
        assert!(!text.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn ids_are_unique_and_tags_are_balanced() {
    let html = report(vec![run("GRPO"), run("KL-Cov")]).render();
    let mut ids: Vec<&str> =
        html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    for tag in ["svg", "section", "table", "figure", "tr", "td", "div", "text", "title"] {
        let opened =
            html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[test]
fn the_files_are_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let report = report(vec![run("GRPO")]);
    let path = folder.path().join("report.html");
    report.write(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), report.render());
    let drawn = RefCell::new(vec![]);
    let say = |stem: &str| drawn.borrow_mut().push(stem.to_owned());
    let pictures = Pictures { png: false, pdf: false, size: PrintSize::PAGE };
    report.write_charts(folder.path(), pictures, &say).unwrap();
    assert!(fs::read_to_string(folder.path().join("entropy.svg")).unwrap().starts_with("<svg"));
    assert!(drawn.borrow().is_empty(), "no picture was asked for");

    let pictures = Pictures { png: true, pdf: true, size: PrintSize::new(8.5, 8.0).unwrap() };
    report.write_charts(folder.path(), pictures, &say).unwrap();
    let stems: Vec<String> = report.charts().into_iter().map(|(stem, _)| stem).collect();
    assert_eq!(*drawn.borrow(), stems);
    let bytes = |file: &str| fs::read(folder.path().join(file)).unwrap();
    assert!(
        bytes("entropy.png").starts_with(b"\x89PNG") && bytes("entropy.pdf").starts_with(b"%PDF")
    );

    let error = report.write(&folder.path().join("missing/report.html")).unwrap_err();
    assert!(error.to_string().contains("missing/report.html"), "{error}");
}

#[test]
fn what_is_left_is_the_ceiling_of_the_law_and_the_beginning_foretells_the_end() {
    let mut evaluated = run("KL-Cov");
    // Held-out accuracy on another exact law, R = 0.8 - 0.1 e^H of the policy after each step.
    for index in 0..40_u32 {
        let record = &mut evaluated.steps[index as usize];
        let after = 1.0 - 0.02 * f64::from(index + 1);
        edit(record, |values| {
            values.insert("val-core/made-up/acc/mean@4".to_owned(), 0.8 - 0.1 * after.exp());
        });
    }
    let mut plain = run("GRPO");
    for record in &mut plain.steps {
        edit(record, |values| {
            values.remove("val-core/made-up/acc/mean@4");
        });
    }
    let html = report(vec![plain, evaluated]).render();
    let of_rewards = row(&html, "forecast", "GRPO");
    assert!(of_rewards.contains("40 steps") && of_rewards.contains(">0.700</td>"), "{of_rewards}");
    // The entropy of the last evaluation is only estimated: entropy before, and the change by the step.
    let of_evaluations = row(&html, "forecast", "KL-Cov");
    assert!(of_evaluations.contains("40 evaluations"), "{of_evaluations}");
    let section = html.split("<section id=\"forecast\">").nth(1).unwrap();
    let foretold: Vec<&str> = section.split("<tr>").filter(|row| row.contains(">0.15<")).collect();
    assert_eq!(foretold.len(), 2);
    // 0.9 - 0.2 e^0.22, equal to the forecast.
    assert_eq!(foretold[0].matches(">0.651<").count(), 2, "{}", foretold[0]);
}

#[test]
fn runs_are_compared_with_the_first_number_by_number() {
    let mut longer = run("KL-Cov");
    for record in &mut longer.steps {
        edit(record, |values| {
            *values.get_mut("timing_s/step").unwrap() += 0.25;
            *values.get_mut("critic/rewards/mean").unwrap() -= 0.125;
        });
    }
    let html = report(vec![run("GRPO"), longer]).render();
    let table =
        html.split("difference from GRPO").nth(1).unwrap().split("</table>").next().unwrap();
    assert!(
        table.contains(">+0.250<") && table.contains(">−0.125<") && table.contains(">0<"),
        "{table}"
    );
    assert!(!report(vec![run("GRPO")]).render().contains("difference from"));
}

#[test]
fn an_accuracy_has_its_interval_where_it_was_logged() {
    let mut with_interval = run("GRPO");
    for record in &mut with_interval.steps {
        edit(record, |values| {
            values.insert("val-aux/made-up/acc/mean@4/low".to_owned(), 0.25);
            values.insert("val-aux/made-up/acc/mean@4/high".to_owned(), 0.75);
        });
    }
    assert!(report(vec![with_interval]).render().contains("the 0.95 interval over the questions"));
    assert!(!report(vec![run("GRPO")]).render().contains("the 0.95 interval over the questions"));
}

#[test]
fn tokens_are_shaded_by_covariance_and_underlined_where_selected() {
    let mut with_tokens = run("GRPO");
    let tokens = TokenRecord {
        sample: 0,
        token_ids: (0..100).collect(),
        text: (0..100).map(|index| format!("t{index} ")).collect(),
        log_prob: vec![-0.5; 100],
        entropy: vec![0.25; 100],
        advantage: vec![1.0; 100],
        covariance: (0..100).map(|index| f64::from(index) * 0.01).collect(),
        selected: Some(vec![99]),
    };
    with_tokens.samples =
        vec![ViewedSample { step: 1, tokens: Some(tokens), ..ViewedSample::default() }];
    let html = report(vec![with_tokens]).render();
    let class = |token: &str| {
        let before = html.split(&format!(">{token} </span>")).next().unwrap();
        before.rsplit("class=\"").next().unwrap().split('"').next().unwrap().to_owned()
    };
    assert_eq!(["t10", "t60", "t95", "t98", "t99"].map(class), ["", "p1", "p2", "p3", "p3 sel"]);
    assert!(html.contains("covariance 0.990, selected"));
    assert!(html.contains("reward 0.00 ·") && !html.contains("nat per token"));
}

#[test]
fn a_run_that_goes_on_and_one_that_was_cut_off_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("going");
    fs::create_dir_all(root.join("samples")).unwrap();
    fs::write(root.join("metrics.jsonl"), "{\"step\":1,\"actor/entropy\":0.5}\n{\"step\":2,\"act")
        .unwrap();
    let line = "{\"problem\":\"2+3\",\"answer\":\"5\",\"response\":\"It is 5\",\"reward\":1.0}\n";
    fs::write(root.join("samples/step-2.jsonl"), format!("{line}{}", &line[..20])).unwrap();
    let run = ReportRun::read(&root).unwrap();
    assert_eq!((run.name.as_str(), run.steps.len(), run.samples.len()), ("going", 1, 1));
    assert!(report(vec![run]).render().contains("It is 5"));
    fs::write(root.join("metrics.jsonl"), "").unwrap();
    assert!(ReportRun::read(&root).unwrap().steps.is_empty());
    assert!(ReportRun::read(folder.path()).unwrap_err().to_string().contains("holds no run"));
}

/// A run of `steps` steps with this seed, whose reward is `lift` higher and whose loss has this clip ratio.
fn seed(name: &str, seed: u32, steps: usize, clip: f64, lift: f64) -> ReportRun {
    let mut run = run(name);
    run.steps.truncate(steps);
    for step in &mut run.steps {
        edit(step, |values| {
            *values.get_mut("critic/rewards/mean").expect("every step has a reward") += lift;
        });
    }
    run.config_toml = format!("name = \"{name}\"\nseed = {seed}\n[loss]\nclip = {clip:?}\n");
    run
}

#[test]
fn seeds_of_a_method_are_one_curve_in_a_band_and_are_compared_in_pairs() {
    let report = report(vec![
        seed("GRPO-seed-1", 1, 40, 0.2, 0.0),
        seed("GRPO-seed-2", 2, 30, 0.2, 0.0625),
        seed("Wide-seed-1", 1, 40, 0.4, 0.125),
        seed("Wide-seed-2", 2, 40, 0.4, 0.25),
    ]);
    let charts = report.charts();
    let chart = |stem: &str| {
        let named = charts.iter().find(|(name, _)| name == stem);
        named.map(|(_, svg)| svg.as_str()).expect("the chart")
    };
    let reward = chart("reward");
    assert_eq!((reward.matches(" band\"").count(), reward.matches(" line\"").count()), (2, 2));
    assert!(reward.contains(">GRPO</text>") && reward.contains(">Wide</text>"), "{reward}");
    // In the scatter each method has one name.
    assert_eq!(chart("forecast").matches(">GRPO</text>").count(), 1);
    let html = report.render();
    // Differences 0.125 and 0.1875 at step 30: mean 0.15625, and 12.706 times the standard error 0.03125.
    let table =
        html.split("difference from GRPO").nth(1).unwrap().split("</table>").next().unwrap();
    assert!(table.contains(">+0.156<br>−0.241 to +0.553<"), "{table}");
    assert!(html.contains("All up to step 30, the last that every run has."));
    assert!(html.contains("After 30 steps GRPO keeps"));
}

#[test]
fn a_ceiling_above_the_largest_accuracy_is_not_reported() {
    let mut promising = run("GRPO");
    for (index, record) in (0_u32..).zip(&mut promising.steps) {
        let after = 1.0 - 0.02 * f64::from(index + 1);
        let noise = if index % 2 == 0 { 1e-3 } else { -1e-3 };
        let accuracy = 1.3 - 0.2 * after.exp() + noise;
        edit(record, |values| {
            values.insert("val-core/made-up/acc/mean@4".to_owned(), accuracy);
        });
    }
    let report = report(vec![promising]);
    let html = report.render();
    let row = row(&html, "forecast", "GRPO");
    assert!(row.contains("the law does not hold here") && row.contains(">–<"), "{row}");
    let charts = report.charts();
    let (_, svg) = charts.iter().find(|(stem, _)| stem == "forecast").unwrap();
    assert!(svg.contains(">largest possible</text>"), "{svg}");
}

/// A run that learnt nothing has no law, and its axes begin at 0.
#[test]
fn rewards_and_selected_tokens_of_zero_are_drawn_from_zero_and_promise_nothing() {
    let mut flat = run("GRPO");
    for record in &mut flat.steps {
        edit(record, |values| {
            values.remove("val-core/made-up/acc/mean@4");
            values.insert("critic/rewards/mean".to_owned(), 0.0);
            values.insert("cov/selected_fraction".to_owned(), 0.0);
        });
    }
    let report = report(vec![flat]);
    let html = report.render();
    let row = row(&html, "forecast", "GRPO");
    assert!(row.contains("all points are equal") && row.contains(">–<"), "{row}");
    let charts = report.charts();
    let (_, svg) = charts.iter().find(|(stem, _)| stem == "selected-fraction").unwrap();
    assert!(svg.contains(">0.4</text>") && !svg.contains(">−0"), "{svg}");
}
