// Runs kernels on the host, for tests: the threads of a block are contexts of one thread of the system, and each runs until it waits.
// A warp comes as far as it can before the next one is looked at, and in every other block they come from the last to the first, so that
// what is read too early, or written before all have read, is noticed.
#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

Index threadIdx, blockIdx, blockDim;

namespace {
constexpr unsigned WARP = 32;
constexpr std::size_t STACK_BYTES = 64 << 10;

struct Thread {
  // Where it begins, and where it goes on: a jump asks nothing of the system, as a change of context does.
  ucontext_t start;
  jmp_buf here;
  std::unique_ptr<char[]> stack{new char[STACK_BYTES]};
  bool started, done;
};

using Kernel = void (*)(void* const* arguments);

std::vector<Thread> threads;
jmp_buf scheduler;
Kernel kernel;
void* const* arguments;
// Whether a thread came further since this was last set to false.
bool moved;

// Runs a thread until it waits or ends.
void resume(unsigned own) {
  threadIdx.x = own;
  Thread& thread = threads[own];
  if (_setjmp(scheduler)) return;
  if (thread.started) _longjmp(thread.here, 1);
  thread.started = true;
  setcontext(&thread.start);
}

void yield() {
  if (!_setjmp(threads[threadIdx.x].here)) _longjmp(scheduler, 1);
}

struct Barrier {
  unsigned arrived = 0, generation = 0;

  void wait(unsigned expected) {
    const unsigned own = generation;
    moved = true;
    if (++arrived == expected) {
      arrived = 0;
      ++generation;
    } else {
      while (generation == own) yield();
    }
  }
};

Barrier of_block;

struct Warp {
  Barrier barrier;
  // Of two exchanges that follow each other: nobody is two ahead.
  double values[2][WARP];
};

std::vector<Warp> warps;

void body() {
  kernel(arguments);
  threads[threadIdx.x].done = moved = true;
  _longjmp(scheduler, 1);
}

// The index at a place of an order.
unsigned in_order(bool forwards, unsigned place, unsigned count) { return forwards ? place : count - 1 - place; }

// Runs the threads of a warp until all of them have ended or wait for others; whether any came further.
bool run_warp(unsigned warp, bool forwards) {
  bool any = false;
  do {
    moved = false;
    for (unsigned place = 0; place < WARP; ++place) {
      const unsigned own = warp * WARP + in_order(forwards, place, WARP);
      if (!threads[own].done) resume(own);
    }
    any |= moved;
  } while (moved);
  return any;
}

// False if some threads wait for others that have ended.
bool run_block(bool forwards) {
  of_block = Barrier();
  warps.assign(blockDim.x / WARP, Warp());
  for (unsigned index = 0; index < blockDim.x; ++index) {
    Thread& thread = threads[index];
    getcontext(&thread.start);
    thread.start.uc_stack.ss_sp = thread.stack.get();
    thread.start.uc_stack.ss_size = STACK_BYTES;
    thread.started = thread.done = false;
    makecontext(&thread.start, body, 0);
  }
  for (bool any = true; any;) {
    any = false;
    for (unsigned place = 0; place < warps.size(); ++place) any |= run_warp(in_order(forwards, place, warps.size()), forwards);
  }
  for (unsigned index = 0; index < blockDim.x; ++index)
    if (!threads[index].done) return false;
  return true;
}

template <auto function>
struct Launch;

template <class... Arguments, void (*function)(Arguments...)>
struct Launch<function> {
  static constexpr unsigned COUNT = sizeof...(Arguments);

  static void run(void* const* all) { with(all, std::index_sequence_for<Arguments...>()); }

  template <std::size_t... Place>
  static void with(void* const* all, std::index_sequence<Place...>) {
    function(*static_cast<Arguments*>(all[Place])...);
  }
};

struct Entry {
  const char* name;
  Kernel kernel;
  unsigned count;
};

#define ENTRY(name) \
  Entry { #name, &Launch<&name>::run, Launch<&name>::COUNT }

const Entry ENTRIES[] = {ENTRY(rotate), ENTRY(rotate_and_store), ENTRY(add_and_normalise), ENTRY(gate), ENTRY(gate_backward), ENTRY(draw),
                         ENTRY(head), ENTRY(adamw), ENTRY(squares)};
}  // namespace

void __syncthreads() { of_block.wait(blockDim.x); }

void emulation_exchange(void* own, unsigned bytes, unsigned lane_mask) {
  Warp& warp = warps[threadIdx.x / WARP];
  double* values = warp.values[warp.barrier.generation % 2];
  const unsigned lane = threadIdx.x % WARP;
  std::memcpy(&values[lane], own, bytes);
  warp.barrier.wait(WARP);
  std::memcpy(own, &values[lane ^ lane_mask], bytes);
}

// Null, or why the kernel did not run to its end.
extern "C" __attribute__((visibility("default"))) const char* emulation_launch(const char* name, unsigned columns, unsigned rows,
                                                                               unsigned block, void* const* all, unsigned count) {
  static std::mutex one_at_a_time;
  std::lock_guard<std::mutex> guard(one_at_a_time);
  for (const Entry& entry : ENTRIES) {
    if (std::strcmp(entry.name, name) != 0) continue;
    if (entry.count != count) return "another number of arguments";
    if (block % WARP != 0) return "a part of a warp";
    kernel = entry.kernel;
    arguments = all;
    blockDim = {block, 1};
    if (threads.size() < block) threads.resize(block);
    for (blockIdx.y = 0; blockIdx.y < rows; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < columns; ++blockIdx.x)
        if (!run_block((blockIdx.x + blockIdx.y) % 2 == 0)) return "some threads wait for others that have ended";
    return nullptr;
  }
  return "no such kernel";
}

// The number of a kernel's arguments, 0 without one of this name.
extern "C" __attribute__((visibility("default"))) unsigned emulation_arguments(const char* name) {
  for (const Entry& entry : ENTRIES)
    if (std::strcmp(entry.name, name) == 0) return entry.count;
  return 0;
}
