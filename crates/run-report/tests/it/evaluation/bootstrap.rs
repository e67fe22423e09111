//! Bootstrap intervals: means over resampled problems.

use run_report::evaluation::bootstrap::{Bootstrap, Resampled};

fn bootstrap(resamples: usize) -> Bootstrap {
    Bootstrap { resamples, ..Bootstrap::default() }
}

/// The interval of a mean of n values is nearly that of the normal law: mean ± 1.96 σ / √n.
#[test]
fn an_interval_of_many_problems_is_that_of_the_normal_law() {
    let values: Vec<f64> = (0..400).map(|i| f64::from(i % 5 == 0)).collect();
    let settings = bootstrap(20_000);
    let estimate = settings.estimate(&settings.resample(&[&values], 0)[0]);
    assert!((estimate.value - 0.2).abs() < 1e-15);
    let half = 1.959_964 * (0.2f64 * 0.8 / 400.0).sqrt();
    // The quantile of 20 000 draws errs by some 0.0004, the lattice of the mean by 0.00125.
    assert!((estimate.interval.low - (0.2 - half)).abs() < 3e-3, "{estimate:?}");
    assert!((estimate.interval.high - (0.2 + half)).abs() < 3e-3, "{estimate:?}");
}

/// Two problems, 0 and 1: the mean is 0, ½ or 1 with chances ¼, ½, ¼.
#[test]
fn the_distribution_of_two_problems_is_the_binomial() {
    let resampled = bootstrap(40_000).resample(&[&[0.0, 1.0]], 3).remove(0);
    let share = |mean: f64| {
        let equal = resampled.means.iter().filter(|&&found| (found - mean).abs() < 1e-12);
        equal.count() as f64 / 40_000.0
    };
    // Five standard errors.
    for (mean, chance) in [(0.0, 0.25), (0.5, 0.5), (1.0, 0.25)] {
        assert!((share(mean) - chance).abs() < 5.0 * (chance * (1.0 - chance) / 4e4).sqrt());
    }
}

#[test]
fn draws_depend_on_seed_and_stream_and_not_on_the_company() {
    let (first, second) = ([0.0, 1.0, 0.0, 0.5], [1.0, 0.0, 0.0, 0.25]);
    let alone = bootstrap(50).resample(&[&first], 1);
    assert_eq!(alone[0], bootstrap(50).resample(&[&second, &first], 1)[1]);
    assert_ne!(alone[0], bootstrap(50).resample(&[&first], 2)[0]);
    assert_ne!(alone[0], Bootstrap { seed: 9, ..bootstrap(50) }.resample(&[&first], 1)[0]);
}

#[test]
fn the_plain_mean_weighs_sets_equally() {
    let settings = bootstrap(100);
    let large = settings.resample(&[&[1.0; 100]], 0).remove(0);
    let small = settings.resample(&[&[0.0; 2]], 1).remove(0);
    let both = Resampled::plain_mean(&[&large, &small]);
    assert!((both.value - 0.5).abs() < 1e-15);
    assert!(both.means.iter().all(|mean| (mean - 0.5).abs() < 1e-15));
}

#[test]
fn settings_out_of_range_are_named() {
    assert_eq!(Bootstrap::default().fault(), None);
    let none = bootstrap(0).fault().unwrap();
    assert_eq!(none, "bootstrap.resamples is 0, expected at least 1");
    let sure = Bootstrap { level: 1.0, ..Bootstrap::default() }.fault().unwrap();
    assert_eq!(sure, "bootstrap.level is 1, expected above 0 and below 1");
}
