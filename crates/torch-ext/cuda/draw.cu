// Draws a token a row: the first up to which the probabilities add up to more than the row's uniform number, in f64; with temperature 0
// the likeliest. Its log-probability is that at the temperature, or at 1. A block a row.
//
// The row is cut in as many parts as there are warps, the part is found where the sum passes the number, and that is cut again: what is
// read twice is one part of the row, and nothing is written but the answer.
//
// logits [rows, vocabulary] in bf16; uniforms, tokens and log_probs [rows].
extern "C" __global__ void __launch_bounds__(512)
    draw(const Bf16* logits, const double* uniforms, long long* tokens, double* log_probs, long long vocabulary, double temperature) {
  __shared__ double masses[32];
  const long long row = blockIdx.x;
  const unsigned warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const bool greedy = temperature == 0;
  const double divisor = greedy ? 1 : temperature;
  logits += row * vocabulary;

  float own = widen(logits[0]);
  for (long long token = threadIdx.x; token < vocabulary; token += blockDim.x) own = Larger()(own, widen(logits[token]));
  const float likeliest = over_block(own, Larger());
  const double largest = likeliest / divisor;

  long long begin = 0, end = vocabulary;
  double before = 0, total = 0, target = 0;
  do {
    const bool whole = end - begin == vocabulary;
    const long long length = (end - begin + warps - 1) / warps, from = begin + warp * length;
    const long long to = Smaller()(from + length, end);
    double mass = 0;
    for (long long token = from + lane; token < to; token += 32) mass += exp(widen(logits[token]) / divisor - largest);
    mass = over_warp(mass, Add());
    if (lane == 0) masses[warp] = mass;
    __syncthreads();
    if (whole) {
      for (unsigned part = 0; part < warps; ++part) total += masses[part];
      target = uniforms[row] * total;
    }
    // The first part whose end lies beyond the target; if rounding leaves none, the last that has any mass.
    unsigned chosen = 0;
    double reached = before;
    for (unsigned part = 0; part < warps; ++part) {
      if (masses[part] > 0) {
        chosen = part;
        before = reached;
      }
      reached += masses[part];
      if (reached > target) break;
    }
    // Only then may the next round write there.
    __syncthreads();
    begin += chosen * length;
    end = Smaller()(begin + length, end);
  } while (end - begin > 1 && !greedy);

  if (greedy) {
    long long first = vocabulary - 1;
    for (long long token = threadIdx.x; token < vocabulary; token += blockDim.x)
      if (widen(logits[token]) == likeliest) first = Smaller()(first, token);
    begin = over_block(first, Smaller());
  }
  if (threadIdx.x == 0) {
    tokens[row] = begin;
    log_probs[row] = widen(logits[begin]) / divisor - largest - log(total);
  }
}
