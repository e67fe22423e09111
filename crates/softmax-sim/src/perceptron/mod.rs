//! A small multi-layer perceptron with its own backward pass.

mod adam;

pub use adam::Adam;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use ndarray_rand::rand_distr::{Distribution, StandardNormal};
use rand::Rng;

const HIDDEN_GAIN: f64 = std::f64::consts::SQRT_2;

/// Layers `x W + b` with `tanh` between them; the last one is linear. Their parameters are given with each call.
///
/// All parameters stand in one vector, layer by layer, weights `[inputs, outputs]` before biases
/// `[outputs]`, so that an optimiser sees nothing else.
#[derive(Debug, Clone, PartialEq)]
pub struct Layers {
    sizes: Vec<usize>,
}

/// Values of a forward pass that the backward pass needs.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    /// Input of each layer, `[rows, inputs]`.
    inputs: Vec<Array2<f64>>,
    /// Output of the last layer, `[rows, outputs]`.
    pub(crate) output: Array2<f64>,
}

impl Layers {
    /// Layers between the given sizes, at least two, and parameters to begin with: weights orthogonal with gain √2, in the
    /// last layer with `last_gain`; biases 0.
    ///
    /// Source: Saxe et al. 2014, [arXiv:1312.6120](https://arxiv.org/abs/1312.6120); the gains are
    /// those usual with PPO (0.01 for a policy, 1 for a value).
    pub(crate) fn orthogonal(
        sizes: &[usize],
        last_gain: f64,
        rng: &mut impl Rng,
    ) -> (Self, Vec<f64>) {
        let mut parameters = Vec::new();
        for (layer, pair) in sizes.windows(2).enumerate() {
            let gain = if layer + 2 == sizes.len() { last_gain } else { HIDDEN_GAIN };
            parameters.extend((orthogonal(pair[0], pair[1], rng) * gain).iter());
            parameters.extend(std::iter::repeat_n(0.0, pair[1]));
        }
        (Self { sizes: sizes.to_vec() }, parameters)
    }

    pub(crate) fn parameter_count(&self) -> usize {
        offset(&self.sizes, self.sizes.len() - 1)
    }

    /// Applies the layers with `parameters` to `input`, `[rows, inputs]`.
    pub(crate) fn forward(&self, parameters: &[f64], input: Array2<f64>) -> Trace {
        let last = self.sizes.len() - 2;
        let mut inputs = Vec::with_capacity(last + 1);
        let mut signal = input;
        for layer in 0..=last {
            let (weight, bias) = self.layer(parameters, layer);
            let mut next = signal.dot(&weight);
            next += &bias;
            if layer < last {
                next.mapv_inplace(f64::tanh);
            }
            inputs.push(std::mem::replace(&mut signal, next));
        }
        Trace { inputs, output: signal }
    }

    /// Gradient with respect to all parameters, `[parameters]`, of a scalar whose gradient with
    /// respect to the output is `d_output`, `[rows, outputs]`.
    pub(crate) fn backward(
        &self,
        parameters: &[f64],
        trace: &Trace,
        d_output: Array2<f64>,
    ) -> Vec<f64> {
        let mut gradient = Vec::with_capacity(parameters.len());
        let mut d_signal = d_output;
        for (layer, input) in trace.inputs.iter().enumerate().rev() {
            let d_layer = input.t().dot(&d_signal).into_iter().chain(d_signal.sum_axis(Axis(0)));
            gradient.splice(0..0, d_layer);
            if layer > 0 {
                let mut d_input = d_signal.dot(&self.layer(parameters, layer).0.t());
                // The input is the tanh of the previous layer's sums.
                d_input.zip_mut_with(input, |slope, tanh| *slope *= 1.0 - tanh * tanh);
                d_signal = d_input;
            }
        }
        gradient
    }

    /// Slope of the output along `direction`, `[parameters]`: `[rows, outputs]`.
    pub(crate) fn tangent(
        &self,
        parameters: &[f64],
        trace: &Trace,
        direction: &[f64],
    ) -> Array2<f64> {
        let mut slope = Array2::zeros(trace.inputs[0].dim());
        for (layer, input) in trace.inputs.iter().enumerate() {
            if layer > 0 {
                // The input is the tanh of the previous layer's sums.
                slope.zip_mut_with(input, |slope, tanh| *slope *= 1.0 - tanh * tanh);
            }
            let (d_weight, d_bias) = self.layer(direction, layer);
            slope = slope.dot(&self.layer(parameters, layer).0) + input.dot(&d_weight) + d_bias;
        }
        slope
    }

    /// Weights `[inputs, outputs]` and biases `[outputs]` of a layer.
    fn layer<'a>(
        &self,
        parameters: &'a [f64],
        layer: usize,
    ) -> (ArrayView2<'a, f64>, ArrayView1<'a, f64>) {
        let (inputs, outputs) = (self.sizes[layer], self.sizes[layer + 1]);
        let (weight, bias) = parameters[offset(&self.sizes, layer)..].split_at(inputs * outputs);
        let weight = ArrayView2::from_shape((inputs, outputs), weight).expect("split to size");
        (weight, ArrayView1::from(&bias[..outputs]))
    }
}

fn offset(sizes: &[usize], layer: usize) -> usize {
    sizes.windows(2).take(layer).map(|pair| pair[0] * pair[1] + pair[1]).sum()
}

/// A matrix `[rows, columns]` drawn uniformly from those whose shorter side is orthonormal.
///
/// Gram–Schmidt on normal vectors, done twice, so that they are orthogonal to rounding.
fn orthogonal(rows: usize, columns: usize, rng: &mut impl Rng) -> Array2<f64> {
    let (long, short) = (rows.max(columns), rows.min(columns));
    let mut vectors: Array2<f64> =
        Array2::from_shape_simple_fn((short, long), || StandardNormal.sample(rng));
    for index in 0..short {
        let (done, mut rest) = vectors.view_mut().split_at(Axis(0), index);
        let mut vector = rest.row_mut(0);
        for _ in 0..2 {
            for other in done.rows() {
                let overlap = other.dot(&vector);
                vector.scaled_add(-overlap, &other);
            }
        }
        let norm = vector.dot(&vector).sqrt();
        vector.mapv_inplace(|x| x / norm);
    }
    if rows >= columns { vectors.reversed_axes() } else { vectors }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn gradient_is_the_central_difference() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (layers, mut parameters) = Layers::orthogonal(&[3, 5, 4, 2], 1.0, &mut rng);
        for parameter in &mut parameters {
            *parameter += rng.random_range(-0.1..0.1);
        }
        let random = |shape, rng: &mut ChaCha8Rng| {
            Array2::from_shape_simple_fn(shape, || rng.random_range(-1.0..1.0))
        };
        let (input, slope_of_output) = (random((7, 3), &mut rng), random((7, 2), &mut rng));
        let scalar = |parameters: &[f64]| {
            let output = layers.forward(parameters, input.clone()).output;
            // Not linear in the output, so that the point of evaluation matters.
            (&output * &output * &slope_of_output).sum() / 2.0
        };
        let trace = layers.forward(&parameters, input.clone());
        let gradient = layers.backward(&parameters, &trace, &trace.output * &slope_of_output);
        assert_eq!(gradient.len(), 3 * 5 + 5 + 5 * 4 + 4 + 4 * 2 + 2);
        for (index, slope) in gradient.iter().enumerate() {
            let mut moved = parameters.clone();
            let width = 1e-5;
            moved[index] = parameters[index] + width;
            let above = scalar(&moved);
            moved[index] = parameters[index] - width;
            let difference = (above - scalar(&moved)) / (2.0 * width);
            assert!((difference - slope).abs() < 1e-9, "{index}: {difference} for {slope}");
            // The slope along one parameter, forwards.
            let mut direction = vec![0.0; gradient.len()];
            direction[index] = 1.0;
            let tangent = layers.tangent(&parameters, &trace, &direction);
            let along = (&trace.output * &slope_of_output * &tangent).sum();
            assert!((along - slope).abs() < 1e-12, "{index}: {along} for {slope}");
        }
    }

    #[test]
    fn the_shorter_side_is_orthonormal() {
        for (rows, columns) in [(4, 64), (64, 64), (64, 2), (1, 1)] {
            let matrix = orthogonal(rows, columns, &mut ChaCha8Rng::seed_from_u64(1));
            assert_eq!(matrix.dim(), (rows, columns));
            let gram =
                if rows >= columns { matrix.t().dot(&matrix) } else { matrix.dot(&matrix.t()) };
            let error = (&gram - &Array2::<f64>::eye(rows.min(columns)))
                .fold(0.0, |worst: f64, x| worst.max(x.abs()));
            assert!(error < 1e-14, "{rows} by {columns}: {error}");
        }
    }
}
