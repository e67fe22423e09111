//! Steps with narrow parameters or moments: each piece is widened, stepped and rounded.

use counter_rng::{Purpose, rounding_key};
use tch::{Device, Kind, Tensor};
use torch_ext::{Numbers, NumbersMut, TorchError, change_numbers};

use super::host_step::{Factors, Gradient, Moment, Run, Weight};
use super::precision::{is_narrow, wide_kind};
use super::{AdamW, MasterCopy, pieces};
use crate::training::split_weight::{joined, nearest, split};
use crate::training::stochastic_rounding::RoundingNoise;

/// Elements that libtorch's operators widen at a time on the CPU, to fit its caches.
const PIECE_ELEMENTS: i64 = 1 << 17;

impl AdamW {
    /// Keys of the noise for the moments and the parameter.
    fn keys(&self, index: usize) -> [[u32; 2]; 2] {
        let name = self.places[index].name_with_shard();
        [Purpose::MomentRounding, Purpose::WeightRounding]
            .map(|purpose| rounding_key(self.seed, purpose, self.applied, &name))
    }

    /// Takes the step by loops over the CPU's memory. Returns `None` and does nothing unless all tensors are there, in f32 or
    /// narrower.
    pub(super) fn step_on_host(
        &mut self,
        index: usize,
        gradient: &Tensor,
        scale: Option<f64>,
        learning_rate: f64,
    ) -> Option<()> {
        // Reading the step count would wait for another device.
        if gradient.device() != Device::Cpu {
            return None;
        }
        let factors = self.factors(index, scale, learning_rate);
        let first = u32::try_from(self.places[index].start().rem_euclid(1 << 32)).ok()?;
        let threads = usize::try_from(tch::get_num_threads()).unwrap_or(1);
        let mut parameter = self.parameters[index].detach();
        let mut written =
            vec![&mut self.first_moments[index], &mut self.second_moments[index], &mut parameter];
        match &mut self.master_copies[index] {
            MasterCopy::None => {}
            MasterCopy::Full(copy) | MasterCopy::LowerHalf(copy) => written.push(copy),
        }
        change_numbers(&gradient.reshape(-1), &mut written, |gradient, written| {
            let gradient = match gradient {
                Numbers::F32(wide) => Gradient::Wide(wide),
                Numbers::Bf16(narrow) => Gradient::Narrow(narrow),
            };
            let mut written = written.into_iter();
            let moments = [moment(written.next()?), moment(written.next()?)];
            let weight = weight(written.next()?, written.next())?;
            Run { first, gradient, weight, moments }.step(&factors, threads);
            Some(())
        })?
    }

    #[expect(clippy::cast_possible_truncation, reason = "the step is computed in f32")]
    pub(super) fn factors(&self, index: usize, scale: Option<f64>, learning_rate: f64) -> Factors {
        let options = &self.options;
        let (first, second) = options.betas;
        let step = self.steps[index].double_value(&[]);
        Factors {
            gradient: scale.unwrap_or(1.0) as f32,
            decay: (learning_rate * options.weight_decay) as f32,
            first: (1.0 - first) as f32,
            second_kept: second as f32,
            second: (1.0 - second) as f32,
            root_correction: (1.0 - second.powf(step)).sqrt() as f32,
            epsilon: options.epsilon as f32,
            step_size: (learning_rate / (1.0 - first.powf(step))) as f32,
            keys: self.keys(index),
        }
    }

    /// Takes the step by libtorch's operators, on any device.
    pub(super) fn step_narrow(
        &self,
        index: usize,
        gradient: &Tensor,
        scale: Option<f64>,
        learning_rate: f64,
    ) -> Result<(), TorchError> {
        let [of_moments, of_weight] = self.keys(index);
        let gradient = gradient.reshape(-1);
        let (first, second) =
            (self.first_moments[index].view(-1), self.second_moments[index].view(-1));
        let parameter = self.parameters[index].detach().view(-1);
        let master_copy = match &self.master_copies[index] {
            MasterCopy::None => parameter.shallow_clone(),
            MasterCopy::Full(tensor) | MasterCopy::LowerHalf(tensor) => tensor.view(-1),
        };
        let kind = wide_kind(&parameter);
        for (start, count) in pieces(&parameter, PIECE_ELEMENTS) {
            let piece = |tensor: &Tensor| tensor.narrow(0, start, count);
            // Wide tensors share this memory.
            let wide = |tensor: &Tensor| piece(tensor).to_kind(kind);
            let first_element = self.places[index].start() + start;
            let noise = |key| RoundingNoise::new(key, first_element, count, master_copy.device());
            let mut gradient = self.memory.place(&piece(&gradient)).to_kind(kind);
            if let Some(scale) = scale {
                let _same = gradient.g_mul_scalar_(scale);
            }
            let weight = match &self.master_copies[index] {
                MasterCopy::None | MasterCopy::Full(_) => wide(&master_copy),
                MasterCopy::LowerHalf(_) => joined(&piece(&parameter), &piece(&master_copy)),
            };
            let (wide_first, wide_second) = (wide(&first), wide(&second));
            let moments = [&wide_first, &wide_second];
            self.apply(&weight, &gradient, moments, &self.steps[index], learning_rate)?;
            if first.kind() != wide_first.kind() {
                let (narrow_first, narrow_second) =
                    noise(of_moments).round(&wide_first, &wide_second);
                piece(&first).copy_(&narrow_first);
                piece(&second).copy_(&narrow_second);
            }
            match &self.master_copies[index] {
                MasterCopy::None if parameter.kind() == Kind::BFloat16 => {
                    piece(&parameter).copy_(&noise(of_weight).round_one(&weight));
                }
                MasterCopy::None => {}
                MasterCopy::Full(_) if is_narrow(&parameter) => {
                    piece(&parameter).copy_(&nearest(&weight));
                }
                MasterCopy::Full(_) => piece(&parameter).copy_(&weight),
                MasterCopy::LowerHalf(_) => {
                    let (upper, lower) = split(&weight);
                    piece(&parameter).copy_(&upper);
                    piece(&master_copy).copy_(&lower);
                }
            }
        }
        Ok(())
    }
}

/// A parameter with its master weight, or the lower half of one. `None` for a wide parameter with a master weight.
fn weight<'a>(parameter: NumbersMut<'a>, copy: Option<NumbersMut<'a>>) -> Option<Weight<'a>> {
    use NumbersMut::{F32, Halves};
    Some(match (parameter, copy) {
        (F32(wide), None) => Weight::Wide(wide),
        (Halves(narrow), None) => Weight::Narrow(narrow),
        (Halves(parameter), Some(F32(master))) => Weight::Beside { parameter, master },
        (Halves(parameter), Some(Halves(lower))) => Weight::Split { parameter, lower },
        (F32(_), Some(_)) => return None,
    })
}

fn moment(numbers: NumbersMut<'_>) -> Moment<'_> {
    match numbers {
        NumbersMut::F32(wide) => Moment::Wide(wide),
        NumbersMut::Halves(narrow) => Moment::Narrow(narrow),
    }
}
