/* SPDX-License-Identifier: BSD-3-Clause */
/* ISA levels: how files compiled once per level name their symbols, and how the tables of the level
   of this machine are chosen. See the README of this folder. */
#ifndef MT_CPU_ISA_H
#define MT_CPU_ISA_H

#include "base/cpuinfo.h"
#include "core/op.h"

/* The build passes _v2, _v3 or _v4; files outside the levels see the baseline's. */
#ifndef MT_ISA_SUFFIX
#define MT_ISA_SUFFIX _v2
#endif
#define MT_ISA_NAME(stem) MT_ISA_PASTE(stem, MT_ISA_SUFFIX)
#define MT_ISA_PASTE(stem, suffix) MT_ISA_PASTE_TOKENS(stem, suffix)
#define MT_ISA_PASTE_TOKENS(stem, suffix) stem##suffix

/* Fills mt_loop_tables, mt_reduce_tables and mt_cast_table for the CPU. Cannot fail; 0. */
int mt_cpu_init(void);

/* The tables of one level, for tests; NULL when this machine or build lacks the level. */
const mt_loop_row *mt_cpu_loops_at(mt_isa level, mt_family family);
const mt_reduce_row *mt_cpu_reduce_at(mt_isa level);
/* Casts among the dtypes that have loops, [from][to]. */
typedef mt_cast_fn *const mt_cast_row[MT_DTYPE_LOOPS];
const mt_cast_row *mt_cpu_casts_at(mt_isa level);
/* Makes mt_cast_table of them and of the casts of shells. */
void mt_cpu_use_casts(const mt_cast_row *casts);

#endif
