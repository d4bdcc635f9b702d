/* SPDX-License-Identifier: BSD-3-Clause */
/* Grids of the launch emulator. Blocks run in turn. A block is a loop over its threads on one fiber; a thread that waits at a
   barrier or for its warp keeps that fiber and the loop goes on, on another one, with the next thread. Shared memory is the
   section mt_shared, filled with 0xff before each block, so that what is read before it is written is not zero. */
#include "cuda/emu/emu.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define EMU_ASAN 1
#define EMU_NO_ASAN __attribute__((no_sanitize("address"), noinline))
#else
#define EMU_ASAN 0
#define EMU_NO_ASAN
#endif

emu_state emu;

enum { MAX_THREADS = 1024, STACK_BYTES = 256 << 10, READY = 2048, DYN_BYTES = 48 << 10 };

struct fiber {
    void *sp;    /* of a fiber that does not run */
    char *stack; /* NULL: the root, which is the caller's stack */
    size_t nbytes;
    void *fake; /* of the address sanitizer */
    bool started;
    unsigned tid;
    uint3 thread;
};
struct lane {
    fiber *who;
    unsigned mask;
    int line, source;
    uint64_t in, out;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fiber root, pool[MAX_THREADS], *running, *idle[MAX_THREADS], *ready[READY], *at_barrier[MAX_THREADS];
static lane lanes[MAX_THREADS];
static unsigned pending[MAX_THREADS / 32], order_of[MAX_THREADS];
static bool done[MAX_THREADS];
static unsigned tid, next_thread, threads, finished, waiting, n_idle, n_made, head, tail;
static int barrier_line;
static void (*body)(void *);
static void *body_arg;
static unsigned order, shuffle_state;
alignas(16) static char dyn_shared[DYN_BYTES];
__attribute__((section("mt_shared"), used)) static char shared_anchor[16];
extern char __start_mt_shared[], __stop_mt_shared[];

extern "C" void mt_emu_die(const char *what, int line)
{
    fprintf(stderr, "CUDA emulator: %s (line %d, block %u, thread %u)\n", what, line, emu.block_at.x, tid);
    fflush(stderr);
    abort();
}

extern "C" void mt_emu_set_order(unsigned value)
{
    order = value;
}

/* --- switching fibers --- */

#if defined(__x86_64__)
extern "C" void mt_emu_switch(void **save, void *sp);
__asm__(".text\n"
        ".hidden mt_emu_switch\n"
        ".globl mt_emu_switch\n"
        ".type mt_emu_switch, @function\n"
        "mt_emu_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size mt_emu_switch, .-mt_emu_switch\n");

static void start_frame(fiber *f, void (*entry)(void))
{
    void **sp = (void **)(f->stack + f->nbytes - 16);

    *sp = (void *)entry;
    for (int i = 0; i < 6; i++)
        *--sp = NULL;
    f->sp = sp;
}
#else
#include <ucontext.h>
static ucontext_t contexts[MAX_THREADS + 1];

static void mt_emu_switch(void **save, void *sp)
{
    fiber *from = (fiber *)((char *)save - offsetof(fiber, sp));
    ucontext_t *here = &contexts[from == &root ? MAX_THREADS : from - pool];

    *save = here;
    swapcontext(here, (ucontext_t *)sp);
}

static void start_frame(fiber *f, void (*entry)(void))
{
    ucontext_t *c = &contexts[f - pool];

    getcontext(c);
    c->uc_stack.ss_sp = f->stack;
    c->uc_stack.ss_size = f->nbytes;
    c->uc_link = NULL;
    makecontext(c, entry, 0);
    f->sp = c;
}
#endif

static fiber *came_from;

static void arrived(fiber *self)
{
#if EMU_ASAN
    const void *bottom;
    size_t size;

    __sanitizer_finish_switch_fiber(self->fake, &bottom, &size);
    if (came_from == &root) {
        root.stack = (char *)(uintptr_t)bottom;
        root.nbytes = size;
    }
#else
    (void)self;
#endif
}

static void emu_go_on(void);

static void fiber_main(void)
{
    arrived(running);
    for (;;) {
        body(body_arg);
        idle[n_idle++] = running;
        emu_go_on();
    }
}

static void make_stack(fiber *f)
{
    if (f->stack)
        return;
    f->nbytes = STACK_BYTES;
    f->stack =
        (char *)mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (f->stack == MAP_FAILED)
        mt_emu_die("no memory for the stack of a thread", 0);
}

static void switch_to(fiber *to)
{
    fiber *from = running;

    if (to != &root && !to->started) {
        make_stack(to);
        start_frame(to, fiber_main);
        to->started = true;
    }
    came_from = from;
#if EMU_ASAN
    __sanitizer_start_switch_fiber(&from->fake, to->stack, to->nbytes);
#endif
    running = to;
    mt_emu_switch(&from->sp, to->sp);
    running = from;
    arrived(from);
}

/* --- order --- */

static unsigned random_below(unsigned n)
{
    shuffle_state = shuffle_state * 1664525u + 1013904223u;
    return (unsigned)(((uint64_t)shuffle_state * n) >> 32);
}

static void set_order(unsigned *at, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        at[i] = order == 1 ? n - 1 - i : i;
    for (unsigned i = n; order > 1 && i > 1; i--) {
        unsigned j = random_below(i), v = at[i - 1];

        at[i - 1] = at[j];
        at[j] = v;
    }
}

/* --- threads of a block --- */

/* A released fiber first, then a thread not yet started, then the root. */
static void emu_go_on(void)
{
    fiber *to = &root;

    if (head != tail) {
        to = ready[head++ % READY];
    } else if (next_thread < threads) {
        to = n_idle ? idle[--n_idle] : &pool[n_made++];
    }
    if (to == running)
        return;
    switch_to(to);
    tid = running->tid;
    emu.thread = running->thread;
}

static void park(void)
{
    running->tid = tid;
    running->thread = emu.thread;
    emu_go_on();
    tid = running->tid;
    emu.thread = running->thread;
}

static void release(fiber *f)
{
    ready[tail++ % READY] = f;
}

static void release_block(void)
{
    if (order > 1)
        for (unsigned i = waiting; i > 1; i--) {
            unsigned j = random_below(i);
            fiber *f = at_barrier[i - 1];

            at_barrier[i - 1] = at_barrier[j];
            at_barrier[j] = f;
        }
    for (unsigned i = 0; i < waiting; i++)
        release(at_barrier[order == 1 ? waiting - 1 - i : i]);
    waiting = 0;
}

bool emu_next_thread(void)
{
    if (next_thread >= threads)
        return false;
    tid = order_of[next_thread++];
    emu.thread.x = tid % emu.block.x;
    emu.thread.y = tid / emu.block.x % emu.block.y;
    emu.thread.z = tid / emu.block.x / emu.block.y;
    return true;
}

static bool resolve(unsigned first, unsigned mask, int self);

void emu_thread_done(void)
{
    unsigned first = tid / 32 * 32;

    done[tid] = true;
    finished++;
    if (waiting && waiting + finished == threads)
        release_block();
    if (pending[first / 32])
        resolve(first, lanes[first + (unsigned)__builtin_ctz(pending[first / 32])].mask, -1);
}

void emu_barrier(int line)
{
    if (waiting && line != barrier_line)
        mt_emu_die("threads of one block wait at different __syncthreads", line);
    barrier_line = line;
    if (waiting + 1 + finished == threads) {
        release_block();
        return;
    }
    at_barrier[waiting++] = running;
    park();
}

/* --- warps --- */

unsigned emu_lane_id(void)
{
    return tid % 32;
}

static unsigned alive(unsigned first)
{
    unsigned bits = 0;

    for (unsigned i = 0; i < 32 && first + i < threads; i++)
        bits |= (unsigned)!done[first + i] << i;
    return bits;
}

/* The last lane named in the mask serves all. */
static bool resolve(unsigned first, unsigned mask, int self)
{
    unsigned want = alive(first) & mask, bits = 0;
    lane *l = &lanes[first];

    if (!want || (pending[first / 32] & want) != want)
        return false;
    for (int i = 0; i < 32; i++)
        if (want >> i & 1) {
            if (l[i].mask != mask || l[i].line != l[__builtin_ctz(want)].line)
                mt_emu_die("lanes of one mask are at different warp operations", l[i].line);
            bits |= (unsigned)(l[i].in != 0) << i;
        }
    for (int i = 0; i < 32; i++)
        if (want >> i & 1) {
            if (l[i].source >= 0 && !(want >> l[i].source & 1))
                mt_emu_die("shuffle reads a lane that does not take part", l[i].line);
            l[i].out = l[i].source < 0 ? bits : l[l[i].source].in;
            if (i != self)
                release(l[i].who);
        }
    pending[first / 32] &= ~want;
    return true;
}

uint64_t emu_warp(unsigned mask, uint64_t value, int source, int line)
{
    unsigned me = tid, i = tid % 32, first = tid - i;

    lanes[me] = {running, mask, line, source, value, 0};
    pending[first / 32] |= 1u << i;
    barrier_line = line;
    if (!resolve(first, mask, (int)i))
        park();
    return lanes[me].out;
}

/* --- grids --- */

EMU_NO_ASAN static void fill_shared(size_t smem)
{
    for (char *p = __start_mt_shared; p < __stop_mt_shared; p++)
        *(volatile char *)p = (char)0xff;
    for (size_t i = 0; i < smem; i++)
        *(volatile char *)&dyn_shared[i] = (char)0xff;
}

static void begin_block(const unsigned *blocks, unsigned b, size_t smem)
{
    unsigned at = blocks ? blocks[b] : order == 1 ? emu.grid.x * emu.grid.y * emu.grid.z - 1 - b : b;

    emu.block_at = {at % emu.grid.x, at / emu.grid.x % emu.grid.y, at / emu.grid.x / emu.grid.y};
    memset(done, 0, threads);
    memset(pending, 0, sizeof pending);
    next_thread = finished = waiting = head = tail = 0;
    set_order(order_of, threads);
    fill_shared(smem);
}

bool emu_check_launch(dim3 grid, dim3 block, size_t smem)
{
    uint64_t n = (uint64_t)block.x * block.y * block.z;

    if (mt_emu_fails(MT_EMU_FAIL_LAUNCH)) {
        mt_emu_error(719);
        return false;
    }
    if (n == 0 || n > MAX_THREADS || (uint64_t)grid.x * grid.y * grid.z == 0 || grid.y > 65535 || grid.z > 65535 ||
        smem > DYN_BYTES) {
        mt_emu_error(9);
        return false;
    }
    return true;
}

void emu_run_grid(dim3 grid, dim3 block, size_t smem, void (*run)(void *), void *arg)
{
    unsigned n_blocks = grid.x * grid.y * grid.z, *blocks = NULL;

    pthread_mutex_lock(&lock);
    mt_emu_open();
    emu.grid = grid;
    emu.block = block;
    emu.dyn_shared = dyn_shared;
    threads = block.x * block.y * block.z;
    body = run;
    body_arg = arg;
    running = &root;
    shuffle_state = order;
#if EMU_ASAN
    __asan_poison_memory_region(dyn_shared, sizeof dyn_shared);
    __asan_unpoison_memory_region(dyn_shared, smem);
#endif
    if (order > 1 && (blocks = (unsigned *)malloc(n_blocks * sizeof *blocks)) != NULL)
        set_order(blocks, n_blocks);
    for (unsigned b = 0; b < n_blocks; b++) {
        begin_block(blocks, b, smem);
        while (next_thread < threads || head != tail)
            emu_go_on();
        if (finished < threads)
            mt_emu_die("no thread can go on: a barrier or mask names threads that never come", barrier_line);
    }
    free(blocks);
    mt_emu_close();
    pthread_mutex_unlock(&lock);
}
