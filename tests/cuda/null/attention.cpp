// Preloaded beside null CUDA's runtime: writes its report at the end of the process.
//
// The flash attention of the kernels' self-tests is computed, by emulated CUDA's: a kernel that computes nothing would not
// pass. Other calls go to libtorch's, whose kernels are counted.
#include <ATen/ops/_flash_attention_backward_native.h>
#include <ATen/ops/_flash_attention_forward_native.h>

#define NULL_CUDA
#include "../emulated/attention.cpp"
#include <sys/syscall.h>
#include <unistd.h>

#include "notes.h"

namespace emulated {
std::recursive_mutex& lock() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}

void count(const std::string&, int64_t) {}

// Device memory of null CUDA is the host's.
Tensor as_cpu(const Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_cuda()) return tensor;
  return at::for_blob(tensor.data_ptr(), tensor.sizes())
      .strides(tensor.strides())
      .options(tensor.options().device(at::kCPU).requires_grad(false))
      .target_device(at::Device(at::kCPU))
      .make_tensor();
}

Tensor as_cuda(const Tensor& tensor, at::DeviceIndex device) {
  if (!tensor.defined() || tensor.is_cuda()) return tensor;
  const Tensor there = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::Device(at::kCUDA, device)));
  as_cpu(there).copy_(tensor);
  null_cuda::computed(there.data_ptr(), there.nbytes());
  return there;
}

namespace {
// The tokens of the self-tests: of training, and of decoding.
bool is_of_a_test(const Tensor& query) { return query.dim() == 3 && (query.size(0) == 65 || query.size(0) == 5); }

std::optional<int64_t> whole(const std::optional<c10::SymInt>& number) {
  return number ? std::optional<int64_t>(number->expect_int()) : std::nullopt;
}

// Tells the work of attention over sequences that end at `query_ends` and `key_ends`: `factor` operations for a pair of numbers of a query
// and a key. Of a cache, `longest_key` keys a sequence are read, as null CUDA does not know how many are used.
void tell(double factor, const Tensor& query, const Tensor& key, const Tensor& query_ends, const Tensor& key_ends, double longest_key,
          bool causal, bool of_cache) {
  static const bool is_asked = getenv("NULL_CUDA_WORK");
  if (!is_asked || !query_ends.defined() || query.dim() != 3) return;
  const auto ends = [](const Tensor& tensor) { return as_cpu(tensor).to(at::kLong); };
  const Tensor queries = ends(query_ends), keys = ends(key_ends);
  const int64_t sequences = queries.numel() - 1;
  // Those of equal lengths are computed on the device, which computes nothing.
  const bool is_known = queries[-1].item<int64_t>() == query.size(0);
  double pairs = 0;
  for (int64_t i = 0; i < sequences; ++i) {
    const double query_count = is_known ? (queries[i + 1] - queries[i]).item<double>() : (double)query.size(0) / sequences;
    const double key_count = of_cache ? longest_key : is_known ? (keys[i + 1] - keys[i]).item<double>() : (double)key.size(0) / sequences;
    pairs += query_count * key_count - (causal ? query_count * (query_count - 1) / 2 : 0);
  }
  const double read = of_cache ? longest_key * sequences / key.size(0) : 1;
  const double unread = 2 * (1 - read) * key.numel() * key.element_size();
  null_cuda::worked({0, 0, factor * pairs * query.size(1) * query.size(2), std::max(unread, 0.0)});
}

using Outcome = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;
Outcome test_or_forward(const Tensor& query, const Tensor& key, const Tensor& value, const Optional& query_ends, const Optional& key_ends,
                     c10::SymInt longest_query, c10::SymInt longest_key, double dropout, bool causal, bool debug,
                     std::optional<double> scale, std::optional<c10::SymInt> left, std::optional<c10::SymInt> right, const Optional& used,
                     const Optional& slopes) {
  if (is_of_a_test(query))
    return forward(query, key, value, query_ends, key_ends, longest_query, longest_key, dropout, causal, debug, scale, left, right, used, slopes);
  tell(4, query, key, query_ends.value_or(Tensor()), key_ends.value_or(Tensor()), longest_key.expect_int(), causal, used.has_value());
  return at::native::_flash_attention_forward(query, key, value, query_ends, key_ends, longest_query.expect_int(), longest_key.expect_int(),
                                              dropout, causal, debug, scale, whole(left), whole(right), used, slopes);
}

std::tuple<Tensor, Tensor, Tensor> test_or_backward(const Tensor& cotangent, const Tensor& query, const Tensor& key, const Tensor& value,
                                                    const Tensor& mixed, const Tensor& sums, const Tensor& query_ends,
                                                    const Tensor& key_ends, c10::SymInt longest_query, c10::SymInt longest_key,
                                                    double dropout, bool causal, const Tensor& state, const Tensor& unused,
                                                    std::optional<double> scale, std::optional<c10::SymInt> left,
                                                    std::optional<c10::SymInt> right) {
  if (is_of_a_test(query))
    return backward(cotangent, query, key, value, mixed, sums, query_ends, key_ends, longest_query, longest_key, dropout, causal, state,
                    unused, scale, left, right);
  tell(10, query, key, query_ends, key_ends, longest_key.expect_int(), causal, false);
  return at::native::_flash_attention_backward(cotangent, query, key, value, mixed, sums, query_ends, key_ends, longest_query.expect_int(),
                                               longest_key.expect_int(), dropout, causal, state, unused, scale, whole(left), whole(right));
}
}  // namespace

// Nobody need hear that libtorch's kernels, which were registered before, are replaced.
struct Quiet final : c10::WarningHandler {
  Quiet() { c10::WarningUtils::set_warning_handler(this); }
  void process(const c10::Warning&) override {}
} quiet;

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("_flash_attention_forward", TORCH_FN(test_or_forward));
  library.impl("_flash_attention_backward", TORCH_FN(test_or_backward));
}

const bool loud = (c10::WarningUtils::set_warning_handler(nullptr), true);
}  // namespace emulated

// The stubs' own `_exit` would have their versions, and is not that of the C library.
API void _exit(int code) {
  if (const auto report = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "null_cuda_report"))) report();
  syscall(SYS_exit_group, code);
  __builtin_unreachable();
}
