// silu(gate) · up of gate and up one after another, and its gradient. blockIdx.x is the row.
//
// both and gradient [rows, 4 · words]; gated and cotangent [rows, 2 · words].

// Each step is rounded as libtorch's operators round it.
__device__ float silu(float x) { return widen(narrow(x / (1 + expf(-x)))); }

extern "C" __global__ void gate(const Words* both, Words* gated, long long words) {
  const long long row = blockIdx.x, word = blockIdx.y * blockDim.x + threadIdx.x;
  if (word >= words) return;
  const Words gate = both[2 * row * words + word], up = both[(2 * row + 1) * words + word];
  gated[row * words + word] = word_of(silu(first_of(gate)) * first_of(up), silu(second_of(gate)) * second_of(up));
}

// With s = 1 / (1 + e^-gate): c · up · s · (1 + gate (1 - s)).
__device__ float slope_of_gate(float cotangent, float gate, float up) {
  const float s = 1 / (1 + expf(-gate));
  return cotangent * up * (s * (1 + gate * (1 - s)));
}

// In f32 and rounded once.
extern "C" __global__ void gate_backward(const Words* both, const Words* cotangent, Words* gradient, long long words) {
  const long long row = blockIdx.x, word = blockIdx.y * blockDim.x + threadIdx.x;
  if (word >= words) return;
  const Words gate = both[2 * row * words + word], up = both[(2 * row + 1) * words + word], slope = cotangent[row * words + word];
  gradient[2 * row * words + word] = word_of(slope_of_gate(first_of(slope), first_of(gate), first_of(up)),
                                             slope_of_gate(second_of(slope), second_of(gate), second_of(up)));
  gradient[(2 * row + 1) * words + word] =
      word_of(first_of(slope) * first_of(gate) / (1 + expf(-first_of(gate))), second_of(slope) * second_of(gate) / (1 + expf(-second_of(gate))));
}
