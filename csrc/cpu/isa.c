/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the loop tables of this machine. Generated loop files and cast_isa.c exist once per ISA
   level and export one table each; the names of all of them are listed here and nowhere else. The
   choice is made once, before the first op, and never changes. */
#include "cpu/isa.h"

#include "cpu/cpu_internal.h"
#include "cpu/loop_driver.h"

#if defined(__x86_64__)
#define MT_BUILT_LEVELS MT_ISA_COUNT
#define EACH_LEVEL(apply, stem) {apply(stem, v2), apply(stem, v3), apply(stem, v4)}
#define DECLARE_EACH(type, stem) extern type stem##_v2[], stem##_v3[], stem##_v4[]
#else
#define MT_BUILT_LEVELS 1
#define EACH_LEVEL(apply, stem) {apply(stem, v2)}
#define DECLARE_EACH(type, stem) extern type stem##_v2[]
#endif
/* A cache that is said to be larger serves many processors. */
#define MOST_CACHED ((int64_t)16 << 20)
#define LEVEL_NAME(stem, level) stem##_##level

DECLARE_EACH(const mt_loop_row, mt_loops_unary);
DECLARE_EACH(const mt_loop_row, mt_loops_binary);
DECLARE_EACH(const mt_loop_row, mt_loops_compare);
DECLARE_EACH(const mt_loop_row, mt_loops_ternary);
DECLARE_EACH(const mt_loop_row, mt_loops_special);
DECLARE_EACH(const mt_reduce_row, mt_loops_reduce);
DECLARE_EACH(const mt_cast_row, mt_casts);

static const mt_loop_row *const loops[MT_FAMILY_COUNT][MT_BUILT_LEVELS] = {
    [MT_FAMILY_UNARY] = EACH_LEVEL(LEVEL_NAME, mt_loops_unary),
    [MT_FAMILY_BINARY] = EACH_LEVEL(LEVEL_NAME, mt_loops_binary),
    [MT_FAMILY_COMPARE] = EACH_LEVEL(LEVEL_NAME, mt_loops_compare),
    [MT_FAMILY_TERNARY] = EACH_LEVEL(LEVEL_NAME, mt_loops_ternary),
    [MT_FAMILY_SPECIAL] = EACH_LEVEL(LEVEL_NAME, mt_loops_special),
};
static const mt_reduce_row *const reduces[MT_BUILT_LEVELS] = EACH_LEVEL(LEVEL_NAME, mt_loops_reduce);
static const mt_cast_row *const casts[MT_BUILT_LEVELS] = EACH_LEVEL(LEVEL_NAME, mt_casts);

static bool level_exists(mt_isa level)
{
    return (int)level < MT_BUILT_LEVELS && level <= mt_cpu_isa();
}

const mt_loop_row *mt_cpu_loops_at(mt_isa level, mt_family family)
{
    return level_exists(level) ? loops[family][level] : NULL;
}

const mt_reduce_row *mt_cpu_reduce_at(mt_isa level)
{
    return level_exists(level) ? reduces[level] : NULL;
}

const mt_cast_row *mt_cpu_casts_at(mt_isa level)
{
    return level_exists(level) ? casts[level] : NULL;
}

int mt_cpu_init(void)
{
    mt_isa level = mt_cpu_isa();
    size_t cache = mt_cpu_cache_size(3);

    if ((int)level >= MT_BUILT_LEVELS)
        level = MT_ISA_V2;
    for (int family = 0; family < MT_FAMILY_COUNT; family++)
        mt_loop_tables[MT_DEVICE_CPU][family] = loops[family][level];
    mt_reduce_tables[MT_DEVICE_CPU] = reduces[level];
    mt_cpu_use_casts(casts[level]);
    mt_cpu_stream_bytes = cache > 0 && cache / 2 < (size_t)MOST_CACHED ? (int64_t)(cache / 2) : MOST_CACHED;
    return 0;
}
