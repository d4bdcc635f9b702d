/* SPDX-License-Identifier: BSD-3-Clause */
/* Feature detection: the ISA level of this machine, cache sizes, memory size. */
#ifndef MT_BASE_CPUINFO_H
#define MT_BASE_CPUINFO_H

#include <stddef.h>

/* Levels of the x86-64 psABI; other architectures have only the baseline. */
typedef enum mt_isa { MT_ISA_V2, MT_ISA_V3, MT_ISA_V4, MT_ISA_COUNT } mt_isa;

/* what the machine can do, lowered by MINITORCH_CPU_CAPABILITY */
mt_isa mt_cpu_isa(void);
const char *mt_isa_name(mt_isa i);   /* "v2", "v3", "v4" */
size_t mt_cpu_cache_size(int level); /* bytes, 0 when unknown */
size_t mt_cpu_memory_limit(void);    /* physical or control-group memory, whichever is less */
int mt_cpu_count(void);              /* processors this process may use */

#endif
