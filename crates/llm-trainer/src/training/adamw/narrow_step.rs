//! Steps with narrow parameters or moments: each piece is widened, stepped and rounded.

use counter_rng::{Purpose, rounding_key};
use decoder::head::statistics_kind;
use tch::{Device, Tensor};
use torch_ext::{AdamwFactors, NumbersMut, TorchError, change_numbers};

use super::host_step::Run;
use super::{AdamW, Slope, Stepped, pieces};
use crate::training::split_weight::{is_narrow, joined, nearest, split};
use crate::training::stochastic_rounding::{round_up, rounding_noise};

/// Elements that libtorch's operators widen at a time on the CPU, to fit its caches.
const PIECE_ELEMENTS: i64 = 1 << 17;

impl AdamW {
    /// Keys of the noise for the moments and the parameter.
    fn keys(&self, index: usize) -> [[u32; 2]; 2] {
        let name = self.tensors[index].place.name_with_shard();
        [Purpose::MomentRounding, Purpose::WeightRounding]
            .map(|purpose| rounding_key(self.seed, purpose, self.applied, &name))
    }

    /// Takes the step by loops over the CPU's memory. Returns `None` and does nothing unless all tensors are there, at most in f32.
    pub(super) fn step_on_host(&mut self, index: usize, slope: Slope<'_>) -> Option<()> {
        if slope.gradient.device() != Device::Cpu {
            return None;
        }
        let factors = self.factors(index, slope);
        let Stepped { parameter, place, copy, moments: [momentum, variance], .. } =
            &mut self.tensors[index];
        let first = u32::try_from(place.start().rem_euclid(1 << 32)).ok()?;
        let threads = usize::try_from(tch::get_num_threads()).unwrap_or(1);
        let mut parameter = parameter.detach();
        let mut written = vec![momentum, variance, &mut parameter];
        written.extend(copy);
        change_numbers(&slope.gradient.reshape(-1), &mut written, |gradient, written| {
            let mut written = written.into_iter();
            let moments = [written.next()?, written.next()?];
            let (parameter, copy) = (written.next()?, written.next());
            // The loops take no wide parameter with a copy: `Run::step` would panic.
            if matches!((&parameter, &copy), (NumbersMut::F32(_), Some(_))) {
                return None;
            }
            Run { first, gradient, parameter, copy, moments }.step(&factors, threads);
            Some(())
        })?
    }

    /// Constant factors of the step of tensor `index`.
    #[expect(clippy::cast_possible_truncation, reason = "the step is computed in f32")]
    pub(super) fn factors(&self, index: usize, slope: Slope<'_>) -> AdamwFactors {
        let Slope { scale, learning_rate, .. } = slope;
        let options = &self.options;
        let (first, second) = options.betas;
        let step = self.applied as f64;
        let numbers = [
            scale.unwrap_or(1.0),
            learning_rate * options.weight_decay,
            1.0 - first,
            second,
            1.0 - second,
            (1.0 - second.powf(step)).sqrt(),
            options.epsilon,
            learning_rate / (1.0 - first.powf(step)),
        ];
        AdamwFactors { numbers: numbers.map(|number| number as f32), keys: self.keys(index) }
    }

    /// Takes the step by libtorch's operators, on any device.
    pub(super) fn step_narrow(&self, index: usize, slope: Slope<'_>) -> Result<(), TorchError> {
        let [of_moments, of_weight] = self.keys(index);
        let gradient = slope.gradient.reshape(-1);
        let stepped = &self.tensors[index];
        let is_split = stepped.is_split();
        let [first, second] = stepped.moments.each_ref().map(|moment| moment.view(-1));
        let parameter = stepped.parameter.detach().view(-1);
        let copy = stepped.copy.as_ref().map(|copy| copy.view(-1));
        let kept = copy.as_ref().unwrap_or(&parameter);
        let (kind, steps) = (statistics_kind(&parameter), self.steps(kept.device()));
        for (start, count) in pieces(&parameter, PIECE_ELEMENTS) {
            let piece = |tensor: &Tensor| tensor.narrow(0, start, count);
            // Wide tensors share this memory.
            let wide = |tensor: &Tensor| piece(tensor).to_kind(kind);
            let noise =
                |key| rounding_noise(key, stepped.place.start() + start, count, kept.device());
            let mut gradient = self.memory.place(&piece(&gradient)).to_kind(kind);
            if let Some(scale) = slope.scale {
                let _same = gradient.g_mul_scalar_(scale);
            }
            let weight = match &copy {
                Some(lower) if is_split => joined(&piece(&parameter), &piece(lower)),
                _ => wide(kept),
            };
            let (wide_first, wide_second) = (wide(&first), wide(&second));
            let moments = [&wide_first, &wide_second];
            self.apply(&weight, &gradient, moments, &steps, slope.learning_rate)?;
            if first.kind() != wide_first.kind() {
                let noise = noise(of_moments);
                piece(&first).copy_(&round_up(&wide_first, &noise, 0));
                piece(&second).copy_(&round_up(&wide_second, &noise, 16));
            }
            let mut parameter = piece(&parameter);
            match &copy {
                None if is_narrow(&parameter) => {
                    parameter.copy_(&round_up(&weight, &noise(of_weight), 0));
                }
                None => {}
                Some(lower) if is_split => {
                    let (upper, rest) = split(&weight);
                    parameter.copy_(&upper);
                    piece(lower).copy_(&rest);
                }
                Some(_) if is_narrow(&parameter) => parameter.copy_(&nearest(&weight)),
                Some(_) => parameter.copy_(&weight),
            }
        }
        Ok(())
    }
}
