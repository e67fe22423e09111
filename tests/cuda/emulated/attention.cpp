// The flash attention of ragged sequences, which libtorch has for CUDA alone: in f32, sequence by sequence.
#include <torch/library.h>

#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "emulated.h"

using at::Tensor;
using Optional = std::optional<Tensor>;

namespace emulated {
namespace {
std::vector<int> ends_of(const Tensor& boundaries) {
  const Tensor numbers = as_cpu(boundaries).contiguous();
  return {numbers.data_ptr<int>(), numbers.data_ptr<int>() + numbers.numel()};
}

// Tokens `from..to` of [tokens, heads, width] as [heads, tokens, width] in f32, each head `repeats` times.
Tensor heads_of(const Tensor& tensor, int from, int to, int64_t repeats) {
  return tensor.slice(0, from, to).to(at::kFloat).transpose(0, 1).repeat_interleave(repeats, 0);
}

// Scores of [heads, queries, width] and [heads, keys, width]: the last query sees every key.
Tensor scores_of(const Tensor& query, const Tensor& key, double scale, bool causal) {
  Tensor scores = query.matmul(key.transpose(1, 2)) * scale;
  if (!causal) return scores;
  const int64_t queries = query.size(1), keys = key.size(1);
  const Tensor hidden = at::ones({queries, keys}, at::kBool).triu(keys - queries + 1);
  return scores.masked_fill(hidden, -INFINITY);
}

double scale_of(const Tensor& query, std::optional<double> scale) { return scale.value_or(1 / std::sqrt((double)query.size(2))); }

// What the kernel asks of its tensors.
void check(const Tensor& query, const Tensor& key, const Tensor& value) {
  for (const Tensor& tensor : {query, key, value}) {
    TORCH_CHECK(tensor.dim() == 3 && tensor.stride(2) == 1, "FlashAttention takes [tokens, heads, head_dim], the last in one piece");
    TORCH_CHECK(tensor.scalar_type() == at::kBFloat16 || tensor.scalar_type() == at::kHalf,
                "FlashAttention only support fp16 and bf16 data type");
    TORCH_CHECK(tensor.device() == query.device(), "Expected all tensors to be on the same device, FlashAttention");
  }
  TORCH_CHECK(query.size(2) % 8 == 0 && query.size(2) <= 256, "FlashAttention forward only supports head dimension at most 256, a "
                                                              "multiple of 8");
  TORCH_CHECK(query.size(1) % key.size(1) == 0, "Number of heads in key/value must divide number of heads in query");
}

void check_integers(const Tensor& integers, const Tensor& query) {
  TORCH_CHECK(integers.device() == query.device() && integers.scalar_type() == at::kInt && integers.is_contiguous(),
              "cu_seqlens must be i32 on the device of the query");
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                           const Optional& query_ends, const Optional& key_ends, c10::SymInt longest_query,
                                                           c10::SymInt, double, bool causal, bool, std::optional<double> scale,
                                                           std::optional<c10::SymInt>, std::optional<c10::SymInt>,
                                                           const Optional& used, const Optional&) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  count("operators");
  count("aten::_flash_attention_forward");
  check(query, key, value);
  TORCH_CHECK(query_ends && key_ends, "emulated CUDA has no attention but that of ragged sequences");
  for (const Tensor& integers : {*query_ends, *key_ends, used ? *used : *key_ends}) check_integers(integers, query);
  const auto q_ends = ends_of(*query_ends), k_ends = ends_of(*key_ends);
  const auto lengths = used ? ends_of(*used) : std::vector<int>();
  const Tensor q = as_cpu(query), k = as_cpu(key), v = as_cpu(value);
  const int64_t repeats = q.size(1) / k.size(1);
  Tensor mixed = at::empty_like(q, at::MemoryFormat::Contiguous);
  Tensor sums = at::full({q.size(1), q.size(0)}, -INFINITY, at::kFloat);
  for (size_t i = 0; i + 1 < q_ends.size(); ++i) {
    const int from = k_ends[i], to = used ? from + lengths[i] : k_ends[i + 1];
    TORCH_CHECK(q_ends[i + 1] - q_ends[i] <= longest_query, "a sequence is longer than max_q");
    if (q_ends[i] == q_ends[i + 1]) continue;
    const Tensor scores = scores_of(heads_of(q, q_ends[i], q_ends[i + 1], 1), heads_of(k, from, to, repeats), scale_of(q, scale), causal);
    sums.slice(1, q_ends[i], q_ends[i + 1]).copy_(scores.logsumexp(-1));
    mixed.slice(0, q_ends[i], q_ends[i + 1]).copy_(scores.softmax(-1).matmul(heads_of(v, from, to, repeats)).transpose(0, 1));
  }
  const auto device = query.device().index();
  const Tensor state = as_cuda(at::zeros({2}, at::kUInt64), device), unused = as_cuda(at::zeros({0}, at::kUInt64), device);
  return {as_cuda(mixed, device), as_cuda(sums, device), state, unused, as_cuda(at::zeros({0}, q.options()), device)};
}

std::tuple<Tensor, Tensor, Tensor> backward(const Tensor& cotangent, const Tensor& query, const Tensor& key, const Tensor& value,
                                            const Tensor& mixed, const Tensor& sums, const Tensor& query_ends, const Tensor& key_ends,
                                            c10::SymInt, c10::SymInt, double, bool causal, const Tensor&, const Tensor&,
                                            std::optional<double> scale, std::optional<c10::SymInt>, std::optional<c10::SymInt>) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  count("operators");
  count("aten::_flash_attention_backward");
  check(query, key, value);
  for (const Tensor& integers : {query_ends, key_ends}) check_integers(integers, query);
  const auto q_ends = ends_of(query_ends), k_ends = ends_of(key_ends);
  const Tensor q = as_cpu(query), k = as_cpu(key), v = as_cpu(value), out = as_cpu(mixed), d_out = as_cpu(cotangent);
  const Tensor all_sums = as_cpu(sums);
  const int64_t shared = k.size(1), repeats = q.size(1) / shared;
  std::vector<Tensor> gradients;
  for (const Tensor& tensor : {q, k, v}) gradients.push_back(at::zeros_like(tensor, at::MemoryFormat::Contiguous));
  for (size_t i = 0; i + 1 < q_ends.size(); ++i) {
    const int q0 = q_ends[i], q1 = q_ends[i + 1], k0 = k_ends[i], k1 = k_ends[i + 1];
    const double factor = scale_of(q, scale);
    const Tensor of_q = heads_of(q, q0, q1, 1), of_k = heads_of(k, k0, k1, repeats), of_v = heads_of(v, k0, k1, repeats);
    const Tensor slope = heads_of(d_out, q0, q1, 1);
    const Tensor weights = (scores_of(of_q, of_k, factor, causal) - all_sums.slice(1, q0, q1).unsqueeze(-1)).exp();
    const Tensor shift = (slope * heads_of(out, q0, q1, 1)).sum(-1, true);
    const Tensor d_scores = weights * (slope.matmul(of_v.transpose(1, 2)) - shift) * factor;
    // Over the query heads that share a head.
    const auto summed = [&](const Tensor& all) { return all.unflatten(0, {shared, repeats}).sum(1).transpose(0, 1); };
    gradients[0].slice(0, q0, q1).copy_(d_scores.matmul(of_k).transpose(0, 1));
    gradients[1].slice(0, k0, k1).copy_(summed(d_scores.transpose(1, 2).matmul(of_q)));
    gradients[2].slice(0, k0, k1).copy_(summed(weights.transpose(1, 2).matmul(slope)));
  }
  const auto device = query.device().index();
  return {as_cuda(gradients[0], device), as_cuda(gradients[1], device), as_cuda(gradients[2], device)};
}
}  // namespace

#ifndef NULL_CUDA
TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("_flash_attention_forward", TORCH_FN(forward));
  library.impl("_flash_attention_backward", TORCH_FN(backward));
}
#endif
}  // namespace emulated
