// Mistakes that a device answers with an error or with wrong numbers, each made once: `mistakes NAME…` prints `NAME: caught, …` or
// `NAME: NOT CAUGHT`. It says so of emulated CUDA and, for those that its operators refuse, of null CUDA.
#include <ATen/ATen.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>

using at::Tensor;

namespace {
const at::Device kFirst(at::kCUDA, 0), kSecond(at::kCUDA, 1);

Tensor ones(at::Device device) { return at::ones({4, 4}, at::TensorOptions().device(device)); }

// The message with which `mistake` fails, or nothing.
std::string error_of(const std::function<void()>& mistake) {
  try {
    mistake();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

// Signal that ends `mistake`.
std::string signal_of(const std::function<void()>& mistake) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    mistake();
    syscall(231, 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) : "";
}

Tensor pinned(double value) {
  return at::full({4, 4}, value, at::TensorOptions().pinned_memory(true));
}

const std::map<std::string, std::function<std::string()>> kMistakes{
    {"host-tensor", [] { return error_of([] { ones(kFirst) + at::ones({4, 4}); }); }},
    {"host-index", [] { return error_of([] { ones(kFirst).index_select(0, at::arange(2)); }); }},
    {"host-parameter", [] { return error_of([] { at::addmm(at::ones({4}), ones(kFirst), ones(kFirst)); }); }},
    {"other-device", [] { return error_of([] { ones(kFirst).mm(ones(kSecond)); }); }},
    {"no-device", [] { return error_of([] { ones(at::Device(at::kCUDA, 2)); }); }},
    {"pointer",
     [] {
       const Tensor there = ones(kFirst);
       return signal_of([&] { printf("%f\n", *there.data_ptr<float>()); });
     }},
    {"uninitialised",
     [] {
       const Tensor there = at::empty({4}, at::TensorOptions().device(kFirst));
       return std::string(there.sum().isnan().item<bool>() ? "NaN" : "");
     }},
    {"read-too-early",
     [] {
       Tensor here = pinned(0);
       here.copy_(ones(kFirst), /*non_blocking=*/true);
       const bool early = here.isnan().all().item<bool>();
       ones(kFirst).cpu();
       return std::string(early && here.eq(1).all().item<bool>() ? "NaN before synchronisation" : "");
     }},
    {"written-too-early",
     [] {
       Tensor here = pinned(1), there = at::empty({4, 4}, at::TensorOptions().device(kFirst));
       there.copy_(here, /*non_blocking=*/true);
       here.fill_(2);
       return error_of([&] { there.cpu(); });
     }},
};
}  // namespace

int main(int count, char** names) {
  if (!dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL)) {
    puts(dlerror());
    return 2;
  }
  bool all = count > 1;
  for (int i = 1; i < count; ++i) {
    const auto caught = kMistakes.at(names[i])();
    printf("%s: %s%s\n", names[i], caught.empty() ? "NOT CAUGHT" : "caught, ", caught.substr(0, caught.find('\n')).c_str());
    all &= !caught.empty();
  }
  fflush(stdout);
  _exit(all ? 0 : 1);
}
