// Counts of null CUDA, kept by the runtime; other stubs find the functions at run time, as each is a library of its own.
#pragma once
#include <dlfcn.h>

#include <string>

#define API extern "C" __attribute__((visibility("default")))

namespace null_cuda {
// Sums over a thread's launches, copies and fills on a device.
struct Work {
  long long launches = 0;
  // On a device.
  long long copies_and_fills = 0;
  // Floating-point operations of products and attention.
  double operations = 0;
  // Bytes of an operator's arguments that it does not read.
  double unread = 0;

  Work plus(const Work& other, int sign) const {
    return {launches + sign * other.launches, copies_and_fills + sign * other.copies_and_fills, operations + sign * other.operations,
            unread + sign * other.unread};
  }
};

template <class F>
F of_runtime(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

inline void count(const char* name, long long by = 1) {
  static const auto counted = of_runtime<void (*)(const char*, long long)>("null_cuda_count");
  if (counted) counted(name, by);
}

// Counts a launch, after which nothing counts as computed.
inline void launched() {
  static const auto told = of_runtime<void (*)()>("null_cuda_launched");
  if (told) told();
}

// Tells that the numbers of a range were computed, not left as they were: copies to the host bring them until the next launch.
inline void computed(const void* address, size_t bytes) {
  static const auto told = of_runtime<void (*)(const void*, size_t)>("null_cuda_computed");
  if (told) told(address, bytes);
}

// Adds to the thread's sums.
inline void worked(const Work& more) {
  static const auto told = of_runtime<void (*)(const Work*)>("null_cuda_worked");
  if (told) told(&more);
}

// The thread's sums.
inline Work work() {
  static const auto read = of_runtime<void (*)(Work*)>("null_cuda_work");
  Work sums;
  if (read) read(&sums);
  return sums;
}

inline void count_work(const std::string& name, long long launches, double bytes, double operations) {
  const std::string numbers = std::to_string(launches) + "|" + std::to_string((long long)bytes) + "|" + std::to_string((long long)operations);
  count(("work|" + name + "|" + numbers).c_str());
}
}  // namespace null_cuda
