// AdamW's step, bit-identical to llm-trainer's loops over the host's memory (adamw/host_step.rs there). Each thread steps ELEMENTS numbers.
// Products and sums are rounded one by one, in f32.
//
// gradient, parameter, first and second moments [count], in bf16 or f32 as `formats` says; copy [count], the f32 master weight or its
// lower 16 bits. `start` is the index of the first number in its parameter, which keys the noise that rounds to bf16.

// Of the parameter: in f32; in bf16 beside a master weight; the upper half of one, whose lower is the copy; in bf16 alone.
enum Weight { WIDE, BESIDE, SPLIT, ALONE };

constexpr unsigned ELEMENTS = 4;

__device__ unsigned mixed(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

__device__ unsigned noise_for(unsigned long long key, unsigned element) {
  return mixed(mixed(element ^ (unsigned)key) ^ (unsigned)(key >> 32));
}

// To bf16, up or down by 16 bits of noise; a finite number stays finite.
__device__ Bf16 rounded(float value, unsigned noise) {
  const float largest = __uint_as_float(0x7f7f0000u);
  const float kept = value < -largest ? -largest : value > largest ? largest : value;
  return (Bf16)((__float_as_uint(kept) + (noise & 0xffff)) >> 16);
}

// The nearest bf16, ties away from zero; the rest of the bits, as a signed number, make it whole again.
__device__ Bf16 upper_half(float value) { return (Bf16)((__float_as_uint(value) + 0x8000u) >> 16); }
__device__ float joined(Bf16 upper, short lower) { return __uint_as_float(((unsigned)upper << 16) + (unsigned)(int)lower); }

__device__ float number_at(const void* numbers, long long index, bool wide) {
  return wide ? static_cast<const float*>(numbers)[index] : widen(static_cast<const Bf16*>(numbers)[index]);
}

extern "C" __global__ void adamw(const void* gradient, void* parameter, void* copy, void* first_moments, void* second_moments,
                                 long long count, long long start, long long formats, unsigned long long key_of_moments,
                                 unsigned long long key_of_weight, double gradient_factor, double decay, double first,
                                 double second_kept, double second, double root_correction, double epsilon, double step_size) {
  const bool wide_gradient = formats & 1, wide_moments = formats & 2;
  const Weight weight = (Weight)(formats >> 2);
  for (unsigned i = 0; i < ELEMENTS; ++i) {
    const long long index = ((long long)blockIdx.x * ELEMENTS + i) * blockDim.x + threadIdx.x;
    if (index >= count) return;
    float value;
    if (weight == SPLIT)
      value = joined(static_cast<Bf16*>(parameter)[index], static_cast<short*>(copy)[index]);
    else
      value = number_at(weight == BESIDE ? copy : parameter, index, weight != ALONE);
    float mean = number_at(first_moments, index, wide_moments), square = number_at(second_moments, index, wide_moments);

    const float slope = number_at(gradient, index, wide_gradient) * (float)gradient_factor;
    const float kept = value - value * (float)decay;
    const float away = slope - mean, share = (float)first;
    mean = share < 0.5f ? mean + share * away : slope + (share - 1.0f) * away;
    square = square * (float)second_kept + (float)second * slope * slope;
    const float root = sqrtf(square) / (float)root_correction + (float)epsilon;
    value = kept - (float)step_size * (mean / root);

    const unsigned element = (unsigned)(start + index);
    if (wide_moments) {
      static_cast<float*>(first_moments)[index] = mean;
      static_cast<float*>(second_moments)[index] = square;
    } else {
      const unsigned noise = noise_for(key_of_moments, element);
      static_cast<Bf16*>(first_moments)[index] = rounded(mean, noise);
      static_cast<Bf16*>(second_moments)[index] = rounded(square, noise >> 16);
    }
    if (weight == WIDE || weight == BESIDE) static_cast<float*>(weight == WIDE ? parameter : copy)[index] = value;
    if (weight == BESIDE || weight == SPLIT) static_cast<Bf16*>(parameter)[index] = upper_half(value);
    if (weight == SPLIT) static_cast<short*>(copy)[index] = (short)__float_as_uint(value);
    if (weight == ALONE) static_cast<Bf16*>(parameter)[index] = rounded(value, noise_for(key_of_weight, element));
  }
}

// Sum of squares of each block's share of numbers, in f64. gradient [count], f32 if `wide`, else bf16; sums [blocks].
extern "C" __global__ void squares(const void* gradient, double* sums, long long count, long long wide, long long blocks) {
  double own = 0;
  for (long long index = (long long)blockIdx.x * blockDim.x + threadIdx.x; index < count; index += blocks * blockDim.x) {
    const double number = number_at(gradient, index, wide);
    own += number * number;
  }
  own = over_block(own, Add());
  if (threadIdx.x == 0) sums[blockIdx.x] = own;
}
