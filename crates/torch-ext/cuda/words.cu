// Numbers of 16 bits two a word, as they lie in memory: the first in the lower half. bf16 is the upper half of f32, so no header is
// needed, and the host computes the same bits.

typedef unsigned short Bf16;
typedef unsigned Words;

__device__ float widen(Bf16 bits) { return __uint_as_float((unsigned)bits << 16); }

// To the nearest, ties to even; a NaN becomes the one that libtorch writes.
__device__ Bf16 narrow(float value) {
  unsigned bits = __float_as_uint(value);
  return value != value ? 0x7fc0 : (Bf16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

__device__ float first_of(Words word) { return __uint_as_float(word << 16); }
__device__ float second_of(Words word) { return __uint_as_float(word & 0xffff0000u); }
__device__ Words word_of(float first, float second) { return narrow(first) | (Words)narrow(second) << 16; }
