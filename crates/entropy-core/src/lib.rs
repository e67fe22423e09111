//! Softmax-policy mathematics: entropy, covariance, the entropy-change lemma and theorems, the R-H law.
