"""A few numbers of the library against closed forms: `closed_forms.py FOLDER CASES`.

FOLDER holds the module. CASES are columns with the positions that the Rust crate selects. Needs no
package; what takes or gives arrays is checked where numpy is installed.
"""

import json
import math
import sys

if sys.version_info < (3, 9):
    print("not run: Python is %s, the library is for 3.9 and newer" % sys.version.split()[0])
    sys.exit()
sys.path.insert(0, sys.argv[1])
import entropy_rl as er  # noqa: E402


def close(found, expected):
    assert math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-12), (found, expected)


def refuses(error, words, call):
    try:
        call()
    except error as complaint:
        assert words in str(complaint), complaint
    else:
        raise AssertionError(f"expected {error.__name__}: {words}")


# The verifier.
verdict = er.verify(r"So it is \boxed{\frac{2}{4}}.", "0.5")
assert verdict and verdict.verdict == "right" and verdict.rung == "number", verdict
assert not er.verify(r"\boxed{3}", "4")
unread = er.verify("I do not know.", "4")
assert (unread.verdict, unread.which) == ("unparsed", "response"), unread
found = er.extract("π is \\boxed{3}")
assert (found.text, found.rule, found.span) == ("3", "box", (12, 13)), found
assert [v.verdict for v in er.verify_many([r"\boxed{1}", "?"], ["1", "1"], threads=2)] == ["right", "unparsed"]
refuses(ValueError, "`ground_truths` has 1 entries, `responses` has 2", lambda: er.verify_many(["a", "b"], ["c"]))

# Two tokens, centred ±1 both in log-probability and advantage.
log_prob, advantage = [-1.0, -3.0], [1.0, -1.0]
summary = er.covariance_summary(log_prob, advantage)
close(summary.mean, 1.0)
assert [top.tokens for top in summary.top_means] == [1, 1, 1, 1, 1, 2]
four = er.quadrants(log_prob, advantage)
assert (four.up_likely.tokens, four.down_unlikely.tokens, four.still.tokens) == (1, 1, 0)
close(four.up_likely.covariance, 1.0)
change = er.predicted_entropy_change(log_prob, advantage, eta=0.1, entropy=[2.0, 2.0])
close(change.natural_policy_gradient_batch, -0.1)
close(change.natural_policy_gradient_state, -0.1)
# Cov(log π, π A) of two tokens: half the difference of each, multiplied.
close(change.policy_gradient_batch, -0.1 * (math.exp(-1) + math.exp(-3)) / 2)
close(change.policy_gradient_state, -0.1 * (math.exp(-1) + math.exp(-3)) / 2)
assert er.predicted_entropy_change(log_prob, advantage, eta=0.1).policy_gradient_state is None
moved = er.divergence([math.log(2.0)], [0.0])
close(moved.k1, -math.log(2))
close(moved.k3, 1 - math.log(2))
clipped = er.clip_fractions([math.log(1.5), 0.0, math.log(4.0), 0.1], [0.0] * 4, [1.0, 1.0, -1.0, -1.0])
assert (clipped.clip_fraction, clipped.clip_fraction_lower) == (0.25, 0.25), clipped
refuses(ValueError, "`advantage` has 1 tokens, `log_prob` has 2", lambda: er.quadrants(log_prob, [1.0]))
refuses(TypeError, "str", lambda: er.quadrants("text", [1.0]))

# R = 1 - exp(H) / 2, with no residual.
entropies = [math.log(x) for x in (1.0, 1.5, 2.0, 4.0)]
law = er.fit_law(entropies, [1 - math.exp(h) / 2 for h in entropies])
close(law.a, 0.5)
close(law.b, 1.0)
close(law.ceiling, 0.5)
close(law.predict(math.log(3.0)), -0.5)
low, high = law.interval_ceiling()
assert low <= 0.5 + 1e-12 and high >= 0.5 - 1e-12, (low, high)
refuses(ValueError, "at least 2 points", lambda: er.fit_law([1.0], [1.0]))

try:
    import numpy as np
except ImportError:
    print("closed forms hold; numpy is not installed: no arrays, no masks")
    sys.exit()
assert er.token_covariances(log_prob, np.array(advantage)).tolist() == [1.0, 1.0]
assert er.grade([r"\boxed{1}", "?"], ["1", "1"], unparsed=-0.5).tolist() == [1.0, -0.5]
for case in json.load(open(sys.argv[2])):
    columns = {name: np.array(case[name]) for name in ("log_prob", "old_log_prob", "advantage")}
    clip = er.clip_cov_mask(**columns, seed=case["seed"])
    assert clip.dtype == bool and np.flatnonzero(clip).tolist() == case["clip_cov"]
    kl = er.kl_cov_mask(columns["log_prob"], columns["advantage"])
    assert np.flatnonzero(kl).tolist() == case["kl_cov"]
print("closed forms hold, with arrays and masks")
