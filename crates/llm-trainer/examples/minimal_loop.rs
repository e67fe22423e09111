//! The whole algorithm in one page: sample, reward, advantage, plan, loss, gradient, step.
//!
//! `cargo run --release -p llm-trainer --example minimal_loop -- MODEL`, where MODEL is a Hugging Face directory; the recorded
//! `crates/llm-trainer/tests/fixtures/tiny_qwen2_tied` has random weights and learns on one core. The engine is that of `llm-trainer train`,
//! which adds what a run needs around it: data, evaluation, checkpoints, ranks, reports.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use decoder::generation::{GenerationOptions, PromptRequest, SamplingKey, generate};
use decoder::model::Decoder;
use llm_trainer::host_memory::Memory;
use llm_trainer::training::adamw::AdamW;
use llm_trainer::training::policy_pass::{Cotangent, PolicyPass, Sequence};
use model_files::text_tokenizer::TextTokenizer;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use ranks::Ranks;
use rl_losses::{
    Aggregation, GroupNormalisation, KlCov, PolicyLoss, TokenBatch, TokenColumns,
    broadcast_to_tokens, group_relative_advantages,
};
use tch::{Device, Kind};
use training_run::config::OptimizerSection;

const QUESTIONS: [&str; 4] = ["Name a number:", "How many?", "2+3=", "A year:"];
const GROUP_SIZE: usize = 16;
const RESPONSE_TOKENS: usize = 8;
const UPDATES_A_STEP: usize = 2;
const LEARNING_RATE: f64 = 2e-4;
const SEED: u64 = 1;

/// Measurements of one step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    /// Mean reward of the responses, 0 to 1.
    pub(crate) reward: f64,
    /// Mean entropy of the policy over the response tokens before the update, in nats.
    pub(crate) entropy: f64,
}

/// Reward of a response: the fraction of its characters that are digits.
fn reward(response: &str) -> f64 {
    let digits = response.chars().filter(char::is_ascii_digit).count();
    digits as f64 / response.chars().count().max(1) as f64
}

/// Trains the model in memory by KL-Cov and prints a line a step.
///
/// # Errors
///
/// If the model cannot be loaded, its statistics are not finite, or `out` cannot be written.
#[expect(clippy::too_many_lines, reason = "the whole algorithm, read from top to bottom")]
pub(crate) fn run(model: &Path, steps: u64, out: &mut impl Write) -> anyhow::Result<Vec<Measured>> {
    let policy = Decoder::load(model, Device::Cpu, Kind::Float)?;
    policy.set_trainable(true);
    let tokenizer = TextTokenizer::load(model)?;
    let stop_ids = tokenizer.eos_ids(model)?;
    let prompts: Vec<Vec<u32>> =
        QUESTIONS.iter().map(|question| tokenizer.encode(question)).collect::<Result<_, _>>()?;
    let options = GenerationOptions {
        samples: GROUP_SIZE,
        max_new_tokens: RESPONSE_TOKENS,
        stop_ids,
        ..GenerationOptions::default()
    };
    let pass = PolicyPass {
        model: &policy,
        temperature: options.sampling.temperature,
        micro_batch_tokens: 4096,
        activation_bytes: 0,
        block_inputs: Memory::Device,
        with_squared_scores: false,
    };
    let loss = PolicyLoss::KlCov(KlCov::new(0.02, 1.0)?);
    let mut optimizer = AdamW::new(&policy, &OptimizerSection::default(), SEED);
    let mut selection = ChaCha8Rng::seed_from_u64(SEED);
    let mut measured = Vec::new();

    for step in 1..=steps {
        // Sample a group of responses to each question.
        let request = |(prompt, token_ids)| PromptRequest {
            token_ids,
            key: SamplingKey { seed: SEED, step, prompt },
        };
        let requests: Vec<PromptRequest<'_>> =
            (0..).zip(prompts.iter().map(Vec::as_slice)).map(request).collect();
        let responses = generate(&policy, &requests, &options)?;

        // Reward each, and compare it with its group.
        let mut rewards = Vec::new();
        for response in &responses {
            rewards.push(reward(&tokenizer.decode(&response.token_ids)?));
        }
        let groups = [GROUP_SIZE; QUESTIONS.len()];
        let advantages =
            group_relative_advantages(&rewards, &groups, GroupNormalisation::StandardDeviation)?;

        // Lay the response tokens end to end; their log-probabilities before any update.
        let sequences: Vec<Sequence> = responses
            .into_iter()
            .enumerate()
            .map(|(i, response)| Sequence::new(prompts[i / GROUP_SIZE].clone(), response.token_ids))
            .collect();
        let sequences: Vec<&Sequence> = sequences.iter().collect();
        let lengths: Vec<usize> = sequences.iter().map(|s| s.response.len()).collect();
        let advantage = broadcast_to_tokens(&advantages, &lengths);
        let old = pass.statistics(&sequences);

        for _ in 0..UPDATES_A_STEP {
            // Forward: log-probability and entropy of every response token.
            let forward = pass.checkpointed_forward(&sequences);
            let current = forward.statistics();
            // Plan: which tokens have the highest covariance, and what each token weighs.
            let columns = TokenColumns {
                log_prob: &current.log_prob,
                old_log_prob: &old.log_prob,
                advantage: &advantage,
            };
            let batch = TokenBatch::new(columns, &lengths)?;
            let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut selection)?;
            // Loss and its gradient with respect to each token's log-probability, backward through the model; then a step.
            let output = loss.evaluate(&batch, plan.part(0..batch.len()));
            forward.backward(&Cotangent { log_prob: output.grad_log_prob, entropy: None })?;
            optimizer.step(&Ranks::single(), LEARNING_RATE)?;
        }

        let mean = rewards.iter().sum::<f64>() / rewards.len() as f64;
        let now = Measured { reward: mean, entropy: old.mean_entropy() };
        writeln!(out, "step {step:>3}  reward {:.3}  entropy {:.3} nat", now.reward, now.entropy)?;
        measured.push(now);
    }
    Ok(measured)
}

fn main() -> anyhow::Result<()> {
    let model = std::env::args_os().nth(1).context("expected a Hugging Face directory")?;
    run(Path::new(&model), 40, &mut io::stdout().lock()).map(drop)
}
