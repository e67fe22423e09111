// Stands for a header of gloo that the libtorch wheel leaves out. ProcessGroupGloo holds stores by pointer only; no
// store of gloo is made here, so its table of virtual functions is never emitted.
#pragma once
#include <chrono>
#include <string>
#include <vector>
namespace gloo::rendezvous {
struct Store {
  virtual ~Store() = default;
  virtual void set(const std::string&, const std::vector<char>&) = 0;
  virtual std::vector<char> get(const std::string&) = 0;
  virtual void wait(const std::vector<std::string>&) = 0;
  virtual void wait(const std::vector<std::string>&, const std::chrono::milliseconds&) = 0;
};
}  // namespace gloo::rendezvous
