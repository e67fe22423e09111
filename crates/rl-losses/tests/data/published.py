#!/usr/bin/env python3
"""Records what functions of verl, TRL, prime-rl, SkyRL, ROLL, BAPO and Trinity-RFT return on two small batches: published.json.

    pip install torch numpy
    python published.py VERL TRL PRIME_RL SKYRL ROLL BAPO TRINITY > published.json   # folders with their sources

Each function is taken out of its file by name and runs as it stands, without its package. The cases are replayed by
tests/it/conformance. Recorded at verl 1dda039b9, TRL f2cd57710, prime-rl 559b44772, SkyRL a9564572e, ROLL 8eb27cc2,
BAPO 728704444, Trinity-RFT e8be7740b.
"""
import ast
import json
import math
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

torch.set_default_dtype(torch.float64)
VERL, TRL, PRIME_RL, SKYRL, ROLL, BAPO, TRINITY = (Path(folder) for folder in sys.argv[1:8])


def taken(path, *names, **known):
    """The functions of a file by name, methods among them, with `known` for what they refer to."""
    text = path.read_text()
    inside = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and node.name in names]
    for node in inside:
        node.decorator_list = []
    future = ast.parse("from __future__ import annotations").body
    scope = {**dict(torch=torch, math=math, np=np, defaultdict=defaultdict), **known}
    exec(compile(ast.fix_missing_locations(ast.Module(body=future + inside, type_ignores=[])), path.name, "exec"), scope)
    return SimpleNamespace(**{name: scope[name] for name in names})


class Doubles:
    """Torch or numpy, where what is asked for in f32 is f64."""

    def __init__(self, module):
        self.module, self.float32 = module, module.float64

    def __getattr__(self, name):
        return getattr(self.module, name)


class Anything(SimpleNamespace):
    """A configuration or trainer: an attribute that is not set is None."""

    def __getattr__(self, name):
        return None


def batch(lengths, seed, spread):
    """Rows of padded tokens, one advantage a row, signs in turn."""
    rng, width = np.random.default_rng(seed), max(lengths)
    mask = torch.tensor([[float(t < n) for t in range(width)] for n in lengths])
    column = lambda low, high: torch.tensor(np.round(rng.uniform(low, high, mask.shape), 4))
    log_prob = column(-3.0, -0.05)
    old = (log_prob + column(-spread, spread)).clamp(max=-1e-3)
    rollout = (old + column(-0.3, 0.3)).clamp(max=-1e-3)
    sign = torch.tensor([1.0 if row % 2 else -1.0 for row in range(len(lengths))])[:, None]
    advantage = (sign * column(0.2, 1.5)[:, :1]).expand(mask.shape)
    rounded = lambda rows: torch.tensor(np.round(rows.numpy(), 4))
    return SimpleNamespace(mask=mask, log_prob=log_prob, old=rounded(old), rollout=rounded(rollout), advantage=advantage)


def loss_case(name, fn, b, params, loss_of):
    log_prob = b.log_prob.clone().requires_grad_()
    loss = loss_of(log_prob)
    loss.backward()
    rows = dict(old_log_prob=b.old, log_prob=b.log_prob, rollout_log_prob=b.rollout, advantages=b.advantage, response_mask=b.mask)
    outputs = dict(loss=loss.item(), grad_log_prob=log_prob.grad.tolist(), metrics={})
    return dict(name=name, fn=fn, inputs={key: value.tolist() for key, value in rows.items()}, params=params, outputs=outputs)


def verl_cases(b):
    functional = taken(VERL / "verl/utils/torch_functional.py", "masked_sum", "masked_mean")
    names = ["agg_loss", "compute_policy_loss_gspo", "compute_policy_loss_sapo", "compute_policy_loss_geo_mean"]
    core = taken(VERL / "verl/trainer/ppo/core_algos.py", *names, verl_F=functional, ActorConfig=Anything, AlgoConfig=int)
    for method, params, settings in [
        ("gspo", dict(clip_low=0.05, clip_high=0.05), dict(clip_ratio_low=0.05, clip_ratio_high=0.05)),
        ("sapo", dict(tau_pos=1.0, tau_neg=1.05), dict(tau_pos=1.0, tau_neg=1.05)),
        ("geo_mean", dict(clip_low=0.4, clip_high=0.4), dict(clip_ratio_low=0.4, clip_ratio_high=0.4)),
    ]:
        config = Anything(global_batch_info={}, **settings)
        loss = getattr(core, f"compute_policy_loss_{method}")
        mode = {} if method == "geo_mean" else dict(loss_agg_mode="seq-mean-token-mean")
        value = lambda log_prob: loss(b.old, log_prob, b.advantage, b.mask, config=config)[0]
        yield loss_case(f"{method}_short_rows", method, b, dict(params, **mode), value)


def correction_cases(b):
    functional = taken(VERL / "verl/utils/torch_functional.py", "masked_sum", "masked_mean")
    options = ["token_k1", "token_k2", "token_k3"]
    sequence = [f"seq_{over}_k{k}" for over in ("sum", "mean", "max") for k in (1, 2, 3) if (over, k) != ("max", 1)]
    known = dict(
        verl_F=functional, SAFETY_BOUND=20.0, TOKEN_LEVEL_ROLLOUT_RS_OPTIONS=set(options), SUPPORTED_ROLLOUT_RS_OPTIONS=set(options + sequence)
    )
    names = ["compute_rollout_correction_weights", "compute_rollout_rejection_mask", "compute_is_metrics", "compute_rs_metrics"]
    parsers = ["_parse_rollout_rs_thresholds", "_parse_rollout_is_threshold"]
    from typing import Any, Optional

    module = taken(VERL / "verl/trainer/ppo/rollout_corr_helper.py", *names, *parsers, Any=Any, Optional=Optional, **known)
    log_ratio = (b.old - b.rollout) * 2
    inputs = dict(log_ratio=log_ratio.tolist(), response_mask=b.mask.tolist())
    for level, threshold, normalise, option, bound in [
        ("token", 2.0, False, "seq_sum_k1", "0.4_2.5"),
        ("token", 2.0, True, "seq_mean_k1", "0.9_1.2"),
        ("token", "0.5_1.8", False, "token_k1", "0.6_1.7"),
        ("sequence", 2.0, False, "token_k2", "0.1"),
        ("sequence", 2.0, True, "seq_sum_k2", "0.2"),
        ("token", 1.5, False, "seq_mean_k3", "0.06"),
        ("token", 1.5, False, "seq_max_k3", "0.2"),
    ]:
        weights, _ = module.compute_rollout_correction_weights(log_ratio, b.mask, level, threshold, normalise)
        mask, _ = module.compute_rollout_rejection_mask(log_ratio, b.mask, option, bound)
        params = dict(level=level, threshold=threshold, normalise=normalise, option=option, bound=bound)
        outputs = dict(weights=(weights * mask).tolist())
        yield dict(name=f"correction_{level}_{option}", fn="rollout_rejection", inputs=inputs, params=params, outputs=outputs)


def trl_cases(b):
    path = TRL / "trl/trainer/grpo_trainer.py"
    methods = taken(path, "_compute_loss", "get_off_policy_mask", "get_gamma_weights", nanmin=torch.min, nanmax=torch.max)
    same = lambda value, **_: value
    for name, fn, params, loss_type, level in [
        ("vespo", "vespo", dict(k_pos=2.0, lambda_pos=3.0, k_neg=3.0, lambda_neg=2.0), "vespo", "token"),
        ("vespo_other", "vespo", dict(k_pos=0.5, lambda_pos=1.5, k_neg=1.0, lambda_neg=0.25), "vespo", "token"),
        ("luspo", "luspo", dict(clip_low=0.05, clip_high=0.1), "luspo", "sequence"),
        ("off_policy_mask", "off_policy_mask", dict(clip_low=0.2, clip_high=0.28, delta=0.1), "bnpo", "token"),
    ]:
        settings = {f"vespo_{key}": value for key, value in params.items()}
        trainer = Anything(
            args=Anything(**settings), loss_type=loss_type, importance_sampling_level=level, top_entropy_quantile=1.0, beta=0.0,
            epsilon_low=params.get("clip_low"), epsilon_high=params.get("clip_high"), off_policy_mask_threshold=params.get("delta"),
            current_gradient_accumulation_steps=1, model=Anything(training=True), _metrics=defaultdict(lambda: defaultdict(list)),
            accelerator=Anything(gather=same, reduce=same, num_processes=1),
            get_off_policy_mask=methods.get_off_policy_mask, get_gamma_weights=torch.no_grad()(methods.get_gamma_weights),
        )
        nothing = torch.zeros_like(b.mask[:, :0])
        inputs = dict(
            prompt_ids=nothing, prompt_mask=nothing, completion_ids=b.mask, completion_mask=b.mask, advantages=b.advantage[:, 0],
            old_per_token_logps=b.old, sampling_per_token_logps=b.rollout, num_items_in_batch=b.mask.sum(),
        )

        def value(log_prob):
            trainer._get_per_token_logps_and_entropies = lambda *_, **__: (log_prob, torch.zeros_like(log_prob), None)
            return methods._compute_loss(trainer, None, inputs)

        yield loss_case(name, fn, b, params, value)


def prime_rl_case(b):
    from typing import Any, Callable

    path = PRIME_RL / "src/prime_rl/trainer/rl/loss.py"
    names = ["default_loss_fn", "compute_importance_ratio_and_mismatch_kl", "_safe_mean"]
    functions = taken(path, *names, Any=Any, Callable=Callable, LossOutputs=SimpleNamespace)
    params = dict(low=0.02, high=0.03, kl_tau=0.5)
    config = Anything(dppo_mask_low=params["low"], dppo_mask_high=params["high"], adv_tau=1.0, kl_tau=params["kl_tau"])

    def value(log_prob):
        tokens = Anything(
            trainer_logprobs=log_prob.flatten(), inference_logprobs=b.old.flatten(), advantages=b.advantage.flatten(),
            loss_mask=b.mask.flatten().bool(),
        )
        return functions.default_loss_fn(tokens, config).loss / b.mask.sum()

    return loss_case("dppo_tv_squared", "dppo_tv_squared", b, params, value)


def max_rl_case():
    function = taken(SKYRL / "skyrl/backends/skyrl_train/utils/ppo_utils.py", "compute_maxrl_advantage")
    rewards, uid = [1.0, 0.0, 0.0, 0.5, 1.0, 1.0, 0.0, 1.0, 0.0, 0.25, 0.0, 0.0], [0, 0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3]
    mask = torch.tensor([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 4)
    token_rewards = torch.zeros_like(mask)
    token_rewards[:, 0] = torch.tensor(rewards)
    # Without the 1e-6 that it adds to the mean by default, so that the comparison is exact.
    advantages, _ = function.compute_maxrl_advantage(token_rewards, mask, np.array(uid), epsilon=0.0)
    inputs = dict(token_level_rewards=token_rewards.tolist(), response_mask=mask.tolist(), uid=[str(u) for u in uid])
    return dict(name="adv_max_rl", fn="adv", inputs=inputs, params=dict(kind="max_rl"), outputs=dict(advantages=advantages.tolist()))


def grouped_cases():
    """GDPO with two components, one of them the same for all of a group, and the optimal token baseline with a lone response."""
    functional = taken(VERL / "verl/utils/torch_functional.py", "masked_sum", "masked_mean", "masked_var", "masked_whiten", Tensor=torch.Tensor)
    names = ["compute_grpo_outcome_advantage", "compute_gdpo_outcome_advantage", "compute_optimal_token_baseline_advantage"]
    from typing import Optional

    known = dict(verl_F=functional, Optional=Optional, AlgoConfig=dict, torch=Doubles(torch), np=Doubles(np))
    core = taken(VERL / "verl/trainer/ppo/core_algos.py", *names, **known)
    rng, lengths, uid = np.random.default_rng(7), [3, 1, 2, 4, 2, 2, 3, 1, 2], [0, 0, 0, 1, 1, 1, 1, 2, 2]
    mask = torch.tensor([[float(t < n) for t in range(4)] for n in lengths])
    first = torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0])
    second = torch.tensor([-0.25, 0.0, -0.5, -0.125, -0.125, -0.125, -0.125, -0.5, 0.0])
    at_end = lambda rewards: torch.stack([torch.where(torch.arange(4) == n - 1, r, 0.0) for n, r in zip(lengths, rewards)])
    shared = dict(token_level_rewards=at_end(first + second).tolist(), response_mask=mask.tolist(), uid=[str(u) for u in uid])
    for weight in 1.0, 0.5:
        config = dict(gdpo_reward_keys=["first", "second"], gdpo_reward_weights=[1.0, weight])
        # A prompt of one token, as verl finds the last token by the length of the prompt.
        batch = dict(prompts=mask[:, :1], attention_mask=torch.cat([mask[:, :1], mask], 1).long())
        columns = dict(non_tensor_batch=dict(first=first.numpy(), second=second.numpy()), batch=batch)
        advantages, _ = core.compute_gdpo_outcome_advantage(at_end(first + second), mask, np.array(uid), config=config, **columns)
        inputs = dict(shared, reward_components=[first.tolist(), second.tolist()])
        params = dict(kind="gdpo", further_weight=weight)
        yield dict(name=f"adv_gdpo_{weight}", fn="adv", inputs=inputs, params=params, outputs=dict(advantages=advantages.tolist()))
    uid = [0, 0, 0, 1, 1, 1, 1, 2, 3]
    policy = torch.tensor(rng.dirichlet(np.ones(5), (9, 4)))
    prob, squares = policy[..., 0], (policy**2).sum(-1)
    token_rewards = torch.tensor(np.round(rng.uniform(-1, 1, (9, 4)), 4)) * mask
    advantages, _ = core.compute_optimal_token_baseline_advantage(token_rewards, mask, np.array(uid), prob.log(), squares)
    inputs = dict(token_level_rewards=token_rewards.tolist(), response_mask=mask.tolist(), uid=[str(u) for u in uid])
    inputs["squared_scores"] = (1 - 2 * prob + squares).tolist()
    params = dict(kind="optimal_token_baseline")
    yield dict(name="adv_optimal_token_baseline", fn="adv", inputs=inputs, params=params, outputs=dict(advantages=advantages.tolist()))


def topr_case(b):
    params = dict(positive=0.5, negative=2.0)
    known = dict(get_episode_scores=lambda data: data, current_platform=Anything(device_type="cpu"))
    method = taken(ROLL / "roll/pipeline/agentic/agentic_actor_pg_worker.py", "_compute_topr_loss", **known)
    worker = Anything(_topr_sample_logged=True, _cached_metrics={})
    worker._get_or_cache_config = lambda name, _: params[name.removeprefix("topr_").removesuffix("_weight")]

    def value(log_prob):
        ratio = (log_prob - b.old).exp()
        terms = method._compute_topr_loss(worker, ratio, log_prob, b.old, b.advantage, b.advantage[:, 0])
        return (terms * b.mask).sum() / len(b.mask)

    return loss_case("topr", "topr", b, params, value)


def bapo_cases(b):
    functional = taken(VERL / "verl/utils/torch_functional.py", "masked_sum", "masked_mean")
    agg_loss = taken(VERL / "verl/trainer/ppo/core_algos.py", "agg_loss", verl_F=functional).agg_loss
    known = dict(verl_F=functional, agg_loss=agg_loss)
    names = ["compute_policy_loss_bapo", "_compute_effective_advantage", "_append_metric"]
    loss = taken(BAPO / "recipe/bapo/policy_loss.py", *names, **known).compute_policy_loss_bapo
    for name, params in [
        ("bapo_at_its_start", dict(target=0.5, low=[0.6, 0.9, 0.05], high=[1.2, 3.0, 0.05])),
        ("bapo_on_its_way", dict(target=0.592, low=[0.8, 0.9, 0.03], high=[1.05, 3.0, 0.04])),
        ("bapo_at_its_end", dict(target=5.0, low=[0.6, 0.9, 0.07], high=[1.05, 1.15, 0.03])),
    ]:
        settings = {f"ratio_{side}_{key}": value for side, at in [("lower", params["low"]), ("upper", params["high"])]
                    for key, value in zip(["start", "max", "step"], at)}
        # Without the 1e-8 that it adds to the negative sum, so that the comparison is exact.
        policy_loss = SimpleNamespace(adv_ratio_target=params["target"], eps=0.0, **settings)
        config = SimpleNamespace(policy_loss=policy_loss, clip_ratio=0.2, clip_ratio_low=None, clip_ratio_high=None, get=lambda _, c: c)
        value = lambda log_prob: loss(b.old, log_prob, b.advantage, b.mask, config=config)[0]
        case = loss_case(name, "bapo", b, params, value)
        print(name, {key: round(x, 4) for key, x in policy_loss._bapo_metrics_buffer[0].items()}, file=sys.stderr)
        yield case


def entropy_discriminator_cases(b):
    from typing import Dict, Tuple

    path = TRINITY / "trinity/algorithm/advantage_fn/clipb_advantage.py"
    clip_b = taken(path, "__call__", Dict=Dict, Tuple=Tuple)
    functional = taken(VERL / "verl/utils/torch_functional.py", "masked_sum", "masked_mean")
    names = ["agg_loss", "compute_policy_loss_vanilla"]
    core = taken(VERL / "verl/trainer/ppo/core_algos.py", *names, verl_F=functional, ActorConfig=Anything, AlgoConfig=int)
    config = Anything(clip_ratio=0.2, clip_ratio_low=0.2, clip_ratio_high=0.2, global_batch_info={})
    config.get = lambda _, default: default
    entropy = torch.tensor(np.round(np.random.default_rng(5).uniform(0.05, 2.5, b.mask.shape), 4))
    for name, deviations in [("clip_b", 0.8), ("clip_b_near", 0.4)]:
        token_rewards = torch.zeros_like(b.mask)
        token_rewards[:, 0] = torch.tensor([0.0, 1.0, 0.0, 1.0, 0.0, 0.0])
        columns = dict(token_level_rewards=token_rewards, response_mask=b.mask, rollout_log_probs=b.log_prob, entropys=entropy)
        experience = SimpleNamespace(batch=columns, non_tensor_batch=dict(uid=[0, 0, 0, 1, 1, 1]))
        clip_b.__call__(SimpleNamespace(epsilon=1e-6, mu=deviations), experience)
        kept, own = columns["response_mask"], SimpleNamespace(**{**vars(b), "advantage": columns["advantages"]})
        # Dropped tokens leave verl's mask and its denominator; they stay in ours.
        share = kept.sum() / b.mask.sum()
        value = lambda log_prob: share * core.compute_policy_loss_vanilla(b.old, log_prob, own.advantage, kept, config=config)[0]
        case = loss_case(name, "entropy_discriminator", own, dict(deviations=deviations), value)
        case["inputs"]["entropy"] = entropy.tolist()
        case["outputs"]["dropped"] = (b.mask - kept).tolist()
        print(name, "drops", int((b.mask - kept).sum()), "of", int(b.mask.sum()), file=sys.stderr)
        yield case


short, ragged = batch([1, 2, 1, 3], 7, 0.6), batch([4, 1, 6, 3, 5, 2], 11, 0.4)
cases = [*verl_cases(short), *correction_cases(ragged), *trl_cases(ragged), prime_rl_case(ragged), max_rl_case(), topr_case(ragged)]
cases += [*bapo_cases(ragged), *entropy_discriminator_cases(ragged), *grouped_cases()]
print(json.dumps(dict(cases=cases)).replace('{"name"', '\n{"name"'))
