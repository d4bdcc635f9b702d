/* SPDX-License-Identifier: BSD-3-Clause */
/* Overflow-checked integer arithmetic: true means that it overflowed. */
#ifndef MT_BASE_CHECKED_H
#define MT_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool mt_add_overflow(int64_t a, int64_t b, int64_t *out)
{
    return __builtin_add_overflow(a, b, out);
}

static inline bool mt_mul_overflow(int64_t a, int64_t b, int64_t *out)
{
    return __builtin_mul_overflow(a, b, out);
}

#endif
