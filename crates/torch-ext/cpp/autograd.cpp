// Vector-Jacobian products with given output gradients.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/variable.h>

#include "guard.h"

namespace {
torch::autograd::variable_list list(at::Tensor* const* tensors, int count) {
  torch::autograd::variable_list result;
  for (int i = 0; i < count; ++i) result.push_back(*tensors[i]);
  return result;
}
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
