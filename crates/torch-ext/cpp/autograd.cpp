// Vector-Jacobian products with given output gradients, and operations whose backward half is Rust's.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <mutex>
#include <vector>

#include "guard.h"

namespace {
torch::autograd::variable_list list(at::Tensor* const* tensors, int count) {
  torch::autograd::variable_list result;
  for (int i = 0; i < count; ++i) result.push_back(*tensors[i]);
  return result;
}

// Rust's closure, and how to call and to free it.
struct Closure {
  void* state;
  // Writes one new tensor or null for each input; not 0 where it failed.
  int (*backward)(void* state, const at::Tensor* cotangent, at::Tensor** results, int count);
  void (*drop)(void* state);
};

struct AutogradFunction : torch::autograd::Node {
  explicit AutogradFunction(Closure closure) : closure(closure) {}
  ~AutogradFunction() override { release_variables(); }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& cotangents) override {
    std::lock_guard<std::mutex> lock(mutex_);
    TORCH_CHECK(closure.state != nullptr, "the graph of an own operation was freed by a backward pass before");
    torch::autograd::variable_list gradients(num_outputs());
    if (!cotangents[0].defined()) return gradients;
    std::vector<at::Tensor*> results(num_outputs(), nullptr);
    int status = closure.backward(closure.state, &cotangents[0], results.data(), (int)results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      // Moved, so that a leaf may keep it as its gradient without a copy.
      if (results[i] != nullptr) gradients[i] = std::move(*std::unique_ptr<at::Tensor>(results[i]));
    }
    TORCH_CHECK(status == 0, "the backward half of an own operation panicked or answered with too few gradients");
    return gradients;
  }

  void release_variables() override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closure.state != nullptr) closure.drop(closure.state);
    closure.state = nullptr;
  }

  Closure closure;
};
}  // namespace

extern "C" {
// results[i] is a new tensor, or null where the input took no part.
int torch_ext_vjp(at::Tensor* const* outputs, at::Tensor* const* cotangents, int output_count,
                  at::Tensor* const* inputs, int input_count, at::Tensor** results) {
  return torch_ext::guard(-1, [&] {
    auto gradients = torch::autograd::grad(list(outputs, output_count), list(inputs, input_count),
                                           list(cotangents, output_count), /*retain_graph=*/false,
                                           /*create_graph=*/false, /*allow_unused=*/true);
    for (int i = 0; i < input_count; ++i)
      results[i] = gradients[i].defined() ? new at::Tensor(gradients[i]) : nullptr;
    return 0;
  });
}

// Accumulates into `.grad` of every leaf.
int torch_ext_backward(at::Tensor* const* outputs, at::Tensor* const* cotangents, int output_count) {
  return torch_ext::guard(-1, [&] {
    torch::autograd::backward(list(outputs, output_count), list(cotangents, output_count),
                              /*retain_graph=*/false, /*create_graph=*/false);
    return 0;
  });
}

// `value` with the closure as its backward half; takes the closure in any case. A new tensor, or null on an error.
at::Tensor* torch_ext_autograd_function(const at::Tensor* value, at::Tensor* const* inputs, int input_count, void* state,
                                    int (*backward)(void*, const at::Tensor*, at::Tensor**, int), void (*drop)(void*)) {
  return torch_ext::guard<at::Tensor*>(nullptr, [&] {
    std::shared_ptr<AutogradFunction> node(new AutogradFunction({state, backward, drop}), torch::autograd::deleteNode);
    auto from = list(inputs, input_count);
    // A view of what has no graph is none in the eyes of autograd.
    auto result = value->detach();
    if (torch::autograd::compute_requires_grad(from)) {
      node->set_next_edges(torch::autograd::collect_next_edges(from));
      torch::autograd::set_history(result, node);
    }
    return new at::Tensor(std::move(result));
  });
}

// Puts a gradient in the place of `.grad`, or nothing where it is null.
int torch_ext_set_gradient(at::Tensor* leaf, at::Tensor* gradient) {
  return torch_ext::guard(-1, [&] {
    TORCH_CHECK(leaf->is_leaf(), "a gradient is kept by leaves only");
    if (gradient != nullptr) {
      TORCH_CHECK(gradient->sizes() == leaf->sizes(), "a gradient of shape ", gradient->sizes(), " for a tensor of shape ",
                  leaf->sizes());
      TORCH_CHECK(gradient->scalar_type() == leaf->scalar_type() && gradient->device() == leaf->device(),
                  "a gradient is of the kind and on the device of its tensor");
    }
    leaf->mutable_grad() = gradient == nullptr ? at::Tensor() : *gradient;
    return 0;
  });
}
}
