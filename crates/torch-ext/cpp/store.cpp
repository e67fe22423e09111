// Key-value stores of c10d: over TCP, or within this process.
#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <cstdlib>
#include <cstring>

#include "distributed.h"
#include "guard.h"

using milliseconds = std::chrono::milliseconds;
using torch_ext::StoreHandle;

extern "C" {
// What c10d writes to standard error from here on: 2 errors, 3 nothing. TORCH_CPP_LOG_LEVEL comes before it.
void torch_ext_set_log_level(int level) {
  if (std::getenv("TORCH_CPP_LOG_LEVEL"))
    c10::initLogging();
  else
    FLAGS_caffe2_log_level = level;
}

// Port 0: the server picks a free one. A port of one's own may be served more than once by one process.
StoreHandle* torch_ext_store_tcp(const char* host, uint16_t port, int is_server, int64_t connect_ms,
                                 int64_t timeout_ms) {
  return torch_ext::guard((StoreHandle*)nullptr, [&] {
    c10d::TCPStoreOptions options;
    options.port = port;
    options.isServer = is_server != 0;
    options.waitWorkers = false;
    options.timeout = milliseconds(connect_ms);
    options.multiTenant = port != 0;
    auto* handle = new StoreHandle{c10::make_intrusive<c10d::TCPStore>(host, options)};
    handle->store->setTimeout(milliseconds(timeout_ms));
    return handle;
  });
}

StoreHandle* torch_ext_store_in_memory(int64_t timeout_ms) {
  return torch_ext::guard((StoreHandle*)nullptr, [&] {
    auto* handle = new StoreHandle{c10::make_intrusive<c10d::HashStore>()};
    handle->store->setTimeout(milliseconds(timeout_ms));
    return handle;
  });
}

// The same store with `prefix/` before every key.
StoreHandle* torch_ext_store_prefixed(const StoreHandle* handle, const char* prefix) {
  return torch_ext::guard((StoreHandle*)nullptr, [&] {
    return new StoreHandle{c10::make_intrusive<c10d::PrefixStore>(prefix, handle->store)};
  });
}

// The same store over a connection of its own.
StoreHandle* torch_ext_store_clone(const StoreHandle* handle) {
  return torch_ext::guard((StoreHandle*)nullptr,
                          [&] { return new StoreHandle{handle->store->clone()}; });
}

void torch_ext_store_free(StoreHandle* handle) { delete handle; }

// -1 where the store has no port.
int torch_ext_store_port(const StoreHandle* handle) {
  auto* tcp = dynamic_cast<c10d::TCPStore*>(handle->store.get());
  return tcp ? tcp->getPort() : -1;
}

int torch_ext_store_set(const StoreHandle* handle, const char* key, const uint8_t* value, size_t size) {
  return torch_ext::guard(-1, [&] {
    handle->store->set(key, std::vector<uint8_t>(value, value + size));
    return 0;
  });
}

// Waits for the key. The caller frees the answer, which is not null on success, with free().
uint8_t* torch_ext_store_get(const StoreHandle* handle, const char* key, size_t* size) {
  return torch_ext::guard((uint8_t*)nullptr, [&] {
    auto value = handle->store->get(key);
    auto* copy = static_cast<uint8_t*>(std::malloc(value.size() + 1));
    TORCH_CHECK(copy, "out of memory");
    if (!value.empty()) std::memcpy(copy, value.data(), value.size());
    *size = value.size();
    return copy;
  });
}

int torch_ext_store_wait(const StoreHandle* handle, const char* key, int64_t timeout_ms) {
  return torch_ext::guard(-1, [&] {
    handle->store->wait({key}, milliseconds(timeout_ms));
    return 0;
  });
}

// 1 there, 0 not there, -1 on error.
int torch_ext_store_check(const StoreHandle* handle, const char* key) {
  return torch_ext::guard(-1, [&] { return handle->store->check({key}) ? 1 : 0; });
}

int torch_ext_store_add(const StoreHandle* handle, const char* key, int64_t by, int64_t* sum) {
  return torch_ext::guard(-1, [&] {
    *sum = handle->store->add(key, by);
    return 0;
  });
}
}
