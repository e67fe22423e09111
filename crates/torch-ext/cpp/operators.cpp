// Any registered operator by name, with IValues that torch-sys made.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <cstring>
#include <string>

#include "guard.h"

namespace {
thread_local std::string last_error;
thread_local bool has_error = false;
}  // namespace

void torch_ext::set_error(const char* what) {
  last_error = what;
  has_error = true;
}

extern "C" {
// Null when there is none; the caller frees the answer with free().
char* torch_ext_take_error() {
  if (!has_error) return nullptr;
  has_error = false;
  return strdup(last_error.c_str());
}

// `arguments` are the leading positional ones, the schema's defaults fill the rest.
// Returns the number of results, -1 on error.
int torch_ext_call(const char* name, const char* overload, c10::IValue* const* arguments, int count,
                   c10::IValue** results, int capacity) {
  return torch_ext::guard(-1, [&] {
    auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
    const auto& wanted = op.schema().arguments();
    TORCH_CHECK(count <= (int)wanted.size(), name, " takes ", wanted.size(), " arguments, got ", count);
    torch::jit::Stack stack;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if ((int)i < count) {
        c10::IValue value = *arguments[i];
        if (value.isInt() && wanted[i].type()->kind() == c10::TypeKind::FloatType) value = (double)value.toInt();
        stack.push_back(std::move(value));
      } else {
        TORCH_CHECK(wanted[i].default_value(), name, " has no value for argument ", wanted[i].name());
        stack.push_back(*wanted[i].default_value());
      }
    }
    op.callBoxed(stack);
    TORCH_CHECK((int)stack.size() <= capacity, name, " has ", stack.size(), " results");
    for (size_t i = 0; i < stack.size(); ++i) results[i] = new c10::IValue(std::move(stack[i]));
    return (int)stack.size();
  });
}
}
