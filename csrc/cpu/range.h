/* SPDX-License-Identifier: BSD-3-Clause */
/* Evenly spaced numbers: what create.c hands to the loops that exist once per ISA level. */
#ifndef MT_CPU_RANGE_H
#define MT_CPU_RANGE_H

#include "core/dtype.h"
#include "cpu/isa_pick.h"

/* arange reads i (integers) or d (floating point), linspace reads d, i for the first terms of integers, or c. */
typedef struct mt_range_value {
    int64_t i;
    double d;
    mt_c128 c;
} mt_range_value;

typedef struct mt_range {
    void *out; /* contiguous */
    int64_t n;
    mt_dtype dtype;
    mt_range_value start, end, step;
} mt_range;

/* Points begin .. end of a range, a parallel body; begin is a multiple of MT_RANGE_ALIGN. */
#define MT_RANGE_ALIGN 64
MT_ISA_DECLARE(void, mt_arange_points, (void *range, int64_t begin, int64_t end));
MT_ISA_DECLARE(void, mt_linspace_points, (void *range, int64_t begin, int64_t end));

#endif
