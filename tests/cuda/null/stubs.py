"""Stub libraries for null CUDA, made of the symbols that this libtorch's CUDA half asks for: `stubs.py LIBTORCH_LIB FOLDER`.

A function of a stub returns 0, "success". Those whose answers libtorch reads are written out below; the runtime's are in runtime.cpp, and
a function of it that is not there is made here too. Products and collectives are counted.
"""

import re
import subprocess
import sys
from pathlib import Path

HALVES = ("libtorch_cuda.so", "libc10_cuda.so", "libtorch_cuda_linalg.so", "libtorch_nvshmem.so")
# Library, beginning of its functions' names, and the version that its symbols have, if any.
LIBRARIES = {
    "libcudart.so.13": ("(cuda|__cuda)", "libcudart.so.13"),
    "libcublas.so.13": ("cublas(?!Lt)", "libcublas.so.13"),
    "libcublasLt.so.13": ("cublasLt", "libcublasLt.so.13"),
    "libcudnn.so.9": ("cudnn", "libcudnn.so.9"),
    "libcusparse.so.12": ("cusparse(?!Lt)", "libcusparse.so.12"),
    "libcusparseLt.so.0": ("cusparseLt", None),
    "libcusolver.so.12": ("cusolver", "libcusolver.so.12"),
    "libcufft.so.12": ("cufft", "libcufft.so.12"),
    "libcurand.so.10": ("curand", None),
    "libcufile.so.0": ("cuFile", None),
    "libnccl.so.2": ("nccl", None),
    "libnvshmem_host.so.3": ("nvshmem", "NVSHMEM"),
}

HANDLE = "API int {name}(void** made, ...) {{ *made = calloc(1, 256); return 0; }}"
NUMBER = "API int {name}(void*, int* number) {{ *number = {value}; return 0; }}"
TEXT = "API const char* {name}() {{ return \"a stub\"; }}"
PRODUCT = 'API int {name}(void*, int, int, int m, int n, int k, ...) {{ return product(m, n, k); }}'
COLLECTIVE = 'API int {name}(const void*, void*, size_t count, ...) {{ return collective("{name}", count); }}'
ONE_BUFFER = 'API int {name}(const void*, size_t count, ...) {{ return collective("{name}", count); }}'

SPECIAL = {
    "cublasCreate_v2": HANDLE,
    "cudnnCreate": HANDLE,
    "cusparseCreate": HANDLE,
    "cusolverDnCreate": HANDLE,
    "cublasGetMathMode": NUMBER.replace("{value}", "0"),
    "cublasGetPointerMode_v2": NUMBER.replace("{value}", "0"),
    "cudnnGetVersion": "API size_t {name}() {{ return 91900; }}",
    "cublasGemmEx": PRODUCT,
    "cublasSgemm_v2": PRODUCT,
    "cublasDgemm_v2": PRODUCT,
    "cublasGemmStridedBatchedEx": PRODUCT,
    "cublasSgemmStridedBatched": PRODUCT,
    "cublasDgemmStridedBatched": PRODUCT,
    "cublasLtMatmulDescCreate": HANDLE,
    "cublasLtMatmulPreferenceCreate": HANDLE,
    "cublasLtMatmulDescDestroy": "API int {name}(void* made) {{ free(made); return 0; }}",
    "cublasLtMatmulPreferenceDestroy": "API int {name}(void* made) {{ free(made); return 0; }}",
    "cublasLtMatrixLayoutDestroy": "API int {name}(void* made) {{ free(made); return 0; }}",
    "cublasLtMatrixLayoutCreate": "API int {name}(Layout** made, int, unsigned long long rows, unsigned long long columns, long long) "
    "{{ *made = (Layout*)calloc(1, 256); (*made)->rows = rows; (*made)->columns = columns; return 0; }}",
    # One result of 88 bytes, whose place 76 is how many waves it takes.
    "cublasLtMatmulAlgoGetHeuristic": "API int {name}(void*, void*, void*, void*, void*, void*, void*, int count, char* results, int* found) "
    "{{ memset(results, 0, 88 * (size_t)count); *(float*)(results + 76) = 1; *found = 1; return 0; }}",
    "cublasLtMatmul": "API int {name}(void*, void*, void*, void*, Layout* a, void*, Layout* b, void*, void*, Layout*, void*, Layout* d, ...) "
    "{{ return product(d->rows, d->columns, a->rows * a->columns / d->rows); }}",
    "ncclGetVersion": "API int {name}(int* version) {{ *version = 22809; return 0; }}",
    "ncclGetUniqueId": "API int {name}(void* id) {{ memset(id, 1, 128); return 0; }}",
    "ncclCommInitRank": HANDLE,
    "ncclCommInitRankConfig": HANDLE,
    "ncclCommInitRankScalable": HANDLE,
    "ncclCommGetAsyncError": NUMBER.replace("{value}", "0"),
    "ncclCommCount": NUMBER.replace("{value}", "1"),
    "ncclAllReduce": COLLECTIVE,
    "ncclAllGather": COLLECTIVE,
    "ncclReduceScatter": COLLECTIVE,
    "ncclBroadcast": COLLECTIVE,
    "ncclReduce": COLLECTIVE,
    "ncclSend": ONE_BUFFER,
    "ncclRecv": ONE_BUFFER,
    "ncclBcast": ONE_BUFFER.replace("const void*", "void*"),
}

HEAD = """#include <cstdlib>
#include <cstring>
#include <string>
#include "notes.h"
struct Layout { unsigned long long rows, columns; };
static int product(double m, double n, double k) {
  null_cuda::launched();
  null_cuda::count("products");
  null_cuda::worked({0, 0, 2 * m * n * k, 0});
  return 0;
}
static int collective(const char* name, size_t count) {
  null_cuda::count("collectives");
  null_cuda::count(name);
  null_cuda::count("numbers of collectives", (long long)count);
  return 0;
}
"""


def wanted(libtorch):
    """Functions that libtorch's CUDA half takes from other libraries."""
    paths = [libtorch / name for name in HALVES]
    table = subprocess.run(["nm", "-D", "--undefined-only", *paths], check=True, capture_output=True, text=True).stdout
    return sorted({line.split()[-1].split("@")[0] for line in table.splitlines() if line.strip()})


def source(names, runtime):
    """The stub's source. Functions that `runtime` defines are left out."""
    functions = []
    for name in names:
        if re.search(rf"\b{name}\(", runtime):
            continue
        is_text = re.search("(GetErrorString|GetStatusString|GetStatusName|GetErrorName|GetLastError)$", name)
        functions.append(SPECIAL.get(name, TEXT if is_text else "API int {name}() {{ return 0; }}").format(name=name))
    return "\n".join([HEAD, *functions, ""])


def main():
    libtorch, folder = Path(sys.argv[1]), Path(sys.argv[2])
    here = Path(__file__).parent
    names = wanted(libtorch)
    for library, (prefix, version) in LIBRARIES.items():
        of_library = [name for name in names if re.match(prefix, name)]
        parts = [folder / f"{library}.cpp"]
        runtime = here / "runtime.cpp" if library.startswith("libcudart") else None
        parts[0].write_text(source(of_library, runtime.read_text() if runtime else ""))
        options = [f"-Wl,-soname,{library}"]
        if runtime:
            parts.append(runtime)
        if version:
            (folder / f"{library}.map").write_text(f"{version} {{ global: *; }};\n")
            options.append(f"-Wl,--version-script={folder / library}.map")
        include = libtorch.parents[1] / "nvidia/cu13/include"
        command = ["c++", "-std=c++17", "-O1", "-fPIC", "-shared", "-w", f"-I{here}", f"-I{include}", *options]
        subprocess.run([*command, "-o", folder / library, *parts, "-ldl"], check=True)


if __name__ == "__main__":
    main()
