"""Verifier of mathematical answers, entropy diagnostics, policy losses with their masks, and the R-H law.

A column is a numpy array or a torch tensor of float32, float64 or bfloat16, any array with DLPack or
`__array__`, or a sequence of floats. It has one value per trained token, [tokens], or is [batch, length] with
a `response_mask` of that shape. Log-probabilities and entropies are in nats; shares are fractions. An invalid
value raises ValueError, an argument of a wrong type TypeError.
"""

from entropy_rl._native import *  # noqa: F403
from entropy_rl._native import __all__ as __all__
from entropy_rl._native import __version__ as __version__
