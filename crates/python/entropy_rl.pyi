"""Verifier of mathematical answers, entropy diagnostics, Clip-Cov and KL-Cov masks, and the R-H law.

Columns are numpy arrays of float32 or float64, or sequences of floats, with one value per trained
token: sequences are concatenated without padding. Log-probabilities and entropies are in nats; shares
are fractions. An invalid value raises ValueError, an argument of a wrong type TypeError.
"""

from collections.abc import Sequence
from typing import Literal, Union, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypeAlias

__all__ = [
    "CovarianceSummary",
    "EntropyChange",
    "Quadrant",
    "Quadrants",
    "Quantile",
    "TopMean",
    "covariance_summary",
    "predicted_entropy_change",
    "quadrants",
    "token_covariances",
    "ClipFractions",
    "Divergence",
    "clip_fractions",
    "divergence",
    "Forecast",
    "PerformanceLaw",
    "fit_law",
    "forecast",
    "clip_cov_mask",
    "high_entropy_mask",
    "kl_cov_mask",
    "Extracted",
    "Verdict",
    "explain",
    "extract",
    "grade",
    "verify",
    "verify_many",
]

_Column: TypeAlias = Union[NDArray[np.float32], NDArray[np.float64], Sequence[float]]
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

def token_covariances(
    log_prob: _Column, advantage: _Column, *, entropy: _Column | None = None
) -> NDArray[np.float64]:
    """Compute the covariance of each token, float64 [tokens], in nat·reward."""

def covariance_summary(
    log_prob: _Column, advantage: _Column, *, entropy: _Column | None = None
) -> CovarianceSummary:
    """Summarise the covariances of tokens."""

def quadrants(
    log_prob: _Column, advantage: _Column, *, entropy: _Column | None = None
) -> Quadrants:
    """Sort tokens into the four quadrants."""

def predicted_entropy_change(
    log_prob: _Column,
    advantage: _Column,
    *,
    eta: float,
    entropy: _Column | None = None,
    mean_score: _Column | None = None,
) -> EntropyChange:
    """Predict the entropy change of a step with logit step eta, in nats; NaN without tokens."""

def divergence(log_prob: _Column, old_log_prob: _Column) -> Divergence:
    """Measure how far the policy has moved; means are NaN without tokens."""

def clip_fractions(
    log_prob: _Column,
    old_log_prob: _Column,
    advantage: _Column,
    *,
    clip_ratio_low: float = ...,
    clip_ratio_high: float = ...,
    clip_ratio_c: float | None = ...,
) -> ClipFractions:
    """Compute the clip fractions of PPO's surrogate; by default 0.2 on both sides and dual clip at 3, as in verl."""

# Masks

def clip_cov_mask(
    log_prob: _Column,
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
) -> NDArray[np.bool_]:
    """Mark the tokens that Clip-Cov drops, bool [tokens]; by default 2e-4 of them, covariance 1 to 5."""

def kl_cov_mask(
    log_prob: _Column,
    advantage: _Column,
    *,
    fraction: float = ...,
    centering: _Centering = "batch",
    entropy: _Column | None = None,
    semantics: _Semantics = "exact",
) -> NDArray[np.bool_]:
    """Mark the tokens that KL-Cov penalises, bool [tokens]; by default 2e-3 of them."""

def high_entropy_mask(entropy: _Column, *, fraction: float = ...) -> NDArray[np.bool_]:
    """Mark the tokens of highest entropy, bool [tokens]; by default 0.2 of them."""

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
    def final_error(self) -> float: ...
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
