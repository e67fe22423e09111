// Counts of null CUDA, kept by the runtime; other stubs find the functions at run time, as each is a library of its own.
#pragma once
#include <dlfcn.h>

#define API extern "C" __attribute__((visibility("default")))

namespace null_cuda {
using Count = void (*)(const char* name, long long by);

inline void count(const char* name, long long by = 1) {
  static const auto counted = reinterpret_cast<Count>(dlsym(RTLD_DEFAULT, "null_cuda_count"));
  if (counted) counted(name, by);
}

// Counts a launch, after which nothing counts as computed.
inline void launched() {
  static const auto told = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "null_cuda_launched"));
  if (told) told();
}

// Tells that the numbers of a range were computed, not left as they were: copies to the host bring them until the next launch.
inline void computed(const void* address, size_t bytes) {
  static const auto told = reinterpret_cast<void (*)(const void*, size_t)>(dlsym(RTLD_DEFAULT, "null_cuda_computed"));
  if (told) told(address, bytes);
}
}  // namespace null_cuda
