// Stands for a header of gloo that the libtorch wheel leaves out. ProcessGroupGloo holds contexts by pointer only, so
// their layout does not matter here.
#pragma once
#include <chrono>
namespace gloo {
struct Context {
  void setTimeout(std::chrono::milliseconds);
};
}  // namespace gloo
