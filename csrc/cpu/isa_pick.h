/* SPDX-License-Identifier: BSD-3-Clause */
/* Hand-written functions that exist once per ISA level: declaring all of them, and taking the one of this machine. */
#ifndef MT_CPU_ISA_PICK_H
#define MT_CPU_ISA_PICK_H

#include "base/cpuinfo.h"

/* MT_ISA_DECLARE(void, mt_uniform_f32, (float *out, const uint32_t *words, int64_t n)); */
#if defined(__x86_64__)
#define MT_ISA_DECLARE(type, stem, args) \
    type stem##_v2 args;                 \
    type stem##_v3 args;                 \
    type stem##_v4 args
#define MT_ISA_PICK(stem) (mt_cpu_isa() == MT_ISA_V4 ? stem##_v4 : mt_cpu_isa() == MT_ISA_V3 ? stem##_v3 : stem##_v2)
#else
#define MT_ISA_DECLARE(type, stem, args) type stem##_v2 args
#define MT_ISA_PICK(stem) stem##_v2
#endif

#endif
