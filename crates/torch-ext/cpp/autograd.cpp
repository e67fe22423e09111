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
}
