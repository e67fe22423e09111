// What this libtorch is, and CUDA through device-generic interfaces: no CUDA header, no link to libtorch_cuda.so.
#include <ATen/Context.h>
#include <ATen/Version.h>
#include <ATen/DeviceAccelerator.h>
#include <c10/core/AllocatorConfig.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <cstdlib>
#include <cstring>

#include "guard.h"

namespace {
// True if the driver can map memory to addresses that were reserved before.
bool maps_memory() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) return false;
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto attribute = reinterpret_cast<int (*)(int*, int, int)>(dlsym(driver, "cuDeviceGetAttribute"));
  constexpr int kVirtualMemoryManagement = 102;
  int supported = 0;
  return init && attribute && !init(0) && !attribute(&supported, kVirtualMemoryManagement, 0) && supported;
}

// Lets the allocator's segments grow, so that freed memory serves tensors of any size. Who sets the allocator's variable chooses alone.
void let_segments_grow() {
  for (const char* variable : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
    if (getenv(variable)) return;
  }
  if (maps_memory()) c10::CachingAllocator::setAllocatorSettings("expandable_segments:True");
}
}  // namespace

extern "C" {
// 1: libtorch's CUDA half is loaded now. 0: it is not, and torch_ext_take_error says why.
int torch_ext_load_cuda() {
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL)) {
    dlopen("libtorch_cuda_linalg.so", RTLD_NOW | RTLD_GLOBAL);
    // cuDNN's attention makes and keeps a plan for each length; flash attention takes all of them.
    at::globalContext().setSDPUseCuDNN(false);
    return torch_ext::guard(0, [] {
      let_segments_grow();
      return 1;
    });
  }
  torch_ext::set_error(dlerror());
  return 0;
}

// From here on operators of CUDA devices add in one order; one that cannot throws.
int torch_ext_repeat_bits() {
  return torch_ext::guard(-1, [] {
    // Without it cuBLAS may choose another workspace, and with it another order, each time.
    setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
    at::globalContext().setDeterministicFillUninitializedMemory(false);
    return 0;
  });
}

const char* torch_ext_built_against() { return TORCH_VERSION; }

// The caller frees the answer with free().
char* torch_ext_show_config() { return strdup(at::show_config().c_str()); }

// Most bytes that were ever reserved on the CUDA device.
int torch_ext_cuda_peak_reserved_bytes(int device, int64_t* bytes) {
  return torch_ext::guard(-1, [&] {
    *bytes = at::getDeviceAllocator(c10::DeviceType::CUDA)->getDeviceStats(device).reserved_bytes[0].peak;
    return 0;
  });
}

// Free and all memory of the CUDA device, in bytes.
int torch_ext_cuda_memory_info(int device, uint64_t out[2]) {
  return torch_ext::guard(-1, [&] {
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    auto [free, total] = at::getDeviceAllocator(c10::DeviceType::CUDA)->getMemoryInfo(device);
    out[0] = free;
    out[1] = total;
    return 0;
  });
}

// The stream that libtorch launches on now, a cudaStream_t.
int torch_ext_current_stream(int device, void** stream) {
  return torch_ext::guard(-1, [&] {
    c10::impl::VirtualGuardImpl cuda(c10::DeviceType::CUDA);
    *stream = cuda.getStreamNativeHandle(cuda.getStream(c10::Device(c10::DeviceType::CUDA, (c10::DeviceIndex)device)));
    return 0;
  });
}

// Path of the library that libtorch's operators are in, as the loader found it, or null. The caller frees it with free().
char* torch_ext_library_path() {
  Dl_info info;
  return dladdr((void*)&at::show_config, &info) && info.dli_fname ? strdup(info.dli_fname) : nullptr;
}
}
