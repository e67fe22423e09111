"""Tensors of torch, and the policy losses as functions of torch."""

from typing import Any

import entropy_rl as er
import numpy as np
import pytest
from conformance import COLUMNS, DATA, MASK, arguments

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from entropy_rl.torch import policy_loss  # noqa: E402

CASES = DATA["cases"]
TENSORS = {name: torch.tensor(column) for name, column in COLUMNS.items()}
RESPONSE_MASK = torch.tensor(MASK)


def loss_and_gradient(method: Any, rows: Any = None, **rules: Any) -> tuple[Any, Any]:
    part = slice(None) if rows is None else rows
    columns = {name: tensor[part] for name, tensor in TENSORS.items()}
    log_prob = columns.pop("log_prob").clone().requires_grad_()
    loss = policy_loss(method, log_prob, response_mask=RESPONSE_MASK[part], rows=rows, **columns, **rules)
    loss.backward()
    return loss.detach(), log_prob.grad


@pytest.mark.parametrize("case", CASES, ids=lambda case: next(iter(case["policy_loss"])))
def test_a_loss_and_its_gradient_are_those_of_the_case(case: dict) -> None:  # type: ignore[type-arg]
    rules = arguments(case)
    loss, gradient = loss_and_gradient(rules.pop("policy_loss"), seed=0, **rules)
    assert loss.dtype == torch.float64 and abs(loss.item() - case["value"]) <= 1e-12
    np.testing.assert_allclose(gradient[RESPONSE_MASK].numpy(), case["grad_log_prob"], rtol=0, atol=1e-12)
    assert (gradient[~RESPONSE_MASK] == 0).all()


@pytest.mark.parametrize("case", CASES, ids=lambda case: next(iter(case["policy_loss"])))
def test_parts_by_a_plan_add_up(case: dict) -> None:  # type: ignore[type-arg]
    rules = arguments(case)
    name = rules["policy_loss"]
    plan = er.plan(**TENSORS, response_mask=RESPONSE_MASK, seed=5, **rules)
    whole, gradient = loss_and_gradient(rules.pop("policy_loss"), seed=5, **rules)
    parts = [loss_and_gradient(plan, rows) for rows in ([2], [3, 1, 0])]
    assert plan.policy_loss == name and abs(sum(loss for loss, _ in parts) - whole) < 1e-14
    together = torch.zeros_like(gradient)
    together[[2, 3, 1, 0]] = torch.cat([part for _, part in parts])
    np.testing.assert_allclose(together.numpy(), gradient.numpy(), rtol=0, atol=1e-15)


def test_the_gradient_is_multiplied_by_the_one_from_above() -> None:
    _, gradient = loss_and_gradient("kl-cov")
    columns = dict(TENSORS)
    weight = columns.pop("log_prob").clone().requires_grad_()
    loss = policy_loss("kl-cov", 1.0 * weight, response_mask=RESPONSE_MASK, **columns)
    (3.0 * loss).backward()
    np.testing.assert_allclose(weight.grad.numpy(), 3.0 * gradient.numpy(), rtol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_other_precisions(dtype: Any) -> None:
    columns = {name: tensor.to(dtype) for name, tensor in TENSORS.items()}
    log_prob = columns.pop("log_prob").requires_grad_()
    loss = policy_loss("ppo-clip", log_prob, response_mask=RESPONSE_MASK, **columns)
    loss.backward()
    exact = {name: tensor.detach().float().double() for name, tensor in columns.items()}
    plan = er.plan("ppo-clip", log_prob.detach().float().double(), response_mask=RESPONSE_MASK, **exact)
    expected = plan.evaluate(log_prob.detach().float().double(), response_mask=RESPONSE_MASK, **exact)
    assert loss.dtype == torch.float32 and log_prob.grad.dtype == dtype
    np.testing.assert_allclose(loss.item(), expected.value, rtol=1e-5)
    tolerance = {torch.float32: 1e-5, torch.bfloat16: 8e-3}[dtype]
    np.testing.assert_allclose(log_prob.grad.float().numpy(), expected.gradient.numpy(), rtol=tolerance, atol=1e-6)


class Operations(TorchDispatchMode):
    """Names of what torch does meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def of_columns(columns: tuple[Any, ...], mask: Any) -> None:
    log_prob, old_log_prob, advantage = columns
    er.clip_cov_mask(log_prob, old_log_prob, advantage, seed=1, response_mask=mask)
    er.covariance_summary(log_prob, advantage, response_mask=mask)
    er.plan("kl-cov", log_prob, old_log_prob, advantage, response_mask=mask)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_cpu_tensors_are_read_in_place(dtype: Any) -> None:
    columns = tuple(TENSORS[name].to(dtype).requires_grad_() for name in ("log_prob", "old_log_prob", "advantage"))
    with Operations() as seen:
        of_columns(columns, RESPONSE_MASK)
    # The last is the result's way from numpy.
    assert seen.names <= {"detach", "alias", "lift_fresh"}, seen.names
    with Operations() as seen:
        of_columns(tuple(column.bfloat16() for column in columns), RESPONSE_MASK)
    assert "_to_copy" in seen.names


FUNCTIONS = [
    (er.token_covariances, ("log_prob", "advantage"), {}),
    (er.clip_cov_mask, ("log_prob", "old_log_prob", "advantage"), dict(seed=2, covariance_low=0.1)),
    (er.kl_cov_mask, ("log_prob", "advantage"), {}),
    (er.high_entropy_mask, ("entropy",), {}),
    (er.covariance_summary, ("log_prob", "advantage"), {}),
    (er.quadrants, ("log_prob", "advantage"), {}),
    (er.predicted_entropy_change, ("log_prob", "advantage"), dict(eta=0.1)),
    (er.divergence, ("log_prob", "old_log_prob"), {}),
    (er.clip_fractions, ("log_prob", "old_log_prob", "advantage"), {}),
]


@pytest.mark.parametrize("function, names, settings", FUNCTIONS, ids=lambda value: getattr(value, "__name__", ""))
def test_tensors_rows_and_plain_columns_agree(function: Any, names: tuple[str, ...], settings: dict) -> None:  # type: ignore[type-arg]
    plain = function(*(COLUMNS[name][MASK] for name in names), **settings)
    for mask in (RESPONSE_MASK, RESPONSE_MASK.long(), RESPONSE_MASK.float(), MASK, MASK.tolist()):
        found = function(*(TENSORS[name] for name in names), response_mask=mask, **settings)
        if isinstance(plain, np.ndarray):
            assert isinstance(found, torch.Tensor) and found.shape == RESPONSE_MASK.shape
            assert (found[RESPONSE_MASK].numpy() == plain).all() and not found[~RESPONSE_MASK].any()
        else:
            assert found == plain
    rows = function(*(COLUMNS[name] for name in names), response_mask=MASK, **settings)
    assert not isinstance(rows, torch.Tensor)
    # A stride of its own: every second number of a wider tensor.
    wide = [torch.stack([TENSORS[name]] * 2, dim=-1).reshape(len(MASK), -1)[:, ::2] for name in names]
    again = function(*wide, response_mask=RESPONSE_MASK, **settings)
    assert (again[RESPONSE_MASK].numpy() == plain).all() if isinstance(plain, np.ndarray) else again == plain


def test_half_precision_is_that_of_its_numbers() -> None:
    log_prob, advantage = (TENSORS[name].bfloat16() for name in ("log_prob", "advantage"))
    found = er.token_covariances(log_prob, advantage, response_mask=RESPONSE_MASK)
    expected = er.token_covariances(log_prob.double(), advantage.double(), response_mask=RESPONSE_MASK)
    assert (found == expected).all()


class OnlyDlpack:
    """An array of another library."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


def test_dlpack_is_enough() -> None:
    log_prob, advantage = (COLUMNS[name][MASK] for name in ("log_prob", "advantage"))
    found = er.token_covariances(OnlyDlpack(log_prob), OnlyDlpack(advantage))  # type: ignore[call-overload]
    assert isinstance(found, np.ndarray) and (found == er.token_covariances(log_prob, advantage)).all()


def test_a_tensor_that_does_not_fit_is_named() -> None:
    with pytest.raises(TypeError, match="`advantage`: .* found torch.Tensor of torch.int64"):
        er.kl_cov_mask(TENSORS["log_prob"], torch.ones(4, 7, dtype=torch.long), response_mask=RESPONSE_MASK)
    with pytest.raises(TypeError, match="`log_prob`: torch.Tensor of torch.float32"):
        er.kl_cov_mask(torch.ones(4, 7, device="meta"), TENSORS["advantage"], response_mask=RESPONSE_MASK)
    with pytest.raises(TypeError, match="`response_mask`: "):
        er.kl_cov_mask(TENSORS["log_prob"], TENSORS["advantage"], response_mask=torch.ones(4, 7, device="meta"))
    with pytest.raises(ValueError, match="pass the plan"):
        policy_loss("ppo-clip", TENSORS["log_prob"], TENSORS["log_prob"], TENSORS["advantage"], rows=[0])
    plan = er.plan(**TENSORS, policy_loss="kl-cov", response_mask=RESPONSE_MASK)
    with pytest.raises(ValueError, match="are those of the plan"):
        loss_and_gradient(plan, fraction=0.1)
