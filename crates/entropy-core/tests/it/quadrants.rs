//! The four kinds of tokens: pushed up or down, likely or unlikely.

use entropy_core::{Quadrant, Quadrants};

#[test]
fn each_token_falls_into_one_quadrant() {
    let advantage = [1.0, 2.0, -1.0, -0.5, 0.0, 3.0];
    let centred = [0.5, -0.5, 0.25, -1.0, 0.1, 0.0];
    let covariance: Vec<f64> = std::iter::zip(advantage, centred).map(|(a, c)| a * c).collect();
    let quadrants = Quadrants::of(&advantage, &centred, &covariance);
    let expected = Quadrants {
        up_likely: Quadrant { tokens: 2, covariance: 0.5 },
        up_unlikely: Quadrant { tokens: 1, covariance: -1.0 },
        down_likely: Quadrant { tokens: 1, covariance: -0.25 },
        down_unlikely: Quadrant { tokens: 1, covariance: 0.5 },
        still: Quadrant { tokens: 1, covariance: 0.0 },
    };
    assert_eq!(quadrants, expected);
}
