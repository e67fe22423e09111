// c10d's ProcessGroupNCCL for emulated devices: the constructors that the trainer calls by their symbols, over Gloo. Outputs hold NaN
// until the work is waited for.
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <unistd.h>

#include <string>

#include "emulated.h"

using c10::intrusive_ptr;

namespace c10d {
namespace {
// Copies what arrived to the device when it is waited for.
class Arrival final : public Work {
 public:
  Arrival(intrusive_ptr<Work> work, at::Tensor output, at::Tensor numbers)
      : work_(std::move(work)), output_(std::move(output)), numbers_(std::move(numbers)) {}
  bool isCompleted() override { return work_->isCompleted(); }
  bool wait(std::chrono::milliseconds timeout) override {
    const bool done = work_->wait(timeout);
    if (done && output_.defined()) emulated::as_cpu(output_).copy_(numbers_);
    return done;
  }

 private:
  intrusive_ptr<Work> work_;
  at::Tensor output_, numbers_;
};
}  // namespace

// Of the name that is part of the symbols; its first base class is that of libtorch's.
class ProcessGroupNCCL final : public Backend {
 public:
  struct Options final : Backend::Options {
    explicit Options(bool high_priority);
  };

  ProcessGroupNCCL(intrusive_ptr<Store> store, int rank, int size, intrusive_ptr<Options> options);

  const std::string getBackendName() const override { return "nccl"; }
  void shutdown() override {}

  intrusive_ptr<Work> allreduce(std::vector<at::Tensor>& tensors, const AllreduceOptions& options) override {
    std::vector<at::Tensor> numbers{taken(tensors.at(0))};
    poison(tensors[0]);
    return arrival(gloo_->allreduce(numbers, options), tensors[0], numbers[0]);
  }
  intrusive_ptr<Work> broadcast(std::vector<at::Tensor>& tensors, const BroadcastOptions& options) override {
    std::vector<at::Tensor> numbers{taken(tensors.at(0))};
    return arrival(gloo_->broadcast(numbers, options), tensors[0], numbers[0]);
  }
  intrusive_ptr<Work> _allgather_base(at::Tensor& output, at::Tensor& input, const AllgatherOptions& options) override {
    auto from = taken(input), to = taken(output);
    if (!output.is_alias_of(input)) poison(output);
    return arrival(gloo_->_allgather_base(to, from, options), output, to);
  }
  intrusive_ptr<Work> _reduce_scatter_base(at::Tensor& output, at::Tensor& input, const ReduceScatterOptions& options) override {
    auto from = taken(input), to = taken(output);
    return arrival(gloo_->_reduce_scatter_base(to, from, options), output, to);
  }
  intrusive_ptr<Work> alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_sizes,
                                    std::vector<int64_t>& input_sizes, const AllToAllOptions& options) override {
    auto from = taken(input), to = taken(output);
    poison(output);
    return arrival(gloo_->alltoall_base(to, from, output_sizes, input_sizes, options), output, to);
  }
  intrusive_ptr<Work> send(std::vector<at::Tensor>& tensors, int rank, int tag) override {
    std::vector<at::Tensor> numbers{taken(tensors.at(0))};
    return arrival(gloo_->send(numbers, rank, tag), at::Tensor(), numbers[0]);
  }
  intrusive_ptr<Work> recv(std::vector<at::Tensor>& tensors, int rank, int tag) override {
    std::vector<at::Tensor> numbers{taken(tensors.at(0))};
    poison(tensors[0]);
    return arrival(gloo_->recv(numbers, rank, tag), tensors[0], numbers[0]);
  }
  intrusive_ptr<Work> barrier(const BarrierOptions& options) override { return gloo_->barrier(options); }

 private:
  // The tensor's numbers in the host's memory, if it is where NCCL takes it.
  at::Tensor taken(const at::Tensor& tensor) {
    const auto bound = getBoundDeviceId();
    TORCH_CHECK(bound && tensor.device() == *bound, "rank ", getRank(), " has a tensor on ", tensor.device(), ", not on its device");
    TORCH_CHECK(tensor.is_contiguous(), "Tensors must be contiguous");
    one_device_each(*bound);
    emulated::count("collectives");
    return emulated::as_cpu(tensor).clone();
  }

  static void poison(const at::Tensor& tensor) {
    if (tensor.numel() > 0) memset(emulated::to_host(tensor.data_ptr()), 0xff, tensor.nbytes());
  }

  static intrusive_ptr<Work> arrival(intrusive_ptr<Work> work, at::Tensor output, at::Tensor numbers) {
    return c10::make_intrusive<Arrival>(std::move(work), std::move(output), std::move(numbers));
  }

  // As NCCL, refuses two ranks on one device; looks at the first collective.
  void one_device_each(at::Device device) {
    if (std::exchange(compared_, true)) return;
    const auto text = [](const std::vector<uint8_t>& bytes) { return std::string(bytes.begin(), bytes.end()); };
    const std::string own = device.str();
    store_->set("device/" + std::to_string(getRank()), std::vector<uint8_t>(own.begin(), own.end()));
    for (int rank = 0; rank < getSize(); ++rank)
      TORCH_CHECK(rank == getRank() || text(store_->get("device/" + std::to_string(rank))) != own,
                  "Duplicate GPU detected : rank ", getRank(), " and rank ", rank, " both on CUDA device ", own);
  }

  intrusive_ptr<Store> store_;
  intrusive_ptr<ProcessGroupGloo> gloo_;
  bool compared_ = false;
};

ProcessGroupNCCL::Options::Options(bool) : Backend::Options("nccl") {}

ProcessGroupNCCL::ProcessGroupNCCL(intrusive_ptr<Store> store, int rank, int size, intrusive_ptr<Options> options)
    : Backend(rank, size), store_(store) {
  auto of_gloo = ProcessGroupGloo::Options::create_default(options->timeout);
  of_gloo->group_name = options->group_name + "-emulated";
  gloo_ = c10::make_intrusive<ProcessGroupGloo>(c10::make_intrusive<PrefixStore>("emulated", store), rank, size, of_gloo);
}
}  // namespace c10d
