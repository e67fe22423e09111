"""The compiled part of entropy_rl; its documentation is in the package."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar, Union, final, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypeAlias

__all__ = [
    "__version__",
    "CovarianceSummary",
    "EntropyChange",
    "PromptInformation",
    "Quadrant",
    "Quadrants",
    "Quantile",
    "TopMean",
    "covariance_summary",
    "predicted_entropy_change",
    "prompt_information",
    "quadrants",
    "token_covariances",
    "ClipFractions",
    "Divergence",
    "clip_fractions",
    "divergence",
    "Environment",
    "Forecast",
    "PerformanceLaw",
    "fit_law",
    "forecast",
    "Evaluation",
    "StepPlan",
    "methods",
    "presets",
    "plan",
    "clip_cov_mask",
    "high_entropy_mask",
    "kl_cov_mask",
    "Curve",
    "MiniBatch",
    "Rollout",
    "Simulation",
    "StepReport",
    "SoftmaxPolicy",
    "TheoryCheck",
    "check_theory",
    "Extracted",
    "Verdict",
    "explain",
    "extract",
    "grade",
    "verify",
    "verify_many",
]

__version__: str

class _Tensor(Protocol):
    """A tensor of torch; DLPack and `__array__` of others are taken too."""

    def detach(self) -> Any: ...
    def numpy(self) -> Any: ...

_T = TypeVar("_T", bound=_Tensor)
_Array: TypeAlias = Union[NDArray[np.float32], NDArray[np.float64], Sequence[float]]
_Column: TypeAlias = Union[_Array, _Tensor]
_Mask: TypeAlias = Union[NDArray[Any], Sequence[Sequence[int]], Sequence[int], _Tensor]
_Aggregation: TypeAlias = Union[
    Literal["token-mean", "seq-mean-token-mean", "seq-mean-token-sum"], Mapping[str, Mapping[str, float]]
]
_Mode: TypeAlias = Literal["marked", "strict", "lenient"]
_Centering: TypeAlias = Literal["batch", "state"]
_Semantics: TypeAlias = Literal["exact", "paper", "prime", "verl"]

# Verifier

@final
class Verdict:
    """Outcome of one verification; true if the response is right."""

    @property
    def verdict(self) -> Literal["right", "wrong", "unparsed"]: ...
    @property
    def is_right(self) -> bool: ...
    @property
    def rung(self) -> str | None:
        """The deciding step, such as "spelling", "number", "normal-form"; None if unparsed."""
    @property
    def response(self) -> str | None:
        """The answer in normal form; None without explained=True."""
    @property
    def ground_truth(self) -> str | None:
        """The ground truth in normal form; None without explained=True."""
    @property
    def which(self) -> Literal["response", "ground-truth"] | None:
        """The unreadable side; None if decided."""
    @property
    def why(self) -> str | None:
        """Reason that this side is unreadable; None if decided."""
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Extracted:
    """Answer and its position in the response."""

    @property
    def text(self) -> str: ...
    @property
    def rule(self) -> str: ...
    @property
    def span(self) -> tuple[int, int]:
        """(start, end) in the response, in characters."""
    def __eq__(self, other: object, /) -> bool: ...

def verify(
    response: str,
    ground_truth: str,
    *,
    question: str | None = None,
    mode: _Mode = "marked",
    fuel: int = ...,
    explained: bool = False,
) -> Verdict:
    """Decide whether a response gives the ground truth."""

def verify_many(
    responses: Sequence[str],
    ground_truths: Sequence[str],
    *,
    questions: Sequence[str] | None = None,
    mode: _Mode = "marked",
    fuel: int = ...,
    explained: bool = False,
    threads: int = 0,
) -> list[Verdict]:
    """Verify a batch on threads, without holding the interpreter's lock."""

def grade(
    responses: Sequence[str],
    ground_truths: Sequence[str],
    *,
    questions: Sequence[str] | None = None,
    mode: _Mode = "marked",
    fuel: int = ...,
    right: float = ...,
    wrong: float = ...,
    unparsed: float = ...,
    threads: int = 0,
) -> NDArray[np.float64]:
    """Compute the rewards of a batch, float64 [responses], by verify_many and a number for each verdict."""

def extract(
    response: str, *, question: str | None = None, mode: _Mode = "marked"
) -> Extracted | None:
    """Extract the answer from a response; None if it has none that mode accepts."""

def explain(response: str, ground_truth: str, *, mode: _Mode = "marked") -> str:
    """Describe the extracted answer, the readings of both sides and the deciding step, in lines of text."""

# Diagnostics

@final
class TopMean:
    """Mean of the largest covariances."""

    @property
    def fraction(self) -> float: ...
    @property
    def tokens(self) -> int: ...
    @property
    def mean(self) -> float: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Quantile:
    """A quantile of the covariances."""

    @property
    def level(self) -> float: ...
    @property
    def value(self) -> float: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class CovarianceSummary:
    """Distribution of the covariance over tokens."""

    @property
    def tokens(self) -> int: ...
    @property
    def mean(self) -> float: ...
    @property
    def top_means(self) -> list[TopMean]: ...
    @property
    def quantiles(self) -> list[Quantile]: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Quadrant:
    """Number and covariance of the tokens in one quadrant."""

    @property
    def tokens(self) -> int: ...
    @property
    def covariance(self) -> float: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Quadrants:
    """Tokens by the sign of their advantage and by their probability relative to the average."""

    @property
    def up_likely(self) -> Quadrant: ...
    @property
    def up_unlikely(self) -> Quadrant: ...
    @property
    def down_likely(self) -> Quadrant: ...
    @property
    def down_unlikely(self) -> Quadrant: ...
    @property
    def still(self) -> Quadrant: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class EntropyChange:
    """Entropy change that the theorems predict for a step, in nats."""

    @property
    def policy_gradient_batch(self) -> float: ...
    @property
    def natural_policy_gradient_batch(self) -> float: ...
    @property
    def policy_gradient_state(self) -> float | None: ...
    @property
    def natural_policy_gradient_state(self) -> float | None: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Divergence:
    """Distance of the policy from the policy that sampled; means over tokens, in nats."""

    @property
    def tokens(self) -> int: ...
    @property
    def k1(self) -> float: ...
    @property
    def k3(self) -> float: ...
    @property
    def mean_abs_log_ratio(self) -> float: ...
    @property
    def max_abs_log_ratio(self) -> float: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class ClipFractions:
    """Fraction of the tokens without gradient under PPO's clip."""

    @property
    def clip_fraction(self) -> float: ...
    @property
    def clip_fraction_lower(self) -> float: ...
    def __eq__(self, other: object, /) -> bool: ...

@overload
def token_covariances(
    log_prob: _T,
    advantage: _Column,
    *,
    entropy: _Column | None = None,
    response_mask: _Mask | None = None,
) -> _T:
    """Compute the covariance of each token, float64 [tokens], in nat·reward."""
@overload
def token_covariances(
    log_prob: _Array,
    advantage: _Column,
    *,
    entropy: _Column | None = None,
    response_mask: _Mask | None = None,
) -> NDArray[np.float64]: ...

def covariance_summary(
    log_prob: _Column,
    advantage: _Column,
    *,
    entropy: _Column | None = None,
    response_mask: _Mask | None = None,
) -> CovarianceSummary:
    """Summarise the covariances of tokens."""

def quadrants(
    log_prob: _Column,
    advantage: _Column,
    *,
    entropy: _Column | None = None,
    response_mask: _Mask | None = None,
) -> Quadrants:
    """Sort tokens into the four quadrants."""

def predicted_entropy_change(
    log_prob: _Column,
    advantage: _Column,
    *,
    eta: float,
    entropy: _Column | None = None,
    mean_score: _Column | None = None,
    response_mask: _Mask | None = None,
) -> EntropyChange:
    """Predict the entropy change of a step with logit step eta, in nats; NaN without tokens."""

@final
class PromptInformation:
    """How well responses tell their prompts apart."""

    @property
    def mutual_information(self) -> float: ...
    @property
    def retrieval_accuracy(self) -> float: ...

def prompt_information(cross_log_prob: _Table, own_prompts: Sequence[int]) -> PromptInformation:
    """Measure template collapse: the mutual information of prompt and response."""

def divergence(
    log_prob: _Column,
    old_log_prob: _Column,
    *,
    response_mask: _Mask | None = None,
) -> Divergence:
    """Measure how far the policy has moved; means are NaN without tokens."""

def clip_fractions(
    log_prob: _Column,
    old_log_prob: _Column,
    advantage: _Column,
    *,
    clip_ratio_low: float = ...,
    clip_ratio_high: float = ...,
    clip_ratio_c: float | None = ...,
    response_mask: _Mask | None = None,
) -> ClipFractions:
    """Compute the clip fractions of PPO's surrogate; by default 0.2 on both sides and dual clip at 3, as in verl."""

# Policy losses

_G = TypeVar("_G", covariant=True)

@final
class Evaluation(Generic[_G]):
    """Value, gradient and sums of a policy loss."""

    @property
    def value(self) -> float: ...
    @property
    def gradient(self) -> _G:
        """Derivative of the value by log_prob, in the shape of the columns."""
    @property
    def advantages(self) -> _G:
        """Advantages, float64, under which the plain surrogate has the gradient."""
    @property
    def tokens(self) -> int: ...
    @property
    def selected(self) -> int: ...
    @property
    def clipped(self) -> int: ...
    @property
    def clipped_lower(self) -> int: ...
    @property
    def altered(self) -> int: ...
    @property
    def neg_log_ratio(self) -> float: ...
    @property
    def abs_log_ratio(self) -> float: ...

@final
class StepPlan:
    """Selection and weights of one optimiser step, fixed over its whole mini-batch."""

    @property
    def policy_loss(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def selected(self) -> int: ...
    @overload
    def evaluate(
        self,
        log_prob: _T,
        old_log_prob: _Column,
        advantage: _Column,
        *,
        rows: Sequence[int] | None = None,
        response_mask: _Mask | None = None,
        entropy: _Column | None = None,
        old_entropy: _Column | None = None,
        reference_log_prob: _Column | None = None,
        rollout_log_prob: _Column | None = None,
    ) -> Evaluation[_T]:
        """Evaluate the loss on the mini-batch, or on some of its rows."""
    @overload
    def evaluate(
        self,
        log_prob: _Array,
        old_log_prob: _Column,
        advantage: _Column,
        *,
        rows: Sequence[int] | None = None,
        response_mask: _Mask | None = None,
        entropy: _Column | None = None,
        old_entropy: _Column | None = None,
        reference_log_prob: _Column | None = None,
        rollout_log_prob: _Column | None = None,
    ) -> Evaluation[NDArray[Any]]: ...

def methods() -> list[str]:
    """Policy losses by name, as plan takes them."""

def presets() -> dict[str, str]:
    """Published settings of policy losses: the source of each by its name, which plan takes as that of a method."""

def plan(
    policy_loss: str,
    log_prob: _Column,
    old_log_prob: _Column,
    advantage: _Column,
    *,
    response_mask: _Mask | None = None,
    entropy: _Column | None = None,
    old_entropy: _Column | None = None,
    reference_log_prob: _Column | None = None,
    rollout_log_prob: _Column | None = None,
    aggregation: _Aggregation | None = None,
    micro_batches: Sequence[int] | None = None,
    seed: int | None = None,
    **settings: object,
) -> StepPlan:
    """Fix selection and weights of a policy loss over a mini-batch."""

# Masks

@overload
def clip_cov_mask(
    log_prob: _T,
    old_log_prob: _Column,
    advantage: _Column,
    *,
    seed: int,
    fraction: float = ...,
    covariance_low: float = ...,
    covariance_high: float = ...,
    clip_ratio_low: float = ...,
    clip_ratio_high: float = ...,
    centering: _Centering = "batch",
    entropy: _Column | None = None,
    semantics: _Semantics = "exact",
    response_mask: _Mask | None = None,
) -> _T:
    """Mark the tokens that Clip-Cov drops, bool [tokens]; by default 2e-4 of them, covariance 1 to 5."""
@overload
def clip_cov_mask(
    log_prob: _Array,
    old_log_prob: _Column,
    advantage: _Column,
    *,
    seed: int,
    fraction: float = ...,
    covariance_low: float = ...,
    covariance_high: float = ...,
    clip_ratio_low: float = ...,
    clip_ratio_high: float = ...,
    centering: _Centering = "batch",
    entropy: _Column | None = None,
    semantics: _Semantics = "exact",
    response_mask: _Mask | None = None,
) -> NDArray[np.bool_]: ...

@overload
def kl_cov_mask(
    log_prob: _T,
    advantage: _Column,
    *,
    fraction: float = ...,
    centering: _Centering = "batch",
    entropy: _Column | None = None,
    semantics: _Semantics = "exact",
    response_mask: _Mask | None = None,
) -> _T:
    """Mark the tokens that KL-Cov penalises, bool [tokens]; by default 2e-3 of them."""
@overload
def kl_cov_mask(
    log_prob: _Array,
    advantage: _Column,
    *,
    fraction: float = ...,
    centering: _Centering = "batch",
    entropy: _Column | None = None,
    semantics: _Semantics = "exact",
    response_mask: _Mask | None = None,
) -> NDArray[np.bool_]: ...

@overload
def high_entropy_mask(
    entropy: _T,
    *,
    fraction: float = ...,
    response_mask: _Mask | None = None,
) -> _T:
    """Mark the tokens of highest entropy, bool [tokens]; by default 0.2 of them."""
@overload
def high_entropy_mask(
    entropy: _Array,
    *,
    fraction: float = ...,
    response_mask: _Mask | None = None,
) -> NDArray[np.bool_]: ...

# Law

@final
class PerformanceLaw:
    """The law `R = -a exp(H) + b`, fitted by least squares."""

    @property
    def a(self) -> float: ...
    @property
    def b(self) -> float: ...
    @property
    def ceiling(self) -> float: ...
    @property
    def points(self) -> int: ...
    @property
    def rmse(self) -> float: ...
    @property
    def r_squared(self) -> float | None: ...
    @property
    def linear_r_squared(self) -> float | None: ...
    @property
    def linear_rmse(self) -> float: ...
    @property
    def aic_over_linear(self) -> float | None: ...
    @property
    def standard_error_a(self) -> float | None: ...
    @property
    def standard_error_b(self) -> float | None: ...
    def predict(self, entropy: float) -> float:
        """Predict the reward at an entropy, in nats."""
    def interval_a(self, *, confidence: float = ...) -> tuple[float, float]:
        """Confidence interval (low, high) of a."""
    def interval_b(self, *, confidence: float = ...) -> tuple[float, float]:
        """Confidence interval (low, high) of b."""
    def interval_ceiling(self, *, confidence: float = ...) -> tuple[float, float]:
        """Confidence interval (low, high) of the ceiling."""
    def confidence_interval(
        self, entropy: float, *, confidence: float = ...
    ) -> tuple[float, float]:
        """Confidence interval (low, high) of the law at an entropy, in nats."""
    def prediction_interval(
        self, entropy: float, *, confidence: float = ...
    ) -> tuple[float, float]:
        """Prediction interval (low, high) for one more reward measured at an entropy, in nats."""
    def __eq__(self, other: object, /) -> bool: ...

@final
class Forecast:
    """Law fitted to the first points of a run and compared with the rest."""

    @property
    def law(self) -> PerformanceLaw: ...
    @property
    def fitted(self) -> int: ...
    @property
    def rmse_rest(self) -> float: ...
    @property
    def linear_rmse_rest(self) -> float: ...
    @property
    def persistence_rmse_rest(self) -> float: ...
    @property
    def skill_over_line(self) -> float: ...
    @property
    def skill_over_persistence(self) -> float: ...
    @property
    def gain_left(self) -> float: ...
    @property
    def final_error(self) -> float: ...
    @property
    def bias(self) -> float: ...
    @property
    def final_interval(self) -> tuple[float, float] | None: ...
    @property
    def covered(self) -> float | None: ...

def fit_law(entropy: _Column, reward: _Column) -> PerformanceLaw:
    """Fit the law to the points of one run."""

def forecast(
    entropy: _Column, reward: _Column, *, share: float, confidence: float = ...
) -> Forecast:
    """Fit the law to the first share of a run's points, in training order, and forecast the rest."""

# Theory and simulator

_Floats: TypeAlias = NDArray[np.float64]
_Integers: TypeAlias = NDArray[np.int64]
# Numbers of any dimension that numpy converts.
_Table: TypeAlias = Union[NDArray[Any], Sequence[Any]]

@final
class SoftmaxPolicy:
    """Softmax policies of independent states."""

    def __new__(cls, logits: _Table) -> SoftmaxPolicy: ...
    @property
    def log_prob(self) -> _Floats:
        """Log-probability of each action, [states, actions], nats."""
    @property
    def entropy(self) -> _Floats:
        """Exact entropy of each state, [states], nats."""
    def covariance(self, x: _Table, y: _Table) -> _Floats:
        """Covariance of two functions of the action under the policy of each state, [states]."""
    def logit_step(
        self,
        advantage: _Table,
        *,
        rule: Literal["policy_gradient", "natural_policy_gradient"] = "policy_gradient",
        eta: float = 1.0,
    ) -> _Floats:
        """Exact step of the logits along a gradient of the expected advantage, [states, actions]."""
    def entropy_change(self, step: _Table) -> _Floats:
        """Exact change of entropy by a step of the logits, [states], nats."""
    def entropy_change_first_order(self, step: _Table) -> _Floats:
        """Change of entropy that Lemma 1 predicts, `-Cov(log π, δ)`, [states], nats."""
    def entropy_change_second_order(self, step: _Table) -> _Floats:
        """Add the term of second order to that prediction, [states], nats."""
    def remainder_bound(self, step: _Table) -> _Floats:
        """Rigorous bound on the error of Lemma 1 for a step, [states], nats."""

@final
class TheoryCheck:
    """One numerical check of one statement of the theory."""

    @property
    def statement(self) -> str: ...
    @property
    def check(self) -> str: ...
    @property
    def cases(self) -> int: ...
    @property
    def worst(self) -> float: ...
    @property
    def allowed(self) -> float: ...
    @property
    def estimate(self) -> float | None: ...
    @property
    def interval(self) -> tuple[float, float] | None: ...
    @property
    def passed(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...

def check_theory(*, seed: int = 0, policies: int = ..., cases: int = ...) -> list[TheoryCheck]:
    """Check every statement of the theory numerically, as `softmax-sim verify` does."""

@final
class Environment:
    """Questions, and a softmax policy to answer them."""

    def __new__(
        cls,
        quality: _Table,
        start: _Table,
        *,
        prior: _Table | None = None,
        features: _Table | None = None,
        transitions: _Table | None = None,
        validation: Environment | None = None,
    ) -> Environment: ...
    @staticmethod
    def draw(
        kind: Literal["tabular", "shared", "size"] = "tabular",
        *,
        seed: int = 0,
        states: Mapping[str, float] | None = None,
        network: Mapping[str, int] | None = None,
        **settings: float,
    ) -> Environment:
        """Draw an environment of one of the kinds that the findings use."""
    def with_network(self, *, hidden: int = 32, features: int = 16, seed: int = 0) -> Environment:
        """Put a network of one hidden layer over features in place of the policy's parameters."""
    @property
    def prompts(self) -> int: ...
    @property
    def positions(self) -> int: ...
    @property
    def actions(self) -> int: ...
    @property
    def states(self) -> int: ...
    @property
    def quality(self) -> _Floats:
        """[prompts, states, actions], 0 to 1."""
    @property
    def start(self) -> _Floats:
        """Parameters before training."""

@final
class Curve:
    """Exact figures of a policy over a run."""

    @property
    def rollouts(self) -> _Integers: ...
    @property
    def entropy(self) -> _Floats: ...
    @property
    def reward(self) -> _Floats: ...
    @property
    def cool_reward(self) -> _Floats: ...
    @property
    def greedy_reward(self) -> _Floats: ...

@final
class StepReport:
    """Measurements of one rollout and its updates."""

    @property
    def rollout(self) -> int: ...
    @property
    def mean_reward(self) -> float: ...
    @property
    def entropy(self) -> float: ...
    @property
    def selected_fraction(self) -> float: ...
    @property
    def clip_fraction(self) -> float: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Rollout:
    """Responses of one rollout, without the groups that were left out."""

    @property
    def prompts(self) -> _Integers: ...
    @property
    def actions(self) -> _Integers: ...
    @property
    def states(self) -> _Integers: ...
    @property
    def old_log_prob(self) -> _Floats: ...
    @property
    def rewards(self) -> _Floats: ...
    @property
    def advantage(self) -> _Floats: ...

@final
class MiniBatch:
    """Tokens of one update, for a custom loss."""

    @property
    def log_prob(self) -> _Floats: ...
    @property
    def old_log_prob(self) -> _Floats: ...
    @property
    def advantage(self) -> _Floats: ...
    @property
    def entropy(self) -> _Floats: ...

@final
class Simulation:
    """Training of a softmax policy by sampled responses, measured exactly."""

    entropy_bonus: float
    reference_kl: float
    def __new__(
        cls,
        environment: Environment,
        *,
        method: Mapping[str, Any] | None = None,
        schedule: Mapping[str, Any] | None = None,
        loss: Callable[[MiniBatch], _Table] | None = None,
        advantage: Callable[[_Floats], _Table] | None = None,
        seed: int = 0,
    ) -> Simulation: ...
    def step(self) -> StepReport | None:
        """Sample one rollout and train on it; None when the schedule is done."""
    def train(self) -> Curve:
        """Train to the end of the schedule; the curve of the evaluations from here on."""
    def evaluate(self) -> Curve:
        """Exact figures of the policy as it is: a curve of one point."""
    def log_prob(self) -> _Floats:
        """Log-probability of each action under the policy as it is, [prompts, states, actions], nats."""
    def prompt_information(self) -> float | None:
        """Mutual information of prompt and response, nats; None where there are too many responses."""
    def rollout(self) -> Rollout:
        """The responses of the last step."""
