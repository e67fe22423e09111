// Turns two neighbours of the first half of a head, and the two of the second half that belong to them, by the angles of `angle` on;
// `sign` -1 turns back. Each product and sum is rounded to f32, the result to bf16.
__device__ void turn(Words& first, Words& second, const float* cosine, const float* sine, long long angle, float sign) {
  const float c0 = cosine[angle], c1 = cosine[angle + 1], s0 = sign * sine[angle], s1 = sign * sine[angle + 1];
  const Words turned = word_of(first_of(first) * c0 - first_of(second) * s0, second_of(first) * c1 - second_of(second) * s1);
  second = word_of(first_of(second) * c0 + first_of(first) * s0, second_of(second) * c1 + second_of(first) * s1);
  first = turned;
}

// Rotates the first heads of each row, and copies the others. A thread takes four numbers; blockIdx.x is the row.
//
// x [rows, heads, 4 · quarter], with `row_step` words from row to row and `head_step` from head to head; cosine and sine
// [rows, 2 · quarter]; turned [rows, heads, 4 · quarter].
extern "C" __global__ void rotate(const Words* x, const float* cosine, const float* sine, Words* turned, long long heads, long long rotated,
                                  long long quarter, long long row_step, long long head_step, double sign) {
  const long long row = blockIdx.x, width = 2 * quarter;
  const unsigned thread = blockIdx.y * blockDim.x + threadIdx.x;
  const unsigned head = thread / (unsigned)quarter, word = thread % (unsigned)quarter;
  if (head >= heads) return;
  x += row * row_step + head * head_step;
  Words first = x[word], second = x[word + quarter];
  if (head < rotated) turn(first, second, cosine, sine, row * width + 2 * word, (float)sign);
  turned += (row * heads + head) * width;
  turned[word] = first;
  turned[word + quarter] = second;
}
