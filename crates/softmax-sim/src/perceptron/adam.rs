//! The Adam optimiser.

const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
/// Keeps the step of a parameter without gradient at 0; the value usual with PPO.
const EPSILON: f64 = 1e-5;

/// Adam with bias correction, `β = (0.9, 0.999)` and `ε = 1e-5`.
///
/// Source: Kingma and Ba 2015, [Algorithm 1](https://arxiv.org/abs/1412.6980).
#[derive(Debug, Clone, PartialEq)]
pub struct Adam {
    steps: i32,
    mean: Vec<f64>,
    mean_square: Vec<f64>,
}

impl Adam {
    /// At rest, for so many parameters.
    pub fn new(parameters: usize) -> Self {
        Self { steps: 0, mean: vec![0.0; parameters], mean_square: vec![0.0; parameters] }
    }

    /// Moves `parameters` down `gradient`, both `[parameters]`.
    ///
    /// # Panics
    ///
    /// If either has not as many values as there are parameters.
    pub fn step(&mut self, learning_rate: f64, gradient: &[f64], parameters: &mut [f64]) {
        assert_eq!(gradient.len(), self.mean.len(), "one slope per parameter");
        assert_eq!(parameters.len(), self.mean.len(), "the parameters it was made for");
        self.steps += 1;
        let correction = |beta: f64| 1.0 - beta.powi(self.steps);
        let (first, second) = (correction(BETA_1), correction(BETA_2));
        let moments = std::iter::zip(&mut self.mean, &mut self.mean_square);
        for ((parameter, slope), (mean, square)) in
            std::iter::zip(parameters, gradient).zip(moments)
        {
            *mean += (1.0 - BETA_1) * (slope - *mean);
            *square += (1.0 - BETA_2) * (slope * slope - *square);
            *parameter -= learning_rate * (*mean / first) / ((*square / second).sqrt() + EPSILON);
        }
    }
}
