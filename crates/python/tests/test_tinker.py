"""The loss in the Tinker client's own differentiation, without its service."""

from typing import Any

import entropy_rl as er
import numpy as np
import pytest
from conformance import COLUMNS, LENGTHS

torch = pytest.importorskip("torch", reason="torch is not installed")
tinker = pytest.importorskip("tinker", reason="tinker is not installed")

from entropy_rl.tinker import custom_loss  # noqa: E402

PROMPT = 2


def column(name: str, row: int) -> Any:
    """A prompt of two tokens, then the response, as tinker-cookbook lays them out."""
    numbers = {"mask": [0.0] * PROMPT + [1.0] * LENGTHS[row]}.get(name)
    if numbers is None:
        source = {"logprobs": "old_log_prob", "advantages": "advantage", "now": "log_prob"}[name]
        numbers = [0.0] * PROMPT + list(COLUMNS[source][row, : LENGTHS[row]])
    return tinker.TensorData.from_torch(torch.tensor(numbers, dtype=torch.float32))


@pytest.mark.parametrize("method, settings", [("clip-cov", dict(fraction=0.2)), ("kl-cov", dict(fraction=0.2)), ("gspo", {})])
def test_weights_for_the_service_are_the_gradient_of_the_whole(method: str, settings: Any) -> None:
    rows = [row for row, length in enumerate(LENGTHS) if length]
    data = [
        tinker.Datum(
            model_input=tinker.ModelInput.from_ints([1] * (PROMPT + LENGTHS[row])),
            loss_fn_inputs={
                "target_tokens": tinker.TensorData.from_torch(torch.ones(PROMPT + LENGTHS[row], dtype=torch.long)),
                **{name: column(name, row) for name in ("logprobs", "advantages", "mask")},
            },
        )
        for row in rows
    ]
    output = tinker.types.ForwardBackwardOutput(
        loss_fn_output_type="", metrics={}, loss_fn_outputs=[{"logprobs": column("now", row)} for row in rows]
    )
    loss = custom_loss(method, seed=4, **settings)
    result = tinker.TrainingClient._compute_custom_loss(data, loss, output)
    mask = np.arange(max(LENGTHS)) < np.array(LENGTHS)[rows, None]
    three = [COLUMNS[name][rows].astype(np.float32) for name in ("log_prob", "old_log_prob", "advantage")]
    expected = er.plan(method, *three, response_mask=mask, seed=4, **settings).evaluate(*three, response_mask=mask)
    weights = [datum.loss_fn_inputs["weights"].to_torch() for datum in result.data]
    for row, found in enumerate(weights):
        length = LENGTHS[rows[row]]
        assert (found[:PROMPT] == 0).all()
        np.testing.assert_allclose(found[PROMPT:].numpy(), -expected.gradient[row, :length], rtol=1e-6, atol=1e-9)
    assert abs(result.loss_sum - expected.value) < 1e-6
    assert result.metrics["entropy_rl/selected"] == expected.selected / sum(LENGTHS)
    assert any(weight.abs().sum() > 0 for weight in weights)
