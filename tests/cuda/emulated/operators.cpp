// Operators of emulated CUDA: those of the CPU on the same numbers, after the checks of a real device.
#include <ATen/EmptyTensor.h>
#include <ATen/NativeFunctions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "emulated.h"

using at::Tensor;
using c10::IValue;

namespace emulated {
namespace {
// Operators whose result's size, or whose result, the host waits for.
const std::set<std::string> kWaits{"aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::_unique2",
                                   "aten::unique_consecutive", "aten::repeat_interleave", "aten::equal"};

// Whether a planted mistake leaves this new tensor on the host: number $EMULATED_CUDA_PLANT_HOST of the process, from 1. A number
// alone is not counted, as it may be on the host (see `look`).
bool stays_on_host(int64_t dimensions) {
  if (dimensions == 0) return false;
  static const int64_t planted = planted_at("EMULATED_CUDA_PLANT_HOST");
  static int64_t tensors = 0;
  count("new tensors");
  return ++tensors == planted;
}

// Whether a planted mistake puts this result on the other device: number $EMULATED_CUDA_PLANT_DEVICE.
bool is_on_other_device() {
  static const int64_t planted = planted_at("EMULATED_CUDA_PLANT_DEVICE");
  static int64_t results = 0;
  count("results");
  return ++results == planted;
}

// The tensors of a call: where they are, and their stand-ins of the CPU in place of them on the stack.
struct Call {
  const std::string& name;
  std::optional<c10::Device> device;
  bool has_host = false;

  void look(const Tensor& tensor) {
    if (!tensor.defined()) return;
    if (!tensor.is_cuda()) {
      // A number on the host may take part, as it is an argument of the kernel.
      has_host |= tensor.dim() > 0;
      return;
    }
    TORCH_CHECK(!device || *device == tensor.device(), "Expected all tensors to be on the same device, ", name, " has ", *device,
                " and ", tensor.device());
    device = tensor.device();
  }

  void check() const {
    TORCH_CHECK(!(device && has_host), "Expected all tensors to be on the same device, ", name, " has ", *device, " and cpu");
  }
};

IValue on_cpu(const IValue& value, Call& call) {
  if (value.isTensor()) {
    call.look(value.toTensor());
    return as_cpu(value.toTensor());
  }
  if (value.isTensorList()) {
    std::vector<Tensor> list;
    for (const Tensor& tensor : value.toTensorVector()) {
      call.look(tensor);
      list.push_back(as_cpu(tensor));
    }
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<Tensor>> list;
    for (const std::optional<Tensor>& tensor : value.toOptionalTensorList()) {
      if (tensor) call.look(*tensor);
      list.push_back(tensor ? std::optional<Tensor>(as_cpu(*tensor)) : std::nullopt);
    }
    return list;
  }
  if (value.isDevice() && value.toDevice().is_cuda()) {
    const auto device = value.toDevice();
    call.device = device.has_index() ? device : c10::Device(at::kCUDA, current_device());
    return c10::Device(at::kCPU);
  }
  return value;
}

IValue on_cuda(const IValue& value, c10::DeviceIndex device) {
  if (value.isTensor()) {
    const auto& tensor = value.toTensor();
    if (!tensor.defined() || tensor.is_cuda()) return tensor;
    if (stays_on_host(tensor.dim())) return tensor;
    return as_cuda(tensor, is_on_other_device() ? (c10::DeviceIndex)(1 - device) : device);
  }
  if (value.isTensorList()) {
    std::vector<Tensor> list;
    for (const Tensor& tensor : value.toTensorVector()) list.push_back(as_cuda(tensor, device));
    return list;
  }
  return value;
}

void run(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  const auto& schema = op.schema();
  const auto& arguments = schema.arguments();
  const size_t first = stack->size() - arguments.size();
  count("operators");
  count(schema.name());
  Call call{schema.name()};
  const std::vector<IValue> given(stack->begin() + (std::ptrdiff_t)first, stack->end());
  // An empty tensor that is written to, as `out=` is, gets its size from the operator.
  std::vector<std::pair<size_t, Tensor>> outputs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    IValue& value = (*stack)[first + i];
    value = on_cpu(value, call);
    const auto* alias = arguments[i].alias_info();
    if (value.isTensor() && value.toTensor().defined() && value.toTensor().numel() == 0 && alias && alias->isWrite()) {
      value = at::empty({0}, value.toTensor().options());
      outputs.emplace_back(i, value.toTensor());
    }
  }
  call.check();
  if (kWaits.count(schema.name())) synchronize();
  const auto device = call.device ? call.device->index() : current_device();
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  for (auto& [i, numbers] : outputs) {
    if (numbers.numel() == 0) continue;
    Tensor output = given[i].toTensor();
    output.resize_(numbers.sizes());
    as_cpu(output).copy_(numbers);
  }
  const auto& returns = schema.returns();
  const size_t first_return = stack->size() - returns.size();
  for (size_t r = 0; r < returns.size(); ++r) {
    IValue& value = (*stack)[first_return + r];
    const auto* alias = returns[r].alias_info();
    size_t same = arguments.size();
    for (size_t i = 0; alias && i < arguments.size(); ++i)
      if (arguments[i].alias_info() && *arguments[i].alias_info() == *alias) same = i;
    TORCH_CHECK(!alias || (same < arguments.size() && alias->isWrite()), "emulated CUDA makes no view by ", schema.name());
    value = alias ? given[same] : on_cuda(value, device);
  }
}

struct OnDevice {
  c10::DeviceIndex before = current_device();
  explicit OnDevice(std::optional<c10::Device> device) {
    if (!device || !device->has_index()) return;
    TORCH_CHECK(device->index() < device_count(), "CUDA error: invalid device ordinal");
    current_device() = device->index();
  }
  ~OnDevice() { current_device() = before; }
};

constexpr c10::DispatchKeySet kCuda(c10::DispatchKey::CUDA);

Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> kind, std::optional<at::Layout>,
             std::optional<c10::Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  if (stays_on_host(size.size())) return at::empty(C10_AS_INTARRAYREF_SLOW(size), at::TensorOptions().dtype(kind));
  OnDevice there(device);
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), device_allocator(), kCuda, c10::dtype_or_default(kind), format);
}

Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride, std::optional<at::ScalarType> kind,
                     std::optional<at::Layout>, std::optional<c10::Device> device, std::optional<bool>) {
  if (stays_on_host(size.size()))
    return at::empty_strided(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), at::TensorOptions().dtype(kind));
  OnDevice there(device);
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), device_allocator(),
                                           kCuda, c10::dtype_or_default(kind));
}

Tensor& copy_(Tensor& to, const Tensor& from, bool non_blocking) {
  emulated::copy(to, from, non_blocking);
  return to;
}

const Tensor& resize_(const Tensor& self, c10::SymIntArrayRef size, std::optional<at::MemoryFormat>) {
  auto* tensor = self.unsafeGetTensorImpl();
  tensor->set_sizes_contiguous(C10_AS_INTARRAYREF_SLOW(size));
  const size_t needed = (tensor->numel() + tensor->storage_offset()) * tensor->itemsize();
  auto storage = tensor->unsafe_storage();
  if (needed > storage.nbytes()) {
    OnDevice there(self.device());
    auto memory = device_allocator()->allocate(needed);
    if (storage.nbytes()) device_allocator()->copy_data(memory.get(), storage.data(), storage.nbytes());
    storage.set_data_ptr_noswap(std::move(memory));
    storage.set_nbytes(needed);
  }
  return self;
}

Tensor as_strided(const Tensor& self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride, std::optional<c10::SymInt> offset) {
  const auto start = offset ? std::optional<int64_t>(offset->expect_int()) : std::nullopt;
  return at::native::as_strided_tensorimpl(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), start);
}

Tensor view(const Tensor& self, c10::SymIntArrayRef size) { return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size)); }

// The CPU has no sum in f32 of products in bf16.
Tensor& addmm_dtype_out(const Tensor& self, const Tensor& left, const Tensor& right, at::ScalarType kind, const at::Scalar& beta,
                        const at::Scalar& alpha, Tensor& out) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  count("operators");
  count("aten::addmm.dtype_out");
  Call call{"aten::addmm"};
  for (const Tensor& tensor : {self, left, right, out}) call.look(tensor);
  call.check();
  TORCH_CHECK(kind == at::kFloat && self.scalar_type() == kind && out.scalar_type() == kind, "the sum is in f32");
  TORCH_CHECK(left.scalar_type() == at::kBFloat16 && right.scalar_type() == at::kBFloat16, "the product is of bf16");
  as_cpu(out).copy_(at::addmm(as_cpu(self), as_cpu(left).to(kind), as_cpu(right).to(kind), beta, alpha));
  return out;
}

Tensor reshape_alias(const Tensor& self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride) {
  return at::native::_reshape_alias(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}
}  // namespace

TORCH_LIBRARY_IMPL(_, CUDA, library) { library.fallback(torch::CppFunction::makeFromBoxedFunction<&run>()); }

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", TORCH_FN(empty));
  library.impl("empty_strided", TORCH_FN(empty_strided));
  library.impl("copy_", TORCH_FN(copy_));
  library.impl("resize_", TORCH_FN(resize_));
  library.impl("as_strided", TORCH_FN(as_strided));
  library.impl("view", TORCH_FN(view));
  library.impl("view.dtype", TORCH_FN(at::native::view_dtype));
  library.impl("_reshape_alias", TORCH_FN(reshape_alias));
  library.impl("addmm.dtype_out", TORCH_FN(addmm_dtype_out));
  library.impl("unfold", TORCH_FN(at::native::unfold));
}
}  // namespace emulated
