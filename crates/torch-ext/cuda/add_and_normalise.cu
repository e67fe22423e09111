// x ← x + y, rounded, where there is a y; then normed = x / sqrt(mean(x²) + epsilon) · weight, in f32 and rounded once. A block a row.
//
// x, y and normed [rows, 2 · words]; weight [2 · words].
extern "C" __global__ void add_and_normalise(Words* x, const Words* y, const Words* weight, Words* normed, long long words,
                                             double epsilon) {
  x += blockIdx.x * words;
  normed += blockIdx.x * words;
  float squares = 0;
  for (long long word = threadIdx.x; word < words; word += blockDim.x) {
    Words own = x[word];
    if (y) {
      const Words other = y[blockIdx.x * words + word];
      own = word_of(first_of(own) + first_of(other), second_of(own) + second_of(other));
      x[word] = own;
    }
    squares += first_of(own) * first_of(own) + second_of(own) * second_of(own);
  }
  const float mean = over_block(squares, Add()) / (2 * words);
  const float scale = 1 / sqrtf(mean + (float)epsilon);
  for (long long word = threadIdx.x; word < words; word += blockDim.x) {
    // Each thread reads what it wrote itself.
    const Words own = x[word], by = weight[word];
    normed[word] = word_of(first_of(own) * scale * first_of(by), second_of(own) * scale * second_of(by));
  }
}
