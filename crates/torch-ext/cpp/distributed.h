// What Rust holds by pointer.
#pragma once
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace torch_ext {
struct StoreHandle {
  c10::intrusive_ptr<c10d::Store> store;
};
}  // namespace torch_ext
