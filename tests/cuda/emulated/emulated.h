// Emulated CUDA: a libtorch_cuda.so whose devices are memory of the host and whose operators are the CPU's.
//
// Every device address lies in one range that nobody can read; the numbers lie `to_host` of it. So a host that follows a device pointer
// ends by SIGSEGV, as with a real device. Fresh memory holds NaN (0xff).
#pragma once
#include <ATen/ATen.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <mutex>
#include <string>

namespace emulated {
// One lock for all state: operators come from several threads.
std::recursive_mutex& lock();

at::DeviceIndex device_count();
at::DeviceIndex& current_device();

c10::DeviceAllocator* device_allocator();
c10::Allocator* pinned_allocator();
bool is_pinned(const void* address);

// The place of a device address in the host's memory; null for null.
void* to_host(const void* device);

// The same numbers as a tensor of the CPU, in place; tensors of the CPU are returned as they are.
at::Tensor as_cpu(const at::Tensor& tensor);
// A copy of a tensor of the CPU on a device; others are returned as they are.
at::Tensor as_cuda(const at::Tensor& tensor, at::DeviceIndex device);

// Copies between device and host. Those that do not block, to or from pinned memory, reach the host at the next synchronisation.
void copy(const at::Tensor& to, const at::Tensor& from, bool non_blocking);
// Waits for all copies. Fails where the host wrote to pinned memory from which a copy was queued.
void synchronize();

// The number in an environment variable that plants a mistake, 0 without one.
int64_t planted_at(const char* variable);

// Counts by name, written by report() as JSON to $EMULATED_CUDA_REPORT.<process>, if that is set.
void count(const std::string& name, int64_t by = 1);
}  // namespace emulated
