// silu(gate) · up of gate and up one after another, each step rounded as libtorch's operators round it. blockIdx.x is the row.
//
// both [rows, 4 · words]; gated [rows, 2 · words].
__device__ float silu(float x) { return widen(narrow(x / (1 + expf(-x)))); }

extern "C" __global__ void gate(const Words* both, Words* gated, long long words) {
  const long long row = blockIdx.x, word = blockIdx.y * blockDim.x + threadIdx.x;
  if (word >= words) return;
  const Words gate = both[2 * row * words + word], up = both[(2 * row + 1) * words + word];
  gated[row * words + word] = word_of(silu(first_of(gate)) * first_of(up), silu(second_of(gate)) * second_of(up));
}
