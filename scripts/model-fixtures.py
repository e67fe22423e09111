#!/usr/bin/env python3
"""Records tiny models of each architecture, and what transformers computes of them in f32 on the CPU.

    scripts/model-fixtures.py crates/llm-trainer/tests/fixtures [NAME of a model…]

Needs transformers 5 and torch. Writes config.json, model.safetensors (bf16), and expected.safetensors: logits, log-probabilities and
entropies of sequences, greedy tokens, the gradient of a mean log-probability, and one AdamW step. Of a mixture of experts also logits and
gradients with given experts.
"""

import json
import shutil
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file

SIZES = dict(
    hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    vocab_size=256, max_position_embeddings=512, eos_token_id=0,
)  # fmt: skip
YARN = dict(rope_type="yarn", rope_theta=1e4, factor=4.0, original_max_position_embeddings=128)
MODELS = {
    # Heads are wider than a part of the residual stream.
    "tiny_qwen3": transformers.Qwen3Config(**SIZES, head_dim=6, tie_word_embeddings=True, pad_token_id=0),
    # The window is shorter than the sequences.
    "tiny_mistral": transformers.MistralConfig(**SIZES, head_dim=6, sliding_window=5, bos_token_id=1),
    # A window in the last block alone.
    "tiny_qwen2_long": transformers.Qwen2Config(
        **{**SIZES, "hidden_size": 32}, use_sliding_window=True, sliding_window=6, max_window_layers=1,
        tie_word_embeddings=True, rope_parameters=YARN, pad_token_id=0,
    ),
    # Experts in the first and last block, an MLP between them.
    "tiny_qwen3_moe": transformers.Qwen3MoeConfig(
        **{**SIZES, "num_hidden_layers": 3}, head_dim=6, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12,
        norm_topk_prob=True, mlp_only_layers=[1], pad_token_id=0,
    ),
    # The block between attends to all tokens; the others turn by another base within their window.
    "tiny_gemma3": transformers.Gemma3TextConfig(
        **{**SIZES, "num_hidden_layers": 3}, head_dim=6, query_pre_attn_scalar=6, sliding_window=5, pad_token_id=0,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        rope_parameters={
            "full_attention": dict(rope_type="default", rope_theta=1e4),
            "sliding_attention": dict(rope_type="default", rope_theta=1e2),
        },
    ),
}  # fmt: skip
LENGTHS = {"seq0": 12, "seq1": 16, "seq2": 1, "seq3": 4}
GREEDY = 12


def by_expert(named):
    """Names as in a checkpoint: transformers holds the experts of a block in two tensors."""
    record = {}
    for name, tensor in named.items():
        before, experts, part = name.partition(".experts.")
        if not experts:
            record[name] = tensor
            continue
        for index, own in enumerate(tensor):
            parts = own.chunk(2) if part == "gate_up_proj" else [own]
            names = ["gate_proj", "up_proj"] if part == "gate_up_proj" else [part]
            for one, half in zip(names, parts):
                record[f"{before}.experts.{index}.{one}.weight"] = half.clone()
    return record


def model_of(config):
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    for name, parameter in model.named_parameters():
        draw = torch.randn(parameter.shape)
        # Norms of Gemma multiply by one and their weight.
        one = 0 if config.model_type.startswith("gemma") else 1
        drawn = one + 0.2 * draw if name.endswith("norm.weight") else 0.25 * draw
        parameter.data.copy_(drawn.bfloat16())
    return model


def log_prob(logits, ids):
    return logits[:-1].log_softmax(-1).gather(1, ids[1:, None])[:, 0]


def loss_of(model, sequences):
    parts = [log_prob(model(ids[None]).logits[0], ids) for ids in sequences]
    return -torch.cat(parts).mean()


@torch.no_grad()
def statistics(model, sequences):
    record = {}
    for name, ids in sequences.items():
        logits = model(ids[None]).logits[0]
        record |= {f"{name}.ids": ids, f"{name}.logits": logits, f"{name}.logprob": log_prob(logits, ids)}
        record[f"{name}.entropy"] = torch.distributions.Categorical(logits=logits).entropy()
    # Filled up on the left.
    short = torch.cat([torch.zeros(5, dtype=torch.long), sequences["seq0"][:7]])
    ids, mask = torch.stack([sequences["seq0"], short]), torch.ones(2, 12, dtype=torch.long)
    mask[1, :5] = 0
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    logits = model(ids, attention_mask=mask, position_ids=positions).logits
    record |= {"batch.ids": ids, "batch.mask": mask, "batch.logits_last4": logits[:, -4:].contiguous()}
    ids = sequences["seq0"]
    for _ in range(GREEDY):
        ids = torch.cat([ids, model(ids[None]).logits[0, -1:].argmax(-1)])
    record["greedy.ids"] = ids[-GREEDY:].clone()
    return record


def training(model, sequences):
    loss = loss_of(model, [sequences["seq0"], sequences["seq1"]])
    loss.backward()
    named = dict(model.named_parameters())
    gradients = by_expert({name: parameter.grad for name, parameter in named.items()})
    record = {f"grad.{name}": gradient.clone() for name, gradient in gradients.items()}
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    record |= {"grad.loss": loss.detach()[None], "grad.global_norm": norm[None]}
    torch.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-8, weight_decay=0.01).step()
    stepped = ["model.layers.0.self_attn.k_proj.weight", "model.layers.1.mlp.down_proj.weight", "model.norm.weight"]
    record |= {f"adamw1.{name}": named[name].detach().clone() for name in stepped}
    with torch.no_grad():
        record["adamw1.seq0.logits_last"] = model(sequences["seq0"][None]).logits[0, -1].clone()
    return record


def forced(model, ids):
    """Logits and gradients with experts that the router would not choose, weighted by the router."""
    routers = [part for part in model.modules() if type(part).__name__.endswith("TopKRouter")]
    draw = torch.Generator().manual_seed(3)
    pair = lambda: torch.randperm(routers[0].num_experts, generator=draw)[: routers[0].top_k].sort().values
    routes = torch.stack([torch.stack([pair() for _ in routers]) for _ in ids])

    def hook(index):
        def force(_, __, outputs):
            weights = outputs[0].softmax(-1).gather(1, routes[:, index])
            return outputs[0], weights / weights.sum(-1, keepdim=True), routes[:, index]

        return force

    hooks = [router.register_forward_hook(hook(index)) for index, router in enumerate(routers)]
    logits = model(ids[None]).logits[0]
    (-log_prob(logits, ids).mean()).backward()
    gradients = by_expert({name: parameter.grad for name, parameter in model.named_parameters()})
    names = ["embed_tokens", "layers.0.mlp.gate", "layers.2.mlp.gate", "layers.2.mlp.experts.1.up_proj"]
    record = {f"forced.grad.model.{name}.weight": gradients[f"model.{name}.weight"].clone() for name in names}
    for own in hooks:
        own.remove()
    model.zero_grad()
    return record | {"forced.routes": routes, "forced.logits": logits.detach()}


def main(fixtures, names):
    for name in names or MODELS:
        config = MODELS[name]
        torch.manual_seed(7)
        model = model_of(config)
        target = fixtures / name
        target.mkdir(exist_ok=True)
        weights = by_expert({key: value.bfloat16() for key, value in model.named_parameters()})
        save_file(weights, target / "model.safetensors", {"format": "pt"})
        for text in ["tokenizer.json", "generation_config.json"]:
            shutil.copy(fixtures / "tiny_qwen2_tied" / text, target / text)
        config.architectures, config.dtype = [type(model).__name__], torch.bfloat16
        config.save_pretrained(target)
        sequences = {key: torch.randint(256, (length,)) for key, length in LENGTHS.items()}
        about = f"transformers {transformers.__version__} torch {torch.__version__}, f32 eager CPU"
        record = statistics(model, sequences)
        if hasattr(config, "num_experts"):
            record |= forced(model, sequences["seq0"])
        record |= training(model, sequences)
        save_file(record, target / "expected.safetensors", {"about": about})
        print(name, json.dumps({"logits": float(record["seq0.logits"].abs().max()), "loss": float(record["grad.loss"])}))


main(Path(sys.argv[1]), sys.argv[2:])
