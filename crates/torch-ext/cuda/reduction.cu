// One number of all threads of a warp, or of a block of whole warps; every thread gets the same bits.

struct Add {
  template <class T>
  __device__ T operator()(T a, T b) const { return a + b; }
};

struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

struct Smaller {
  template <class T>
  __device__ T operator()(T a, T b) const { return a < b ? a : b; }
};

template <class T, class Combine>
__device__ T over_warp(T own, Combine combine) {
  for (int distance = 16; distance > 0; distance /= 2) own = combine(own, __shfl_xor_sync(~0u, own, distance));
  return own;
}

template <class T, class Combine>
__device__ T over_block(T own, Combine combine) {
  __shared__ T of_warps[32];
  own = over_warp(own, combine);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = own;
  __syncthreads();
  T all = of_warps[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) all = combine(all, of_warps[warp]);
  // Only then may the next one write there.
  __syncthreads();
  return all;
}
