// Log-probability of a row's target, entropy, and squared score under softmax(logits / temperature), in f32; where there are cotangents of
// the first two, the row is then overwritten by its gradient, rounded once:
//
//   squared score = Σ_k (1[k = target] - p_k)²
//   d z_k = (d_log_prob (1[k = target] - p_k) - d_entropy p_k (log p_k + entropy)) / temperature
//
// logits [rows, 2 · words] in bf16; targets, d_log_prob, d_entropy, log_probs, entropies and squared_scores [rows]. A target out of range
// gets NaN. A block a row.
extern "C" __global__ void __launch_bounds__(512)
    head(Words* logits, const long long* targets, const float* d_log_prob, const float* d_entropy, float* log_probs, float* entropies,
         float* squared_scores, long long words, double temperature) {
  const long long row = blockIdx.x, target = targets[row];
  const float divisor = (float)temperature;
  logits += row * words;

  float largest = first_of(logits[0]) / divisor;
  for (long long word = threadIdx.x; word < words; word += blockDim.x) {
    const Words both = logits[word];
    largest = Larger()(largest, Larger()(first_of(both) / divisor, second_of(both) / divisor));
  }
  largest = over_block(largest, Larger());

  float mass = 0, weighted = 0, others = 0;
  for (long long word = threadIdx.x; word < words; word += blockDim.x) {
    const Words both = logits[word];
    for (unsigned half = 0; half < 2; ++half) {
      const float away = (half ? second_of(both) : first_of(both)) / divisor - largest, part = expf(away);
      mass += part;
      if (2 * word + half != target) others += part * part;
      // A token of probability 0 adds nothing, though its logarithm is -infinity.
      if (part != 0) weighted += part * away;
    }
  }
  mass = over_block(mass, Add());
  weighted = over_block(weighted, Add());
  others = over_block(others, Add());
  const float log_mass = logf(mass), entropy = log_mass - weighted / mass;

  if (threadIdx.x == 0) {
    const bool is_token = 0 <= target && target < 2 * words;
    const Words both = logits[is_token ? target / 2 : 0];
    const float logit = target % 2 ? second_of(both) : first_of(both);
    const float log_prob = is_token ? logit / divisor - largest - log_mass : __uint_as_float(0x7fc00000u);
    log_probs[row] = log_prob;
    entropies[row] = entropy;
    squared_scores[row] = expm1f(log_prob) * expm1f(log_prob) + others / mass / mass;
  }
  if (!d_log_prob) return;
  // Only when the target's logit was read may its word be overwritten.
  __syncthreads();
  const float slope = d_log_prob[row], slope_of_entropy = d_entropy ? d_entropy[row] : 0;
  for (long long word = threadIdx.x; word < words; word += blockDim.x) {
    const Words both = logits[word];
    float gradient[2];
    for (unsigned half = 0; half < 2; ++half) {
      const float log_prob = (half ? second_of(both) : first_of(both)) / divisor - largest - log_mass, probability = expf(log_prob);
      float own = -(slope * probability);
      if (slope_of_entropy != 0 && probability != 0) own -= slope_of_entropy * probability * (log_prob + entropy);
      if (2 * word + half == target) own += slope;
      gradient[half] = own / divisor;
    }
    logits[word] = word_of(gradient[0], gradient[1]);
  }
}
