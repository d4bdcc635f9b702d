/* SPDX-License-Identifier: BSD-3-Clause */
/* Thread pool. Created at the first parallel region, rebuilt after fork, idle workers sleep.
   Bodies run without the interpreter lock: they may not touch reference counts, Python, or any
   allocator but the raw one, and cannot fail. Results never depend on the number of threads. */
#ifndef MT_BASE_PARALLEL_H
#define MT_BASE_PARALLEL_H

#include <stdbool.h>
#include <stdint.h>

typedef void mt_parallel_body(void *ctx, int64_t begin, int64_t end);

/* Splits [0, n) into ranges. `ns_per_item` is the estimated cost of one index in nanoseconds; the
   range is split only when a thread would get at least about 10 us, and the interpreter lock is
   given up (through the hooks) when the whole is estimated at 50 us or more. `align` is the
   multiple at which ranges may be cut (1 when it does not matter). Nested calls run serially. */
void mt_parallel_for(int64_t n, double ns_per_item, int64_t align, mt_parallel_body *body, void *ctx);

int mt_get_num_threads(void);
void mt_set_num_threads(int n);
bool mt_in_parallel_region(void);

/* Hooks of the interpreter lock. release gives a token that acquire gets back. */
typedef struct mt_lock_hooks {
    void *(*release)(void);
    void (*acquire)(void *token);
} mt_lock_hooks;
void mt_lock_hooks_install(const mt_lock_hooks *hooks);

/* For long serial kernels: gives the lock up when the estimate is 50 us or more. */
void *mt_lock_release_for(double ns);
void mt_lock_acquire(void *token);

#endif
