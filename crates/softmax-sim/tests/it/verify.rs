//! Verification passes for the theory and does not depend on threads. That it fails for anything else is tested in
//! `wrong_formulas`.

use std::sync::LazyLock;

use softmax_sim::{Report, Settings, verify, verify_watched};

/// One policy of each kind with the first seed, and the parts done of all on the way: several tests look at it.
static FIRST: LazyLock<(Report, Vec<[u64; 2]>)> = LazyLock::new(|| {
    let mut parts = Vec::new();
    (verify_watched(&small(0, 8), |_, done, total| parts.push([done, total])), parts)
});

fn small(seed: u64, policies: usize) -> Settings {
    Settings { seed, policies, cases: 600 }
}

#[test]
fn every_statement_passes_for_any_seed() {
    let verified = |seed, policies| (seed, policies, verify(&small(seed, policies)));
    for (seed, policies, report) in
        [(0, 8, FIRST.0.clone()), verified(1, 8), verified(u64::MAX, 24)]
    {
        assert!(report.passed(), "seed {seed}, {policies} policies\n{}", report.table(false));
    }
}

#[test]
fn each_row_says_what_was_measured_and_fits_the_page() {
    let report = &FIRST.0;
    for row in &report.rows {
        assert!(row.cases > 0 && row.method.is_some(), "{row:?}");
        assert!(row.check.chars().count() <= 56, "{row:?}");
        if let Some([low, high]) = row.interval {
            assert!(row.estimate.is_some_and(|mean| low <= mean && mean <= high), "{row:?}");
        }
    }
    let widest = report.table(true).lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(120), "{widest:?}\n{}", report.table(true));
}

#[test]
fn parts_count_up_to_the_end() {
    let parts = &FIRST.1;
    assert!((0..).zip(parts).all(|(count, [done, _])| *done == count), "{parts:?}");
    let [done, total] = parts.last().expect("there are parts");
    assert_eq!(done, total);
}

#[test]
fn rows_do_not_depend_on_the_number_of_threads() {
    let on = |threads: usize| -> Report {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads can be started").install(|| verify(&small(5, 8)))
    };
    let (one, many) = (on(1), on(7));
    let bits = |report: &Report| -> Vec<u64> {
        report.rows.iter().map(|row| row.worst.to_bits()).collect()
    };
    assert_eq!(one, many);
    assert_eq!(bits(&one), bits(&many));
}
