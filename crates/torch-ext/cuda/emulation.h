// The words of CUDA that the kernels use, for the host's compiler: see emulation.cpp, which stands behind the kernels.
#include <cmath>
#include <cstring>

#define __global__
#define __device__ inline
#define __shared__ static
#define __launch_bounds__(threads)

struct Index {
  unsigned x, y;
};

extern Index threadIdx, blockIdx, blockDim;

// Every thread of the block, or of the warp, comes here before one goes on.
void __syncthreads();
void emulation_exchange(void* own, unsigned bytes, unsigned lane_mask);

template <class T>
T __shfl_xor_sync(unsigned, T own, int lane_mask) {
  emulation_exchange(&own, sizeof own, lane_mask);
  return own;
}

inline float __uint_as_float(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline unsigned __float_as_uint(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
