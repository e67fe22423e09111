// Device, streams and events of emulated CUDA: one stream, which is always done but for copies to the host.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "emulated.h"

namespace emulated {
namespace {
std::map<std::string, int64_t>& counts() {
  static auto* counts = new std::map<std::string, int64_t>;
  return *counts;
}
}  // namespace

at::DeviceIndex device_count() {
  const char* count = getenv("EMULATED_CUDA_DEVICES");
  return (at::DeviceIndex)(count ? atoi(count) : 1);
}

at::DeviceIndex& current_device() {
  thread_local at::DeviceIndex current = 0;
  return current;
}

int64_t planted_at(const char* variable) {
  const char* number = getenv(variable);
  return number ? atoll(number) : 0;
}

void count(const std::string& name, int64_t by) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  counts()[name] += by;
}

namespace {
void check(c10::Device device) {
  TORCH_CHECK(device.index() < device_count(), "CUDA error: invalid device ordinal ", (int)device.index());
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }
  c10::Device getDevice() const override { return {c10::DeviceType::CUDA, current_device()}; }
  void setDevice(c10::Device device) const override {
    check(device);
    current_device() = device.index();
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override { current_device() = device.index(); }
  c10::Device exchangeDevice(c10::Device device) const override {
    const auto before = getDevice();
    setDevice(device);
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return device_count(); }

  c10::Stream getStream(c10::Device device) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream getDefaultStream(c10::Device device) const override { return getStream(device); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  void* getStreamNativeHandle(const c10::Stream) const override { return nullptr; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override { synchronize(); }
  void synchronizeDevice(const c10::DeviceIndex) const override { synchronize(); }
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}

  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    *event = (void*)1;
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override { synchronize(); }
};

struct Allocators {
  Allocators() { c10::SetAllocator(c10::DeviceType::CUDA, device_allocator(), /*priority=*/10); }
} allocators;
}  // namespace
}  // namespace emulated

// Of the name that libtorch looks up in its registry.
struct CUDAHooks final : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool hasCUDART() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return emulated::device_count(); }
  int getNumGPUs() const override { return emulated::device_count(); }
  c10::DeviceIndex current_device() const override { return emulated::current_device(); }
  c10::DeviceIndex getCurrentDevice() const override { return emulated::current_device(); }
  at::Allocator* getCUDADeviceAllocator() const override { return emulated::device_allocator(); }
  at::Allocator* getPinnedMemoryAllocator() const override { return emulated::pinned_allocator(); }
  bool isPinnedPtr(const void* address) const override { return emulated::is_pinned(address); }
  at::Device getDeviceFromPtr(void*) const override { return {at::kCUDA, emulated::current_device()}; }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override { return at::detail::getDefaultCPUGenerator(); }
  std::string showConfig() const override { return "  - emulated CUDA\n"; }
  void deviceSynchronize(c10::DeviceIndex) const override { emulated::synchronize(); }
};

using at::CUDAHooksArgs;
using at::CUDAHooksInterface;
using at::CUDAHooksRegistry;
using at::RegistererCUDAHooksRegistry;
namespace at {
REGISTER_CUDA_HOOKS(CUDAHooks);
}
namespace c10::impl {
using emulated::Guard;
C10_REGISTER_GUARD_IMPL(CUDA, Guard);
}

// For the emulated driver.
extern "C" __attribute__((visibility("default"))) void emulated_cuda_count(const char* name) { emulated::count(name); }

// Called at the end of the process, by the emulated driver's `_exit`.
extern "C" __attribute__((visibility("default"))) void emulated_cuda_report() {
  const char* prefix = getenv("EMULATED_CUDA_REPORT");
  if (!prefix) return;
  std::lock_guard<std::recursive_mutex> guard(emulated::lock());
  FILE* file = fopen((std::string(prefix) + "." + std::to_string(getpid())).c_str(), "w");
  if (!file) return;
  const char* before = "{\n";
  for (const auto& [name, count] : emulated::counts()) {
    fprintf(file, "%s  \"%s\": %lld", before, name.c_str(), (long long)count);
    before = ",\n";
  }
  fprintf(file, "\n}\n");
  fclose(file);
}
