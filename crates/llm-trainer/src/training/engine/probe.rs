//! Finds a server that does not use the weights it was sent.
//!
//! After each reload the server and the trainer give the log-probabilities of the same tokens. Both move by the update; a server
//! that still has the former weights does not move, however far its rounding is from the trainer's.

use anyhow::{anyhow, bail};

/// Largest mean distance between server and trainer, in nats: rounding in bf16 makes hundredths, another model several.
const LARGEST_DISTANCE: f64 = 0.5;

/// Smallest movement of the trainer, as a root mean square in nats, under which an unmoved server in bf16 has to round otherwise.
const VISIBLE: f64 = 1e-4;

/// Parts of the trainer's movement by which a server that moves otherwise is named, and is refused; the least such, in roundings.
const NAMED_LAG: f64 = 1e-3;
const LARGEST_LAG: f64 = 0.02;
const ROUNDINGS: f64 = 10.0;

/// Least rounding that is counted on, in nats: log-probabilities of some -10 are about this far apart in f32.
const RESOLUTION: f64 = 1e-6;

/// Log-probabilities of the probe's tokens under the same weights.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    pub(super) trainer: Vec<f64>,
    pub(super) server: Vec<f64>,
}

/// Compares a server with the trainer; `before` is the reading at the last reload, if this server had one. Returns a warning where it
/// has moved a little otherwise. Fails if the server draws from another policy, or has not moved with the trainer.
pub(super) fn check(before: Option<&Reading>, now: &Reading) -> anyhow::Result<Option<String>> {
    let warning = before.map_or(Ok(None), |before| check_movement(before, now))?;
    let count = now.trainer.len() as f64;
    let distance = difference(&now.server, &now.trainer).map(f64::abs).sum::<f64>() / count;
    // A NaN is no small distance.
    if !matches!(distance.partial_cmp(&LARGEST_DISTANCE), Some(std::cmp::Ordering::Less)) {
        bail!(
            "its log-probabilities of a fixed text are {distance:.3} nat a token from the trainer's, expected at most \
             {LARGEST_DISTANCE}: it serves another model or other weights"
        );
    }
    Ok(warning)
}

fn check_movement(before: &Reading, now: &Reading) -> anyhow::Result<Option<String>> {
    let trainer: Vec<f64> = difference(&now.trainer, &before.trainer).collect();
    let server: Vec<f64> = difference(&now.server, &before.server).collect();
    let movement = root_mean_square(trainer.iter().copied());
    let lag = root_mean_square(difference(&server, &trainer));
    let rounding = root_mean_square(difference(&before.server, &before.trainer)).max(RESOLUTION);
    let is_unmoved = movement > VISIBLE && server.iter().all(|moved| moved.abs() <= 0.0);
    let lags = |part: f64| lag > part * movement && lag > ROUNDINGS * rounding;
    if !is_unmoved && !lags(NAMED_LAG) {
        return Ok(None);
    }
    let name = if is_unmoved { "all" } else { "some" };
    let told = format!(
        "it still serves {name} of the weights of before the update: log-probabilities of a fixed text moved by {movement:.1e} nat in \
         the trainer, by {:.1e} in the server, and apart by {lag:.1e}",
        root_mean_square(server.iter().copied())
    );
    if is_unmoved || lags(LARGEST_LAG) { Err(anyhow!(told)) } else { Ok(Some(told)) }
}

fn root_mean_square(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), v| (sum + v * v, count + 1.0));
    (sum / f64::max(count, 1.0)).sqrt()
}

fn difference<'a>(a: &'a [f64], b: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    a.iter().zip(b).map(|(a, b)| a - b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Log-probabilities of the trainer that move by `step`, and a server's with `rounding` that sees the movement times `followed`.
    fn readings(step: f64, rounding: f64, followed: f64) -> (Reading, Reading) {
        let wave = |i: usize, pace: f64| (pace * i as f64).sin();
        let trainer: Vec<f64> = (0..48).map(|i| -3.0 + wave(i, 0.7)).collect();
        let moved: Vec<f64> = (0..48).map(|i| step * wave(i, 1.3)).collect();
        let read = |by: f64, pace: f64| {
            (0..48).map(|i| trainer[i] + by * moved[i] + rounding * wave(i, pace)).collect()
        };
        let now = trainer.iter().zip(&moved).map(|(a, b)| a + b).collect();
        let before = Reading { trainer: trainer.clone(), server: read(0.0, 2.1) };
        // An unmoved server repeats its bits.
        let pace = if followed == 0.0 { 2.1 } else { 2.9 };
        (before, Reading { trainer: now, server: read(followed, pace) })
    }

    #[test]
    fn a_server_that_moves_with_the_trainer_is_taken() {
        for (step, rounding) in [(1e-3, 1e-6), (1e-6, 1e-7), (0.1, 1e-2), (1e-6, 1e-2), (0.0, 1e-2)]
        {
            let (before, now) = readings(step, rounding, 1.0);
            assert_eq!(check(None, &before).unwrap(), None);
            assert_eq!(check(Some(&before), &now).unwrap(), None);
        }
        // Where the update moves less than an f32 tells, a reading that happened to be exact proves nothing.
        let (_, rounded) = readings(1.4e-6, 5e-7, 1.0);
        let (exact, _) = readings(1.4e-6, 0.0, 1.0);
        assert_eq!(check(Some(&exact), &rounded).unwrap(), None);
    }

    #[test]
    fn a_server_that_does_not_move_is_named_at_once() {
        // In f32 by its rounding, in bf16 because it repeats itself to the bit.
        for (step, rounding) in [(1e-4, 1e-7), (1e-3, 1e-6), (1e-3, 1e-2), (0.1, 1e-2)] {
            let (before, now) = readings(step, rounding, 0.0);
            let error = check(Some(&before), &now).unwrap_err().to_string();
            assert!(error.starts_with("it still serves"), "{step}: {error}");
        }
        // vLLM 0.32 on a CPU keeps the head of a model whose head is the embedding.
        let (before, now) = readings(1e-3, 1e-6, 0.9);
        let error = check(Some(&before), &now).unwrap_err().to_string();
        assert!(error.starts_with("it still serves some of the weights"), "{error}");
        // At small learning rates the head lags by little.
        let (before, now) = readings(5e-3, 1e-7, 0.99);
        let warning = check(Some(&before), &now).unwrap().unwrap();
        assert!(warning.starts_with("it still serves some of the weights"), "{warning}");
    }

    #[test]
    fn another_model_is_named_at_the_first_reload() {
        let (before, _) = readings(0.0, 1e-3, 1.0);
        let other = Reading { server: before.server.iter().map(|l| l - 0.6).collect(), ..before };
        assert!(check(None, &other).unwrap_err().to_string().contains("serves another model"));
        let silent = Reading { server: vec![f64::NAN; 48], ..other };
        check(None, &silent).unwrap_err();
    }
}
