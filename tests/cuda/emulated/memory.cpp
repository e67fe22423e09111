// Memory of the emulated devices, pinned memory, and copies between the two.
#include <ATen/EmptyTensor.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <unordered_map>
#include <vector>

#include "emulated.h"

namespace emulated {
namespace {
constexpr size_t kRange = size_t(64) << 30;

struct Range {
  char* device;
  char* host;
  size_t used = 0;
  // Freed blocks by size.
  std::unordered_map<size_t, std::vector<char*>> free;

  Range() {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    device = (char*)mmap(nullptr, kRange, PROT_NONE, flags, -1, 0);
    host = (char*)mmap(nullptr, kRange, PROT_READ | PROT_WRITE, flags, -1, 0);
    TORCH_CHECK(device != MAP_FAILED && host != MAP_FAILED, "no address space for emulated devices");
  }
};

Range& range() {
  static Range* range = new Range;
  return *range;
}

struct Statistics {
  int64_t current = 0, peak = 0;
};
std::map<int, Statistics> statistics;

size_t block_size(size_t bytes) {
  size_t size = 512;
  while (size < bytes) size *= 2;
  return size;
}

struct Block {
  char* address;
  size_t size;
  int device;
};

void free_block(void* context) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  auto* block = static_cast<Block*>(context);
  range().free[block->size].push_back(block->address);
  statistics[block->device].current -= (int64_t)block->size;
  delete block;
}

struct DeviceMemory final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    std::lock_guard<std::recursive_mutex> guard(lock());
    const int device = current_device();
    const c10::Device place(c10::DeviceType::CUDA, (c10::DeviceIndex)device);
    if (bytes == 0) return {nullptr, nullptr, [](void*) {}, place};
    const size_t size = block_size(bytes);
    auto& free = range().free[size];
    char* address;
    if (free.empty()) {
      TORCH_CHECK(range().used + size <= kRange, "emulated CUDA is out of memory");
      address = range().device + range().used;
      range().used += size;
    } else {
      address = free.back();
      free.pop_back();
    }
    memset(to_host(address), 0xff, bytes);
    auto& of_device = statistics[device];
    of_device.current += (int64_t)size;
    of_device.peak = std::max(of_device.peak, of_device.current);
    count("allocations on device " + std::to_string(device));
    return {address, new Block{address, size, device}, free_block, place};
  }
  void copy_data(void* to, const void* from, size_t bytes) const override { memcpy(to_host(to), to_host(from), bytes); }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t = {0, 0}) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    std::lock_guard<std::recursive_mutex> guard(lock());
    c10::CachingDeviceAllocator::DeviceStats answer;
    for (auto* bytes : {&answer.allocated_bytes[0], &answer.reserved_bytes[0]}) {
      bytes->current = statistics[device].current;
      bytes->peak = statistics[device].peak;
    }
    return answer;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex device) override { statistics[device].peak = statistics[device].current; }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex) override { return {80000000000, 80000000000}; }
};

// Pinned memory of the host by address, with sizes.
std::map<const char*, size_t> pinned;

void free_pinned(void* address) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  pinned.erase((char*)address);
  free(address);
}

struct PinnedMemory final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    std::lock_guard<std::recursive_mutex> guard(lock());
    void* address = nullptr;
    TORCH_CHECK(posix_memalign(&address, 64, bytes + 64) == 0, "out of memory");
    pinned[(char*)address] = bytes + 64;
    count("pinned allocations");
    return {address, address, free_pinned, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return free_pinned; }
  void copy_data(void* to, const void* from, size_t bytes) const override { memcpy(to, from, bytes); }
};

// A copy to pinned memory that the host must not read yet.
struct Arriving {
  at::Tensor to, numbers;
};
// Pinned memory that a queued copy reads, and its content when it was queued.
struct Leaving {
  at::Tensor from;
  uint64_t content;
};
std::vector<Arriving> arriving;
std::vector<Leaving> leaving;

uint64_t content_of(const at::Tensor& tensor) {
  uint64_t hash = 14695981039346656037u;
  const auto whole = tensor.contiguous();
  const auto* bytes = (const unsigned char*)whole.data_ptr();
  for (size_t i = 0; i < whole.nbytes(); ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

void arrive() {
  for (auto& one : arriving) one.to.copy_(one.numbers);
  arriving.clear();
}
}  // namespace

std::recursive_mutex& lock() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}

c10::DeviceAllocator* device_allocator() {
  static auto* memory = new DeviceMemory;
  return memory;
}

c10::Allocator* pinned_allocator() {
  static auto* memory = new PinnedMemory;
  return memory;
}

bool is_pinned(const void* address) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  auto next = pinned.upper_bound((const char*)address);
  if (next == pinned.begin()) return false;
  --next;
  return (const char*)address < next->first + next->second;
}

void* to_host(const void* device) {
  if (device == nullptr) return nullptr;
  const size_t offset = (const char*)device - range().device;
  TORCH_CHECK(offset < kRange, "an address of the host where one of the device is expected");
  return range().host + offset;
}

at::Tensor as_cpu(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_cuda()) return tensor;
  void* numbers = tensor.numel() == 0 ? nullptr : to_host(tensor.data_ptr());
  return at::for_blob(numbers, tensor.sizes())
      .strides(tensor.strides())
      .options(tensor.options().device(at::kCPU).requires_grad(false))
      .target_device(at::Device(at::kCPU))
      .make_tensor();
}

at::Tensor as_cuda(const at::Tensor& tensor, at::DeviceIndex device) {
  if (!tensor.defined() || tensor.is_cuda()) return tensor;
  const auto before = std::exchange(current_device(), device);
  const c10::DispatchKeySet keys(c10::DispatchKey::CUDA);
  const auto kind = tensor.scalar_type();
  at::Tensor copied = tensor.is_non_overlapping_and_dense()
                    ? at::detail::empty_strided_generic(tensor.sizes(), tensor.strides(), device_allocator(), keys, kind)
                    : at::detail::empty_generic(tensor.sizes(), device_allocator(), keys, kind, std::nullopt);
  current_device() = before;
  as_cpu(copied).copy_(tensor);
  return copied;
}

void copy(const at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  if (to.is_cuda() && from.is_cuda()) {
    count(to.device() == from.device() ? "copies on a device" : "copies between devices");
  } else if (to.is_cuda()) {
    count("copies to a device");
    count("bytes to a device", (int64_t)from.nbytes());
    // In the order of the stream: what is on its way here has arrived.
    arrive();
    if (non_blocking && is_pinned(from.data_ptr()))
      leaving.push_back({from, content_of(from)});
    else
      synchronize();
  } else {
    count("copies to the host");
    count("bytes to the host", (int64_t)to.nbytes());
    // A planted mistake: copy number $EMULATED_CUDA_PLANT_COPY is not waited for.
    static const int64_t planted = planted_at("EMULATED_CUDA_PLANT_COPY");
    static int64_t copies = 0;
    const bool is_unordered = (non_blocking && is_pinned(to.data_ptr())) || ++copies == planted;
    if (is_unordered && to.is_non_overlapping_and_dense()) {
      auto numbers = at::empty_like(to);
      numbers.copy_(as_cpu(from));
      memset(to.data_ptr(), 0xff, to.nbytes());
      arriving.push_back({to, numbers});
      return;
    }
    synchronize();
  }
  as_cpu(to).copy_(as_cpu(from));
}

void synchronize() {
  std::lock_guard<std::recursive_mutex> guard(lock());
  count("synchronisations");
  arrive();
  auto sources = std::exchange(leaving, {});
  for (auto& source : sources)
    TORCH_CHECK(content_of(source.from) == source.content, "the host wrote to pinned memory while a copy from it was queued");
}
}  // namespace emulated

// For the emulated driver, which launches our own kernels on these addresses: moves an address of a device, leaves other numbers.
extern "C" __attribute__((visibility("default"))) uint64_t emulated_cuda_argument(uint64_t bits) {
  const uint64_t offset = bits - (uint64_t)emulated::range().device;
  return offset < emulated::kRange ? (uint64_t)emulated::range().host + offset : bits;
}
