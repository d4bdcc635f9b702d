/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread pool. One job at a time: a caller that finds the pool taken does its work alone. A job
   is cut into pieces that the caller and the woken workers claim one by one, so the caller never
   waits for a worker that has not started. Idle workers spin for a few microseconds, then sleep;
   when a wake-up was slow (others use the processors) they stop spinning for a second. See Note
   [Claiming pieces] in the README. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/cpuinfo.h"
#include "base/macros.h"
#include "base/parallel_internal.h"

enum { MAX_THREADS = 256, PIECES_PER_THREAD = 4, SPIN_NS = 8000, JOIN_SPIN_NS = 20000 };
#define MIN_THREAD_NS 10000.0
#define MIN_RELEASE_NS 50000.0
#define SLOW_WAKE_NS 100000
#define NO_SPIN_NS 1000000000

typedef struct job {
    _Atomic(mt_parallel_body *) body;
    void *_Atomic ctx;
    _Atomic int64_t n, piece;
    _Atomic uint32_t n_pieces;
} job;

/* A word somebody may sleep on. */
typedef struct mailbox {
    MT_ALIGNED(64) _Atomic uint32_t word;
    _Atomic bool is_asleep;
} mailbox;

static struct {
    _Atomic uint64_t claim;      /* epoch << 32 | next piece, CLOSED while a job is set up */
    mailbox done;                /* finished pieces of the current epoch */
    mailbox worker[MAX_THREADS]; /* the last epoch that asked for this worker */
    job job;
    _Atomic int64_t published; /* when, in ns */
    _Atomic int64_t no_spin_until;
    _Atomic bool busy;
    uint32_t epoch;
    int n_workers;
    bool fork_handler;
} pool;
#define CLOSED UINT32_MAX

static _Atomic int n_threads;
static MT_THREAD_LOCAL bool in_region;
static MT_THREAD_LOCAL bool lock_is_released;
static mt_lock_hooks hooks;

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* --- the interpreter lock --- */

void mt_lock_hooks_install(const mt_lock_hooks *new_hooks)
{
    hooks = *new_hooks;
}

void *mt_lock_release_for(double ns)
{
    void *token;

    if (ns < MIN_RELEASE_NS || !hooks.release || lock_is_released || in_region)
        return NULL;
    token = hooks.release();
    lock_is_released = token != NULL;
    return token;
}

void mt_lock_acquire(void *token)
{
    if (!token)
        return;
    lock_is_released = false;
    hooks.acquire(token);
}

/* --- mailboxes --- */

static void mailbox_wake(mailbox *m)
{
    if (atomic_load(&m->is_asleep))
        mt_word_wake(&m->word);
}

/* The flag goes up before the word is looked at again, so a wake-up is never lost. */
static void mailbox_sleep(mailbox *m, uint32_t seen)
{
    atomic_store(&m->is_asleep, true);
    if (atomic_load(&m->word) == seen)
        mt_word_wait(&m->word, seen);
    atomic_store(&m->is_asleep, false);
}

/* --- pieces --- */

/* Claims the next piece of the epoch; false when there is none left or the epoch is over. */
static bool claim_piece(uint32_t epoch, uint32_t n_pieces, uint32_t *out)
{
    uint64_t seen = atomic_load_explicit(&pool.claim, memory_order_acquire);

    while ((uint32_t)(seen >> 32) == epoch && (uint32_t)seen < n_pieces) {
        if (atomic_compare_exchange_weak_explicit(&pool.claim, &seen, seen + 1, memory_order_acq_rel,
                                                  memory_order_acquire)) {
            *out = (uint32_t)seen;
            return true;
        }
    }
    return false;
}

/* Acquire: who reads a field of a later job also sees that the claim word was closed before. */
static void work(uint32_t epoch)
{
    mt_parallel_body *body = atomic_load_explicit(&pool.job.body, memory_order_acquire);
    void *ctx = atomic_load_explicit(&pool.job.ctx, memory_order_acquire);
    int64_t n = atomic_load_explicit(&pool.job.n, memory_order_acquire);
    int64_t piece = atomic_load_explicit(&pool.job.piece, memory_order_acquire);
    uint32_t n_pieces = atomic_load_explicit(&pool.job.n_pieces, memory_order_acquire), k;

    while (claim_piece(epoch, n_pieces, &k)) {
        int64_t begin = (int64_t)k * piece, end = n - begin > piece ? begin + piece : n;

        body(ctx, begin, end);
        if (atomic_fetch_add(&pool.done.word, 1) + 1 == n_pieces)
            mailbox_wake(&pool.done);
    }
}

/* --- workers --- */

/* Spins until the word differs from `seen` or `limit` ns are over. */
static bool spin(_Atomic uint32_t *word, uint32_t seen, int64_t limit)
{
    int64_t start = now_ns();

    if (start < atomic_load_explicit(&pool.no_spin_until, memory_order_relaxed))
        return false;
    for (int i = 1; atomic_load_explicit(word, memory_order_acquire) == seen; i++) {
        mt_cpu_pause();
        if (i % 16 == 0 && now_ns() - start > limit)
            return false;
    }
    return true;
}

static uint32_t await_epoch(uint32_t last, mailbox *m)
{
    int64_t now;

    if (!spin(&m->word, last, SPIN_NS)) {
        while (atomic_load(&m->word) == last)
            mailbox_sleep(m, last);
        now = now_ns();
        if (now - atomic_load_explicit(&pool.published, memory_order_relaxed) > SLOW_WAKE_NS)
            atomic_store_explicit(&pool.no_spin_until, now + NO_SPIN_NS, memory_order_relaxed);
    }
    return atomic_load(&m->word);
}

static void *worker_main(void *arg)
{
    mailbox *m = arg;
    uint32_t last = 0;

    in_region = true;
    for (;;) {
        last = await_epoch(last, m);
        work(last);
    }
    return NULL;
}

/* --- life of the pool --- */

/* In the child of a fork there are no workers; the next region makes new ones. */
static void after_fork(void)
{
    pool.n_workers = 0;
    in_region = false;
    atomic_store(&pool.no_spin_until, 0);
    atomic_store(&pool.busy, false);
}

/* Makes workers up to `wanted`; gives the number there is. Signals stay with the caller's
   threads. */
static int ensure_workers(int wanted)
{
    sigset_t all, old;

    if (pool.n_workers >= wanted)
        return wanted;
    if (!pool.fork_handler) {
        pthread_atfork(NULL, NULL, after_fork);
        pool.fork_handler = true;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (pool.n_workers < wanted) {
        pthread_t thread;
        mailbox *m = &pool.worker[pool.n_workers];

        atomic_store(&m->word, 0);
        atomic_store(&m->is_asleep, false);
        if (pthread_create(&thread, NULL, worker_main, m) != 0)
            break;
        pthread_detach(thread);
        pool.n_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return pool.n_workers < wanted ? pool.n_workers : wanted;
}

static int default_threads(void)
{
    const char *names[] = {"MINITORCH_NUM_THREADS", "OMP_NUM_THREADS"};

    for (size_t i = 0; i < MT_COUNTOF(names); i++) {
        const char *text = getenv(names[i]);
        long n = text ? strtol(text, NULL, 10) : 0;

        if (n > 0)
            return n < MAX_THREADS ? (int)n : MAX_THREADS;
    }
    return mt_cpu_count() < MAX_THREADS ? mt_cpu_count() : MAX_THREADS;
}

int mt_get_num_threads(void)
{
    if (!n_threads)
        n_threads = default_threads();
    return n_threads;
}

void mt_set_num_threads(int n)
{
    n_threads = n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : n;
}

bool mt_in_parallel_region(void)
{
    return in_region;
}

/* --- a region --- */

static void await_done(uint32_t n_pieces)
{
    uint32_t done;

    while ((done = atomic_load(&pool.done.word)) != n_pieces)
        if (!spin(&pool.done.word, done, JOIN_SPIN_NS))
            mailbox_sleep(&pool.done, done);
}

/* The pool is ours. */
static void run_job(int64_t n, int64_t piece, uint32_t n_pieces, int workers, mt_parallel_body *body, void *ctx)
{
    uint32_t epoch = pool.epoch + 1 ? pool.epoch + 1 : 1;

    workers = ensure_workers(workers);
    pool.epoch = epoch;
    atomic_store(&pool.claim, (uint64_t)epoch << 32 | CLOSED);
    atomic_store_explicit(&pool.job.body, body, memory_order_release);
    atomic_store_explicit(&pool.job.ctx, ctx, memory_order_release);
    atomic_store_explicit(&pool.job.n, n, memory_order_release);
    atomic_store_explicit(&pool.job.piece, piece, memory_order_release);
    atomic_store_explicit(&pool.job.n_pieces, n_pieces, memory_order_release);
    atomic_store_explicit(&pool.published, now_ns(), memory_order_relaxed);
    atomic_store(&pool.done.word, 0);
    atomic_store(&pool.claim, (uint64_t)epoch << 32);
    for (int i = 0; i < workers; i++) {
        atomic_store(&pool.worker[i].word, epoch);
        mailbox_wake(&pool.worker[i]);
    }
    in_region = true;
    work(epoch);
    in_region = false;
    await_done(n_pieces);
}

static bool take_pool(void)
{
    bool expected = false;

    return atomic_compare_exchange_strong(&pool.busy, &expected, true);
}

/* How many threads the work is worth, and in how many pieces. */
static int plan_threads(int64_t n, double total_ns, int64_t align, int64_t *piece)
{
    double worth = total_ns / MIN_THREAD_NS;
    int threads = mt_get_num_threads();
    int64_t pieces;

    if (worth < threads)
        threads = (int)worth;
    if (threads < 2)
        return 1;
    pieces = worth >= (double)threads * PIECES_PER_THREAD ? (int64_t)threads * PIECES_PER_THREAD : threads;
    if (align < 1)
        align = 1;
    *piece = (n + pieces - 1) / pieces;
    *piece = (*piece + align - 1) / align * align;
    return *piece >= n ? 1 : threads;
}

/* The rules of a region hold for a body that is not split, too. */
static void run_here(int64_t n, mt_parallel_body *body, void *ctx)
{
    bool outer = in_region;

    in_region = true;
    body(ctx, 0, n);
    in_region = outer;
}

void mt_parallel_for(int64_t n, double ns_per_item, int64_t align, mt_parallel_body *body, void *ctx)
{
    double total_ns = (double)n * ns_per_item;
    int64_t piece = n;
    void *token;
    int threads;

    if (n <= 0)
        return;
    if (total_ns < 2 * MIN_THREAD_NS || in_region) {
        run_here(n, body, ctx);
        return;
    }
    token = mt_lock_release_for(total_ns);
    threads = plan_threads(n, total_ns, align, &piece);
    if (threads > 1 && take_pool()) {
        run_job(n, piece, (uint32_t)((n + piece - 1) / piece), threads - 1, body, ctx);
        atomic_store_explicit(&pool.busy, false, memory_order_release);
    } else {
        run_here(n, body, ctx);
    }
    mt_lock_acquire(token);
}
