// Turns C++ exceptions into values: the message waits in a thread-local until Rust takes it.
#pragma once
#include <c10/util/Exception.h>

#include <exception>

namespace torch_ext {
void set_error(const char* what);

template <class R, class F>
R guard(R on_failure, F&& body) {
  try {
    return body();
  } catch (const c10::Error& error) {
    set_error(error.what_without_backtrace());
  } catch (const std::exception& error) {
    set_error(error.what());
  } catch (...) {
    set_error("unknown C++ exception");
  }
  return on_failure;
}
}  // namespace torch_ext
