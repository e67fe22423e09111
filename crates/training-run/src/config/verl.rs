//! Keys of verl and the fields they stand for here.

/// Keys of verl's `ppo_trainer.yaml`, and of its entropy recipe, with the field of the same meaning.
pub const VERL_KEYS: &[(&str, &str)] = &[
    ("data.train_files", "data.train"),
    ("data.val_files", "data.evaluation"),
    ("data.prompt_key", "data.train.file.problem_field"),
    ("data.train_batch_size", "rollout.prompts_per_step"),
    ("data.gen_batch_size", "dynamic_sampling.oversampling"),
    ("data.max_prompt_length", "data.max_prompt_tokens"),
    ("data.max_response_length", "rollout.max_response_tokens"),
    ("data.truncation", "data.over_long_prompts"),
    ("data.filter_overlong_prompts", "data.over_long_prompts"),
    ("data.seed", "seed"),
    ("actor_rollout_ref.model.path", "model.path"),
    ("actor_rollout_ref.model.lora_rank", "lora.rank"),
    ("actor_rollout_ref.model.lora_alpha", "lora.alpha"),
    ("actor_rollout_ref.actor.optim.lr", "optimizer.learning_rate"),
    ("actor_rollout_ref.actor.optim.weight_decay", "optimizer.weight_decay"),
    ("actor_rollout_ref.actor.optim.betas", "optimizer.betas"),
    ("actor_rollout_ref.actor.optim.lr_warmup_steps", "optimizer.warmup_steps"),
    ("actor_rollout_ref.actor.grad_clip", "optimizer.max_grad_norm"),
    ("actor_rollout_ref.actor.ppo_mini_batch_size", "algorithm.mini_batch_prompts"),
    ("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu", "training.micro_batch_tokens"),
    ("actor_rollout_ref.actor.ppo_max_token_len_per_gpu", "training.micro_batch_tokens"),
    ("actor_rollout_ref.actor.ppo_epochs", "algorithm.epochs"),
    ("actor_rollout_ref.actor.entropy_coeff", "algorithm.entropy_coefficient"),
    ("actor_rollout_ref.actor.loss_agg_mode", "algorithm.aggregation"),
    ("actor_rollout_ref.actor.clip_ratio", "algorithm.policy_loss.ppo-clip.clip_ratio_low"),
    ("actor_rollout_ref.actor.clip_ratio_low", "algorithm.policy_loss.ppo-clip.clip_ratio_low"),
    ("actor_rollout_ref.actor.clip_ratio_high", "algorithm.policy_loss.ppo-clip.clip_ratio_high"),
    ("actor_rollout_ref.actor.clip_ratio_c", "algorithm.policy_loss.ppo-clip.clip_ratio_c"),
    ("actor_rollout_ref.actor.use_kl_loss", "algorithm.reference_kl.placement"),
    ("actor_rollout_ref.actor.kl_loss_coef", "algorithm.reference_kl.coefficient.fixed"),
    ("actor_rollout_ref.actor.kl_loss_type", "algorithm.reference_kl.estimator"),
    ("actor_rollout_ref.actor.policy_loss.loss_mode", "algorithm.policy_loss"),
    (
        "actor_rollout_ref.actor.policy_loss.clip_cov_ratio",
        "algorithm.policy_loss.clip-cov.fraction",
    ),
    (
        "actor_rollout_ref.actor.policy_loss.clip_cov_lb",
        "algorithm.policy_loss.clip-cov.covariance_low",
    ),
    (
        "actor_rollout_ref.actor.policy_loss.clip_cov_ub",
        "algorithm.policy_loss.clip-cov.covariance_high",
    ),
    ("actor_rollout_ref.actor.policy_loss.kl_cov_ratio", "algorithm.policy_loss.kl-cov.fraction"),
    ("actor_rollout_ref.actor.policy_loss.ppo_kl_coef", "algorithm.policy_loss.kl-cov.coefficient"),
    ("actor_rollout_ref.actor.fsdp_config.optimizer_offload", "parallel.offload_optimizer"),
    ("actor_rollout_ref.rollout.name", "rollout.engine"),
    ("actor_rollout_ref.rollout.n", "rollout.group_size"),
    ("actor_rollout_ref.rollout.temperature", "rollout.temperature"),
    ("actor_rollout_ref.rollout.top_p", "rollout.top_p"),
    ("actor_rollout_ref.rollout.top_k", "rollout.top_k"),
    ("actor_rollout_ref.rollout.tensor_model_parallel_size", "parallel.tensor"),
    ("actor_rollout_ref.rollout.val_kwargs.n", "evaluation.samples"),
    ("actor_rollout_ref.rollout.val_kwargs.temperature", "evaluation.temperature"),
    ("algorithm.adv_estimator", "algorithm.advantage"),
    ("algorithm.use_kl_in_reward", "algorithm.reference_kl.placement"),
    ("algorithm.kl_penalty", "algorithm.reference_kl.estimator"),
    ("algorithm.kl_ctrl.kl_coef", "algorithm.reference_kl.coefficient.fixed"),
    ("algorithm.rollout_correction.bypass_mode", "algorithm.ratio_to"),
    ("algorithm.filter_groups.enable", "dynamic_sampling.enabled"),
    ("algorithm.filter_groups.max_num_gen_batches", "dynamic_sampling.max_batches"),
    ("reward_model.overlong_buffer.len", "reward.overlong.soft-buffer.buffer_tokens"),
    ("reward_model.overlong_buffer.penalty_factor", "reward.overlong.soft-buffer.penalty_factor"),
    ("custom_reward_function.path", "reward.custom"),
    ("trainer.total_training_steps", "training.steps"),
    ("trainer.total_epochs", "training.steps"),
    ("trainer.save_freq", "checkpoint.every"),
    ("trainer.max_actor_ckpt_to_keep", "checkpoint.keep"),
    ("trainer.test_freq", "evaluation.every"),
    ("trainer.experiment_name", "name"),
    ("trainer.default_local_dir", "output_directory"),
    ("trainer.logger", "metrics.tensorboard"),
];

/// Most keys of a file that a message names.
const NAMED: usize = 3;

/// Page with all keys.
const PAGE: &str = "docs/configuration.md#keys-of-verl";

/// Names our field for a key of verl; `None` for any other key.
pub(super) fn here(key: &str) -> Option<String> {
    let key = key.trim_start_matches('+');
    let (_, field) = VERL_KEYS.iter().find(|(verl, _)| *verl == key)?;
    Some(format!("`{key}` is a key of verl, here it is `{field}` ({PAGE})"))
}

/// Names our fields for the keys of verl in a file that contain the name `unknown`.
pub(super) fn keys_here<'a>(keys: impl Iterator<Item = &'a str>, unknown: &str) -> Option<String> {
    let of_verl = |key: &str| VERL_KEYS.iter().find(|(verl, _)| *verl == key);
    let with_name = keys.filter(|key| key.split('.').any(|part| part == unknown));
    let named: Vec<String> = with_name
        .filter_map(of_verl)
        .take(NAMED)
        .map(|(key, field)| format!("`{key}` is `{field}`"))
        .collect();
    (!named.is_empty()).then(|| format!("of verl's keys, {} here ({PAGE})", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::load::check_known;
    use super::*;

    #[test]
    fn every_key_of_verl_leads_to_a_field_and_stands_once() {
        for (index, (verl, field)) in VERL_KEYS.iter().enumerate() {
            assert_eq!(check_known(field), Ok(()), "{verl}");
            assert!(!VERL_KEYS[..index].iter().any(|(other, _)| other == verl), "{verl} twice");
        }
    }
}
