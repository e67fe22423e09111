// CUDA's driver and NVRTC for the trainer's own kernels on emulated CUDA: NVRTC's "machine code" is the path of a library that the
// host's compiler makes of the kernels' source between crates/torch-ext/cuda/emulation.h and emulation.cpp, in $EMULATED_CUDA_KERNELS.
//
// Preloaded, so that `_exit` writes the report of emulated CUDA.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#define API extern "C" __attribute__((visibility("default")))

namespace {
struct Program {
  std::string source, code;
};

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Module {
  using Run = const char* (*)(const char*, unsigned, unsigned, unsigned, void* const*, unsigned);
  using Count = unsigned (*)(const char*);
  Run run;
  Count arguments;
};

struct Function {
  Module* module;
  std::string name;
};

template <class F>
F loaded(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}
}  // namespace

API int nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char* const*, const char* const*) {
  *program = new Program{source, ""};
  return 0;
}
API int nvrtcCompileProgram(Program* program, int, const char* const*) {
  const char* sources = getenv("EMULATED_CUDA_KERNELS");
  if (!sources) return 7;
  char folder[] = "/tmp/emulated-kernels-XXXXXX";
  if (!mkdtemp(folder)) return 7;
  const std::string place = folder, source = place + "/kernels.cpp", library = place + "/kernels.so";
  std::ofstream(source) << read(std::string(sources) + "/emulation.h") << program->source
                        << read(std::string(sources) + "/emulation.cpp");
  const std::string command =
      "c++ -std=c++17 -O1 -fPIC -shared -fvisibility=hidden -ffp-contract=off -U_FORTIFY_SOURCE -o " + library + " " + source;
  // The compiler runs without what is preloaded here.
  if (system(("env -u LD_PRELOAD -u LD_LIBRARY_PATH " + command).c_str()) != 0) return 7;
  program->code = library;
  return 0;
}
API int nvrtcGetProgramLogSize(Program*, size_t* bytes) { return *bytes = 1, 0; }
API int nvrtcGetProgramLog(Program*, char* log) { return *log = 0; }
API int nvrtcGetCUBINSize(Program* program, size_t* bytes) { return *bytes = program->code.size() + 1, 0; }
API int nvrtcGetCUBIN(Program* program, char* code) { return strcpy(code, program->code.c_str()), 0; }
API int nvrtcDestroyProgram(Program** program) { return delete *program, 0; }

API int cuInit(unsigned) { return 0; }
API int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
API int cuGetErrorString(int, const char** text) { return *text = "emulated", 0; }
API int cuDeviceGet(int* device, int index) { return *device = index, 0; }
// Compute capability 9.0.
API int cuDeviceGetAttribute(int* value, int attribute, int) { return *value = attribute == 75 ? 9 : 0, 0; }
API int cuDevicePrimaryCtxRetain(void** context, int) { return *context = (void*)1, 0; }
API int cuCtxPushCurrent_v2(void*) { return 0; }
API int cuCtxPopCurrent_v2(void** context) { return *context = (void*)1, 0; }
API int cuModuleLoadData(Module** module, const void* code) {
  const std::string path = (const char*)code;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string folder = path.substr(0, path.rfind('/'));
  for (const char* name : {"/kernels.cpp", "/kernels.so"}) unlink((folder + name).c_str());
  rmdir(folder.c_str());
  if (!library) return 200;
  *module = new Module{reinterpret_cast<Module::Run>(dlsym(library, "emulation_launch")),
                       reinterpret_cast<Module::Count>(dlsym(library, "emulation_arguments"))};
  return 0;
}
API int cuModuleGetFunction(Function** function, Module* module, const char* name) {
  *function = new Function{module, name};
  return 0;
}
API int cuLaunchKernel(Function* function, unsigned columns, unsigned rows, unsigned, unsigned threads, unsigned, unsigned, unsigned,
                       void*, void** arguments, void**) {
  static const auto argument = loaded<uint64_t (*)(uint64_t)>("emulated_cuda_argument");
  static const auto count = loaded<void (*)(const char*)>("emulated_cuda_count");
  uint64_t bits[32];
  void* places[32];
  const unsigned number = function->module->arguments(function->name.c_str());
  if (number > 32) return 1;
  for (unsigned i = 0; i < number; ++i) {
    bits[i] = argument(*(const uint64_t*)arguments[i]);
    places[i] = &bits[i];
  }
  count(("kernel " + function->name).c_str());
  return function->module->run(function->name.c_str(), columns, rows, threads, places, number) ? 1 : 0;
}

API void _exit(int code) {
  if (const auto report = loaded<void (*)()>("emulated_cuda_report")) report();
  syscall(SYS_exit_group, code);
  __builtin_unreachable();
}
