/* SPDX-License-Identifier: BSD-3-Clause */
/* What this machine offers. The ISA level comes from CPUID together with XGETBV, because an
   operating system that does not save the wide registers makes the instructions unusable. Memory
   and processor counts respect control groups, which is what decides inside a container. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/cpuinfo.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>

static uint64_t read_xcr0(void)
{
    uint32_t low, high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static mt_isa detect_isa(void)
{
    enum {
        /* 1: ecx */
        FMA = 1 << 12,
        MOVBE = 1 << 22,
        OSXSAVE = 1 << 27,
        AVX = 1 << 28,
        F16C = 1 << 29,
        /* 7: ebx */
        BMI1 = 1 << 3,
        AVX2 = 1 << 5,
        BMI2 = 1 << 8,
        F = 1 << 16,
        DQ = 1 << 17,
        CD = 1 << 28,
        BW = 1 << 30,
        LZCNT = 1 << 5, /* 80000001: ecx */
    };
    const uint32_t vl = UINT32_C(1) << 31; /* 7: ebx */
    const uint32_t v3_1 = FMA | MOVBE | AVX | F16C, v3_7 = BMI1 | AVX2 | BMI2;
    const uint32_t v4_7 = (uint32_t)F | DQ | CD | BW | vl;
    uint32_t a, b, c1, c81, d, b7, c7;
    uint64_t xcr0;

    if (!__get_cpuid(1, &a, &b, &c1, &d) || !(c1 & OSXSAVE) || (c1 & v3_1) != v3_1)
        return MT_ISA_V2;
    if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d) || (b7 & v3_7) != v3_7)
        return MT_ISA_V2;
    if (!__get_cpuid(0x80000001u, &a, &b, &c81, &d) || !(c81 & LZCNT))
        return MT_ISA_V2;
    xcr0 = read_xcr0();
    if ((xcr0 & 0x6u) != 0x6u)
        return MT_ISA_V2;
    if ((b7 & v4_7) != v4_7 || (xcr0 & 0xe6u) != 0xe6u)
        return MT_ISA_V3;
    return MT_ISA_V4;
}
#else
static mt_isa detect_isa(void)
{
    return MT_ISA_V2;
}
#endif

static const char *const isa_names[MT_ISA_COUNT] = {"v2", "v3", "v4"};

const char *mt_isa_name(mt_isa i)
{
    return (unsigned)i < MT_ISA_COUNT ? isa_names[i] : "?";
}

mt_isa mt_cpu_isa(void)
{
    static int cached = -1;

    if (cached < 0) {
        mt_isa level = detect_isa();
        const char *wish = getenv("MINITORCH_CPU_CAPABILITY");

        for (int i = 0; wish && i < MT_ISA_COUNT; i++)
            if (strcmp(wish, isa_names[i]) == 0 && (mt_isa)i < level)
                level = (mt_isa)i;
        cached = (int)level;
    }
    return (mt_isa)cached;
}

size_t mt_cpu_cache_size(int level)
{
    long n = 0;

#if defined(_SC_LEVEL1_DCACHE_SIZE)
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};

    if (level >= 1 && level <= 3)
        n = sysconf(names[level - 1]);
#else
    (void)level;
#endif
    return n > 0 ? (size_t)n : 0;
}

/* First line of a file without its newline; false when it cannot be read. */
static bool read_line(const char *path, char *out, int capacity)
{
    FILE *f = fopen(path, "re");
    bool ok;

    if (!f)
        return false;
    ok = fgets(out, capacity, f) != NULL;
    fclose(f);
    if (ok)
        out[strcspn(out, "\n")] = '\0';
    return ok;
}

/* The path of this process in the unified hierarchy, "" when there is none. */
static void own_cgroup(char *out, size_t capacity)
{
    char line[512];
    FILE *f = fopen("/proc/self/cgroup", "re");

    out[0] = '\0';
    if (!f)
        return;
    while (fgets(line, sizeof(line), f)) {
        if (strncmp(line, "0::", 3) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(out, capacity, "%s", line + 3);
        }
    }
    fclose(f);
}

/* Calls visit with the text of `file` in the own control group and each of its parents. */
static void each_cgroup(const char *file, void (*visit)(const char *text, void *ctx), void *ctx)
{
    char path[512], name[640], text[128];

    own_cgroup(path, sizeof(path));
    for (;;) {
        char *cut;

        snprintf(name, sizeof(name), "/sys/fs/cgroup%s/%s", strcmp(path, "/") ? path : "", file);
        if (read_line(name, text, sizeof(text)))
            visit(text, ctx);
        cut = strrchr(path, '/');
        if (!cut)
            break;
        *cut = '\0';
    }
}

static void take_less(const char *text, void *ctx)
{
    size_t *limit = ctx;
    char *end;
    unsigned long long n = strtoull(text, &end, 10);

    if (end != text && n > 0 && n < *limit)
        *limit = (size_t)n;
}

size_t mt_cpu_memory_limit(void)
{
    static size_t cached;

    if (!cached) {
        size_t limit = SIZE_MAX / 2;
        long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
        char text[128];

        if (pages > 0 && page > 0)
            limit = (size_t)pages * (size_t)page;
        each_cgroup("memory.max", take_less, &limit);
        if (read_line("/sys/fs/cgroup/memory/memory.limit_in_bytes", text, sizeof(text)))
            take_less(text, &limit);
        cached = limit;
    }
    return cached;
}

static void take_quota(const char *text, void *ctx)
{
    int *count = ctx;
    long long quota = 0, period = 0;

    if (sscanf(text, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0) {
        long long n = (quota + period - 1) / period;

        if (n < *count)
            *count = (int)n;
    }
}

static int affinity_count(void)
{
#if defined(__linux__)
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return CPU_COUNT(&set);
#endif
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

int mt_cpu_count(void)
{
    static int cached;

    if (!cached) {
        int count = affinity_count();

        each_cgroup("cpu.max", take_quota, &count);
        cached = count < 1 ? 1 : count;
    }
    return cached;
}
