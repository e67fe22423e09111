// CUDA's driver without a device, as libcuda.so.1. Our own kernels are counted; those of few rows, as their self-tests have, are run by
// the host, from kernels.so beside this library: a device that computes nothing would not pass.
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "notes.h"

namespace {
// Rows of the self-tests: eight are drawn for, as no run here does.
bool is_of_a_test(const std::string& name, unsigned rows) { return name == "draw" ? rows == 8 : rows <= 5; }
// What a kernel of a test writes from an address on, at most.
constexpr size_t kBytesOfATest = 1 << 20;

template <class F>
F of_kernels(const char* name) {
  static void* library = [] {
    Dl_info here;
    dladdr((void*)&is_of_a_test, &here);
    const std::string path = here.dli_fname;
    return dlopen((path.substr(0, path.rfind('/') + 1) + "kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  }();
  return library ? reinterpret_cast<F>(dlsym(library, name)) : nullptr;
}

// Bytes that a kernel of ours reads and writes, by its arguments and rows of blocks; what fits a cache is read once.
double bytes_of(const std::string& name, double rows, void** arguments) {
  using Bytes = std::function<double(double, const long long*)>;
  // Bytes of a number in f32 if a bit of `formats` is set, else in bf16.
  static const auto width = [](long long formats, int bit) { return formats >> bit & 1 ? 4.0 : 2.0; };
  static const std::map<std::string, Bytes> known{
      {"rotate", [](double rows, const long long* of) { return rows * of[4] * of[6] * 16; }},
      {"rotate_and_store", [](double rows, const long long* of) { return rows * (of[7] + 2 * of[8]) * of[9] * 16; }},
      {"add_and_normalise", [](double rows, const long long* of) { return rows * of[4] * (of[1] ? 16 : 8); }},
      {"gate", [](double rows, const long long* of) { return rows * of[2] * 12; }},
      {"gate_backward", [](double rows, const long long* of) { return rows * of[3] * 20; }},
      {"draw", [](double rows, const long long* of) { return rows * of[4] * 2; }},
      {"head", [](double rows, const long long* of) { return rows * of[7] * (of[2] ? 8 : 4); }},
      {"adamw",
       [](double, const long long* of) {
         // In f32; beside a master weight; with one's lower half; alone.
         static const double weights[] = {8, 10, 8, 4};
         return of[5] * (width(of[7], 0) + 4 * width(of[7], 1) + weights[of[7] >> 2]);
       }},
      {"squares", [](double, const long long* of) { return of[2] * width(of[3], 0); }},
  };
  const auto bytes = known.find(name);
  if (bytes == known.end()) return -1;
  long long numbers[32];
  for (unsigned i = 0; i < 32; ++i) numbers[i] = 0;
  static const auto count = of_kernels<unsigned (*)(const char*)>("emulation_arguments");
  for (unsigned i = 0; i < count(name.c_str()) && i < 32; ++i) memcpy(numbers + i, arguments[i], 8);
  return bytes->second(rows, numbers);
}
}  // namespace

API int cuInit(unsigned) { return 0; }
API int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
API int cuGetErrorString(int, const char** text) { return *text = "an error of null CUDA", 0; }
API int cuGetErrorName(int, const char** text) { return *text = "an error of null CUDA", 0; }
API int cuDeviceGet(int* device, int index) { return *device = index, 0; }
// Compute capability 9.0; memory can be mapped.
API int cuDeviceGetAttribute(int* value, int attribute, int) { return *value = attribute == 75 ? 9 : attribute == 102, 0; }
API int cuDevicePrimaryCtxRetain(void** context, int) { return *context = (void*)1, 0; }
API int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) { return *flags = 0, *active = 1, 0; }
API int cuCtxPushCurrent_v2(void*) { return 0; }
API int cuCtxPopCurrent_v2(void** context) { return *context = (void*)1, 0; }
API int cuCtxGetCurrent(void** context) { return *context = (void*)1, 0; }
API int cuCtxSetCurrent(void*) { return 0; }
API int cuModuleLoadData(void** module, const void*) { return *module = (void*)1, 0; }
API int cuModuleGetFunction(void** function, void*, const char* name) { return *function = strdup(name), 0; }
// NVRTC and the runtime look for more; they do without.
API int cuGetExportTable(const void**, const void*) { return 500; }
API int cuGetProcAddress_v2(const char*, void** function, int, unsigned long long, int* status) {
  *function = nullptr;
  if (status) *status = 1;
  return 500;
}
API int cuLaunchKernel(const char* name, unsigned columns, unsigned rows, unsigned, unsigned threads, unsigned, unsigned, unsigned, void*,
                       void** arguments, void**) {
  static const auto run = of_kernels<const char* (*)(const char*, unsigned, unsigned, unsigned, void* const*, unsigned)>("emulation_launch");
  static const auto count = of_kernels<unsigned (*)(const char*)>("emulation_arguments");
  if (!run || !count) return 999;
  null_cuda::launched();
  null_cuda::count(("own kernel " + std::string(name)).c_str());
  null_cuda::count_work("own kernel " + std::string(name), 1, bytes_of(name, columns, arguments), 0);
  if (!is_of_a_test(name, columns)) return 0;
  if (run(name, columns, rows, threads, arguments, count(name))) return 1;
  for (unsigned i = 0; i < count(name); ++i) null_cuda::computed(*(void**)arguments[i], kBytesOfATest);
  return 0;
}
