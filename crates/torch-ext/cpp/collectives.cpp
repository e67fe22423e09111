// Collectives of c10d through its back-ends: Gloo, which is linked, for tensors on the CPU; NCCL, which lives in
// libtorch_cuda.so and is found there at run time, for those on CUDA.
#include <dlfcn.h>
#include <cstdlib>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "distributed.h"
#include "guard.h"

using c10::intrusive_ptr;
using c10d::Backend;
using milliseconds = std::chrono::milliseconds;
using torch_ext::StoreHandle;

namespace {
struct Group {
  // One thread calls operations; another, which waits for one that fails, may close the connections.
  mutable std::mutex mutex;
  intrusive_ptr<Backend> cpu;
  intrusive_ptr<Backend> cuda;
};

// Keeps the tensors of the operation alive; c10d's work does that for the connections. A group that goes first runs what
// is queued before it ends.
struct Work {
  std::vector<at::Tensor> tensors;
  intrusive_ptr<c10d::Work> work;
};

// The header of ProcessGroupNCCL needs those of CUDA, so its exported constructors are called by their symbols on memory
// that is surely large enough (1112 and 248 bytes in 2.11.0), and the object is used as its first base class, which lies
// at the same address. The Rust half lets only the libtorch in which this was checked come here.
constexpr size_t kRoom = 16384;
constexpr const char* kOptions = "_ZN4c10d16ProcessGroupNCCL7OptionsC1Eb";
constexpr const char* kGroup =
    "_ZN4c10d16ProcessGroupNCCLC1EN3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_default_null_"
    "typeIS3_EEEEiiNS2_INS0_7OptionsENS5_IS8_EEEE";

template <class Base, class... Arguments>
intrusive_ptr<Base> construct(const char* symbol, Arguments... arguments) {
  void* constructor = dlsym(RTLD_DEFAULT, symbol);
  TORCH_CHECK(constructor, "libtorch's CUDA half is not loaded, or has no ", symbol);
  void* memory = ::operator new(kRoom);
  try {
    reinterpret_cast<void (*)(void*, Arguments...)>(constructor)(memory, std::move(arguments)...);
  } catch (...) {
    ::operator delete(memory);
    throw;
  }
  return intrusive_ptr<Base>::unsafe_steal_from_new(static_cast<Base*>(memory));
}

intrusive_ptr<Backend> make_nccl(const intrusive_ptr<c10d::Store>& store, int rank, int size,
                                 milliseconds timeout, int device, const char* name) {
  auto options = construct<Backend::Options>(kOptions, /*high priority stream*/ false);
  options->timeout = timeout;
  options->group_name = name;
  auto backend = construct<Backend>(kGroup, intrusive_ptr<c10d::Store>(store), rank, size, std::move(options));
  backend->setBoundDeviceId(at::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device)));
  return backend;
}

enum Operation { kAllReduce, kAllGather, kReduceScatter, kAllToAll };

intrusive_ptr<c10d::Work> start(Backend& backend, int operation, at::Tensor& output, at::Tensor& input,
                                int argument) {
  std::vector<at::Tensor> list{output};
  const auto reduction = static_cast<c10d::ReduceOp::RedOpType>(argument);
  switch (operation) {
    case kAllReduce: {
      c10d::AllreduceOptions options;
      options.reduceOp = reduction;
      return backend.allreduce(list, options);
    }
    case kAllGather:
      return backend._allgather_base(output, input);
    case kReduceScatter: {
      c10d::ReduceScatterOptions options;
      options.reduceOp = reduction;
      return backend._reduce_scatter_base(output, input, options);
    }
    case kAllToAll: {
      std::vector<int64_t> equal;
      return backend.alltoall_base(output, input, equal, equal);
    }
  }
  TORCH_CHECK(false, "no operation ", operation);
}
}  // namespace

extern "C" {
// `cuda_device` below zero: Gloo alone, which listens at `address` unless that is null or the user names an interface.
Group* torch_ext_group_new(const StoreHandle* handle, int rank, int size, int64_t timeout_ms, int cuda_device,
                           const char* name, const char* address) {
  return torch_ext::guard((Group*)nullptr, [&] {
    using c10d::ProcessGroupGloo;
    const auto timeout = milliseconds(timeout_ms);
    intrusive_ptr<ProcessGroupGloo::Options> options;
    if (address && !std::getenv("GLOO_SOCKET_IFNAME")) {
      options = ProcessGroupGloo::Options::create(timeout);
      options->devices.push_back(ProcessGroupGloo::createDeviceForHostname(address));
    } else {
      options = ProcessGroupGloo::Options::create_default(timeout);
    }
    options->group_name = name;
    auto group = std::make_unique<Group>();
    group->cpu = c10::make_intrusive<ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>("gloo", handle->store), rank, size, options);
    if (cuda_device >= 0)
      group->cuda = make_nccl(c10::make_intrusive<c10d::PrefixStore>("nccl", handle->store), rank, size, timeout,
                              cuda_device, name);
    return group.release();
  });
}

void torch_ext_group_free(Group* group) {
  torch_ext::guard(0, [&] {
    // NCCL's watchdog must not outlive the CUDA context of a process that is about to exit.
    if (group->cuda) group->cuda->shutdown();
    return 0;
  });
  delete group;
}

// Closes the connections of the CPU, which is how the other ranks hear of a failure that they are not part of.
void torch_ext_group_close(Group* group) {
  torch_ext::guard(0, [&] {
    intrusive_ptr<Backend> closed;  // declared first, so it ends after the lock is given back
    std::lock_guard<std::mutex> lock(group->mutex);
    std::swap(closed, group->cpu);
    return 0;
  });
}

// Operations in place have no input: `input` is null.
Work* torch_ext_group_start(const Group* group, int operation, const at::Tensor* output, const at::Tensor* input,
                            int argument) {
  return torch_ext::guard((Work*)nullptr, [&] {
    auto work = std::make_unique<Work>();
    intrusive_ptr<Backend> backend;
    {
      std::lock_guard<std::mutex> lock(group->mutex);
      backend = output->is_cuda() ? group->cuda : group->cpu;
    }
    TORCH_CHECK(backend, "the connections were closed when an earlier operation failed");
    // Detached and flat: no operation of c10d is part of a graph, and all of them take one dimension.
    for (const auto* tensor : {output, input})
      work->tensors.push_back(tensor ? tensor->detach().view(-1) : at::Tensor());
    work->work = start(*backend, operation, work->tensors[0], work->tensors[1], argument);
    TORCH_CHECK(work->work, "the back-end started nothing");
    return work.release();
  });
}

// Waits as long as the back-end lets it take.
int torch_ext_work_wait(Work* work) {
  return torch_ext::guard(-1, [&] {
    TORCH_CHECK(work->work->wait(), "the operation was aborted");
    return 0;
  });
}

void torch_ext_work_free(Work* work) { delete work; }
}
