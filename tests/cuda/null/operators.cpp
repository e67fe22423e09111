// Work of libtorch's operators on null CUDA, if NULL_CUDA_WORK is set: what launches, and the bytes and operations of its tensors.
//
// Each call that launches, copies or fills on a device is counted as "work|OPERATOR|LAUNCHES|BYTES|OPERATIONS". Bytes are those of the
// tensors that it reads and of those that it writes, once each; an operator within another has its own.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "notes.h"

namespace {
using at::Tensor;

struct Call final : at::ObserverContext {
  Call* outer = nullptr;
  // When it began; what the calls within it did.
  null_cuda::Work before, within;
  double read = 0, written = 0;
};

thread_local Call* innermost = nullptr;

// Distinct numbers of a tensor, as an expanded one repeats some.
double bytes_of(const Tensor& tensor) {
  double numbers = 1;
  for (int64_t i = 0; i < tensor.dim(); ++i) numbers *= tensor.stride(i) ? (double)tensor.size(i) : 1;
  return numbers * (double)tensor.element_size();
}

std::vector<Tensor> tensors_of(const c10::IValue& value) {
  std::vector<Tensor> tensors;
  if (value.isTensor()) tensors = {value.toTensor()};
  if (value.isTensorList()) tensors = value.toTensorVector();
  const auto other = [](const Tensor& tensor) { return !tensor.defined() || !tensor.is_cuda() || tensor.layout() != at::kStrided; };
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(), other), tensors.end());
  return tensors;
}

// What overwrites its first argument without reading it.
bool only_writes(const std::string& name) {
  static const std::set<std::string> names{"aten::copy_", "aten::fill_", "aten::zero_", "aten::normal_", "aten::uniform_", "aten::random_"};
  return names.count(name) > 0;
}

// What reads of its first argument as many numbers as it writes.
bool picks(const std::string& name) {
  static const std::set<std::string> names{"aten::index_select", "aten::index", "aten::gather", "aten::embedding"};
  return names.count(name) > 0;
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  auto call = std::make_unique<Call>();
  call->outer = innermost;
  call->before = null_cuda::work();
  innermost = call.get();
  const auto name = function.operator_name();
  if (!name) return call;
  const auto& schema = c10::Dispatcher::singleton().findSchemaOrThrow(name->name.c_str(), name->overload_name.c_str()).schema();
  const auto inputs = function.inputs();
  for (size_t i = 0; i < inputs.size() && i < schema.arguments().size(); ++i) {
    const auto& argument = schema.arguments()[i];
    const bool is_written = argument.alias_info() && argument.alias_info()->isWrite();
    const bool is_read = !argument.is_out() && !(i == 0 && (only_writes(name->name) || picks(name->name)));
    for (const Tensor& tensor : tensors_of(inputs[i])) {
      call->read += is_read ? bytes_of(tensor) : 0;
      call->written += is_written ? bytes_of(tensor) : 0;
    }
  }
  return call;
}

// Products and attention tell their operations themselves; attention over a cache reads the part of it that is filled.
void end(const at::RecordFunction& function, at::ObserverContext* context) {
  auto* call = static_cast<Call*>(context);
  innermost = call->outer;
  const auto total = null_cuda::work().plus(call->before, -1), own = total.plus(call->within, -1);
  if (innermost) innermost->within = innermost->within.plus(total, 1);
  const auto name = function.operator_name();
  if (!name || own.launches + own.copies_and_fills == 0) return;
  const auto& schema = c10::Dispatcher::singleton().findSchemaOrThrow(name->name.c_str(), name->overload_name.c_str()).schema();
  const auto& outputs = function.outputs();
  for (size_t i = 0; i < outputs.size() && i < schema.returns().size(); ++i) {
    if (schema.returns()[i].alias_info()) continue;
    for (const Tensor& tensor : tensors_of(outputs[i])) call->written += bytes_of(tensor);
  }
  if (picks(name->name)) call->read += call->written;
  null_cuda::count_work(name->name, own.launches, call->read + call->written - own.unread, own.operations);
}

// Not before libtorch has its list of observers.
const bool recorded = [] {
  if (!getenv("NULL_CUDA_WORK")) return false;
  at::addGlobalCallback(at::RecordFunctionCallback(begin, end).needsInputs(true).needsOutputs(true).scopes({at::RecordScope::FUNCTION}));
  return true;
}();
}  // namespace
