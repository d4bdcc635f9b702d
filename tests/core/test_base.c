/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors, strings, allocator, processor features and the thread pool. */
#include "check.h"

#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpuinfo.h"
#include "base/parallel.h"
#include "base/strbuf.h"

static int last_kind = -1;
static char last_warning[256];

static int keep_warning(mt_warning_kind kind, const char *message)
{
    last_kind = (int)kind;
    snprintf(last_warning, sizeof(last_warning), "%s", message);
    return strstr(message, "refuse") ? -1 : 0;
}

static void test_errors(void)
{
    char big[6000];
    bool done = false;

    CHECK(mt_error_set(MT_ERR_VALUE, "bad %d", 3) == -1);
    CHECK(mt_error_get() == MT_ERR_VALUE && strcmp(mt_error_message(), "bad 3") == 0);
    mt_error_set(MT_ERR_TYPE, "again: %s", mt_error_message());
    CHECK(strcmp(mt_error_message(), "again: bad 3") == 0);
    mt_error_name_op("add");
    CHECK(strcmp(mt_error_message(), "add(): again: bad 3") == 0);
    mt_error_name_op("mul");
    CHECK(strcmp(mt_error_message(), "add(): again: bad 3") == 0);
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    big[4094] = (char)0xe2; /* a three-byte character across the cut */
    big[4095] = (char)0x82;
    big[4096] = (char)0xac;
    mt_error_set(MT_ERR_VALUE, "%s", big);
    CHECK(strlen(mt_error_message()) == 4094);
    mt_error_name_op("cat");
    CHECK(strncmp(mt_error_message(), "cat(): xx", 9) == 0 && strlen(mt_error_message()) <= 4095);
    mt_error_clear();
    CHECK(mt_error_get() == MT_ERR_NONE && mt_error_message()[0] == '\0');

    CHECK(mt_warn(MT_WARN_USER, "nobody listens") == 0);
    mt_warn_install(keep_warning);
    CHECK(mt_warn(MT_WARN_FUTURE, "hear %d", 1) == 0 && last_kind == MT_WARN_FUTURE);
    CHECK(mt_warn(MT_WARN_USER, "refuse") == -1);
    CHECK(mt_warn_once(&done, MT_WARN_USER, "first") == 0 && strcmp(last_warning, "first") == 0);
    CHECK(mt_warn_once(&done, MT_WARN_USER, "second") == 0 && strcmp(last_warning, "first") == 0);
    mt_warn_set_always(true);
    CHECK(mt_warn_once(&done, MT_WARN_USER, "third") == 0 && strcmp(last_warning, "third") == 0);
    mt_warn_set_always(false);
    mt_warn_install(NULL);
}

static void test_strings(void)
{
    mt_strbuf s = MT_STRBUF_INIT;
    mt_shape_text text;
    int64_t many[64], two[] = {2, -3};

    CHECK(mt_strbuf_finish(&s) == 0 && strcmp(s.data, "") == 0);
    mt_strbuf_puts(&s, "a");
    mt_strbuf_ints(&s, two, 2);
    mt_strbuf_printf(&s, "%0300d", 7);
    CHECK(mt_strbuf_finish(&s) == 0 && s.length == 308 && strncmp(s.data, "a[2, -3]000", 11) == 0);
    mt_strbuf_clear(&s);
    mt_alloc_fail_at(1);
    mt_strbuf_puts(&s, "x");
    mt_strbuf_puts(&s, "y");
    CHECK_ERROR(mt_strbuf_finish(&s), MT_ERR_MEMORY, "memory");
    mt_strbuf_clear(&s);
    CHECK(strcmp(mt_shape_format(&text, two, 2), "[2, -3]") == 0);
    CHECK(strcmp(mt_shape_format(&text, two, 0), "[]") == 0);
    for (int i = 0; i < 64; i++)
        many[i] = INT64_MIN;
    mt_shape_format(&text, many, 64);
    CHECK(strlen(text.text) < sizeof(text.text) && strcmp(text.text + strlen(text.text) - 6, ", ...]") == 0);
}

static bool aligned(const void *p, size_t n)
{
    return (uintptr_t)p % n == 0;
}

static void test_blocks(void)
{
    enum { N = 400 };
    static char *block[N];
    static size_t size[N];
    mt_alloc_stats before, after;
    void *p;
    uint32_t seed = 1;

    mt_alloc_get_stats(&before);
    CHECK(mt_data_alloc(&p, 0) == 0 && p == NULL);
    mt_data_free(NULL, 0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) {
            seed = seed * 1664525u + 1013904223u;
            size[i] = 1 + (seed >> 8) % (size_t)(i % 40 == 0 ? 9000000 : i % 7 == 0 ? 200000 : 3000);
            CHECK((i % 3 ? mt_data_alloc(&p, size[i]) : mt_data_alloc_zeroed(&p, size[i])) == 0);
            CHECK(aligned(p, MT_DATA_ALIGN));
            block[i] = p;
            for (size_t k = 0; i % 3 == 0 && k < size[i]; k += 251)
                CHECK(block[i][k] == 0);
            memset(p, i, size[i]);
        }
        for (int i = 0; i < N; i++) {
            CHECK(block[i][0] == (char)i && block[i][size[i] - 1] == (char)i);
            mt_data_free(block[i], size[i]);
        }
    }
    mt_alloc_get_stats(&after);
    CHECK(after.live_blocks == before.live_blocks && after.live_bytes == before.live_bytes);
    CHECK(after.peak_bytes > 1000000 && after.requests - before.requests == 3 * N);
    mt_data_trim();
    CHECK_ERROR(mt_data_alloc(&p, (size_t)1 << 50), MT_ERR_RUNTIME,
                "DefaultCPUAllocator: can't allocate memory: you tried to allocate 1125899906842624 bytes");
    CHECK_ERROR(mt_data_alloc_zeroed(&p, SIZE_MAX - 3), MT_ERR_RUNTIME, "DefaultCPUAllocator");
    CHECK(p == NULL);
}

/* The last block freed is the next one given, and memory beyond the policy goes back. */
static void test_recycling(void)
{
    enum { N = 40 };
    void *a, *b, *block[N];
    mt_alloc_stats stats;

    if (!MT_ALLOC_RECYCLES)
        return;
    CHECK(mt_data_alloc(&a, 100) == 0);
    mt_data_free(a, 100);
    CHECK(mt_data_alloc(&b, 128) == 0 && a == b);
    mt_data_free(b, 128);
    for (int i = 0; i < N; i++)
        CHECK(mt_data_alloc(&block[i], (size_t)10 << 20) == 0 && aligned(block[i], (size_t)2 << 20));
    for (int i = 0; i < N; i++)
        mt_data_free(block[i], (size_t)10 << 20);
    mt_alloc_get_stats(&stats);
    CHECK(stats.cached_bytes <= (uint64_t)N / 2 * (10 << 20));
    mt_data_trim();
    mt_alloc_get_stats(&stats);
    CHECK(stats.cached_bytes < 1 << 20);
}

/* Blocks from 64 KiB to 1.75 MiB share regions, in which none overlaps another; a region goes back when all of it is free. */
static void test_regions(void)
{
    enum { N = 300 };
    static const size_t sizes[] = {60000, 65536, 200000, 1000000, 1572864, 1700000};
    char *block[N];
    size_t size[N];
    void *p;
    uint64_t total = 0;
    mt_alloc_stats before, full, empty;

    if (!MT_ALLOC_RECYCLES)
        return;
    mt_data_trim();
    mt_alloc_get_stats(&before);
    for (int i = 0; i < N; i++) {
        total += size[i] = sizes[(i * 7 + i / 5) % 6];
        CHECK(mt_data_alloc(&p, size[i]) == 0 && aligned(p, MT_DATA_ALIGN));
        block[i] = p;
        memset(p, i, size[i]);
    }
    mt_alloc_get_stats(&full);
    for (int i = 0; i < N; i++)
        for (size_t k = 0; k < size[i]; k += 4093)
            CHECK(block[i][k] == (char)i);
    for (int i = 0; i < N; i += 2)
        mt_data_free(block[i], size[i]);
    mt_data_trim();
    for (int i = 1; i < N; i += 2) /* their neighbours went, they stay */
        CHECK(block[i][0] == (char)i && block[i][size[i] - 1] == (char)i);
    for (int i = 0; i < N; i += 2) {
        CHECK(mt_data_alloc(&p, size[i]) == 0);
        block[i] = p;
        memset(p, i, size[i]);
    }
    for (int i = 0; i < N; i++) {
        CHECK(block[i][0] == (char)i && block[i][size[i] - 1] == (char)i);
        mt_data_free(block[i], size[i]);
    }
    mt_data_trim();
    mt_alloc_get_stats(&empty);
    CHECK(full.live_bytes - before.live_bytes >= total && full.live_bytes - before.live_bytes <= total + total / 4);
    CHECK(empty.live_bytes == before.live_bytes);
    CHECK(empty.cached_bytes < 1 << 20);
}

static void test_plain_memory(void)
{
    mt_alloc_stats before, after;
    void *p = NULL, *q;

    mt_alloc_get_stats(&before);
    CHECK(mt_realloc(&p, 10) == 0 && p);
    memset(p, 1, 10);
    CHECK(mt_realloc(&p, 100000) == 0 && ((char *)p)[9] == 1);
    CHECK(mt_calloc(&q, 3, 5) == 0 && ((char *)q)[14] == 0);
    mt_free(q);
    CHECK_ERROR(mt_calloc(&q, SIZE_MAX / 2, 3), MT_ERR_MEMORY, "memory");
    CHECK_ERROR(mt_malloc(&q, SIZE_MAX), MT_ERR_MEMORY, "memory");
    mt_alloc_fail_at(2);
    CHECK(mt_malloc(&q, 1) == 0);
    mt_free(q);
    CHECK_ERROR(mt_realloc(&p, 7), MT_ERR_MEMORY, "memory");
    CHECK(mt_alloc_failed() && !mt_alloc_failing && ((char *)p)[9] == 1);
    mt_free(p);
    mt_free(NULL);
    mt_alloc_get_stats(&after);
    CHECK(after.live_bytes == before.live_bytes && after.live_blocks == before.live_blocks);
    p = mt_raw_malloc(77);
    CHECK(p && aligned(p, 64));
    mt_raw_free(p);
}

static void test_pools(void)
{
    enum { N = 20000 };
    static mt_pool pool = MT_POOL_INIT(168, 1000);
    static void *object[N];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            CHECK(mt_pool_get(&object[i], &pool) == 0 && aligned(object[i], 8));
            memset(object[i], i, 168);
        }
        for (int i = 0; i < N; i++)
            CHECK(*(char *)object[i] == (char)i);
        for (int i = 0; i < N; i++)
            mt_pool_put(&pool, object[i]);
        CHECK(pool.count <= 2100);
    }
    mt_alloc_fail_at(1);
    CHECK_ERROR(mt_pool_get(&object[0], &pool), MT_ERR_MEMORY, "memory");
    CHECK(object[0] == NULL);
}

/* --- threads --- */

static void mark_range(void *ctx, int64_t begin, int64_t end)
{
    unsigned char *seen = ctx;

    for (int64_t i = begin; i < end; i++)
        seen[i]++;
}

static void check_align(void *ctx, int64_t begin, int64_t end)
{
    int64_t n = *(int64_t *)ctx;

    if (begin % 64 || (end % 64 && end != n))
        abort();
}

static void nested(void *ctx, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        mt_parallel_for(1000, 1e6, 1, mark_range, (unsigned char *)ctx + 1000 * i);
}

static int releases, acquires;

static void *count_release(void)
{
    releases++;
    return &releases;
}

static void count_acquire(void *token)
{
    acquires += token == &releases;
}

static void test_threads(void)
{
    enum { N = 100000 };
    static unsigned char seen[N];
    mt_lock_hooks hooks = {count_release, count_acquire};
    int64_t n = N - 1;
    void *token;
    int status;

    CHECK(mt_get_num_threads() >= 1 && mt_cpu_count() >= 1 && mt_cpu_memory_limit() > 0);
    CHECK(mt_cpu_isa() < MT_ISA_COUNT && strcmp(mt_isa_name(MT_ISA_V3), "v3") == 0);
    mt_lock_hooks_install(&hooks);
    for (int threads = 1; threads <= 5; threads++) {
        mt_set_num_threads(threads);
        for (int round = 1; round <= 50; round++) {
            mt_parallel_for(N, 100, 1, mark_range, seen);
            for (int i = 0; i < N; i++)
                if (seen[i] != round)
                    CHECK(!"every index once");
        }
        memset(seen, 0, sizeof(seen));
        mt_parallel_for(n, 100, 64, check_align, &n);
    }
    CHECK(releases == acquires && releases == 255);
    mt_parallel_for(10, 1e6, 1, nested, seen);
    for (int i = 0; i < 10000; i++)
        CHECK(seen[i] == 1);
    mt_parallel_for(0, 1e9, 1, mark_range, NULL);
    CHECK(!mt_in_parallel_region());
    token = mt_lock_release_for(1e9);
    CHECK(token && mt_lock_release_for(1e9) == NULL);
    mt_lock_acquire(token);
    CHECK(mt_lock_release_for(10) == NULL);
    memset(seen, 0, sizeof(seen));
    if (fork() == 0) { /* the child makes its own workers */
        mt_parallel_for(N, 1000, 1, mark_range, seen);
        for (int i = 0; i < N; i++)
            if (seen[i] != 1)
                _exit(1);
        _exit(0);
    }
    CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    test_errors();
    test_strings();
    test_blocks();
    test_recycling();
    test_regions();
    test_plain_memory();
    test_pools();
    test_threads();
    return check_done();
}
