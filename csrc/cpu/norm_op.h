/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernels of normalisation share: operands in the dtype of the computation, for the time of one kernel. Half types
   are computed in float32; every result is rounded once. */
#ifndef MT_CPU_NORM_OP_H
#define MT_CPU_NORM_OP_H

#include "core/op.h"
#include "cpu/norm.h"

enum { MT_NORM_MAX_OPERANDS = 12 };

typedef struct mt_norm_frame {
    mt_dtype dtype; /* f32 or f64 */
    int itemsize, n;
    mt_tensor *given[MT_NORM_MAX_OPERANDS], *used[MT_NORM_MAX_OPERANDS];
    bool written[MT_NORM_MAX_OPERANDS];
    const mt_norm_kernels *k;
} mt_norm_frame;

void mt_norm_open(mt_norm_frame *f, const mt_tensor *input);
/* Adds operands: *out is t itself, or a contiguous copy of the frame's dtype; NULL for NULL. */
int mt_norm_read(mt_norm_frame *f, const char **out, mt_tensor *t);
/* Results must be contiguous, or of the frame's dtype already; they are written back by mt_norm_close. */
int mt_norm_write(mt_norm_frame *f, char **out, mt_tensor *t);
/* A result that is also read: running statistics. */
int mt_norm_update(mt_norm_frame *f, char **out, mt_tensor *t);
/* Ends the frame. rc is what the kernel came to; results are written back only for 0. */
int mt_norm_close(mt_norm_frame *f, int rc);

static inline double mt_norm_get(const mt_norm_frame *f, const char *data, int64_t i)
{
    return f->itemsize == 4 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static inline void mt_norm_put(const mt_norm_frame *f, char *data, int64_t i, double value)
{
    if (f->itemsize == 4)
        ((float *)data)[i] = (float)value;
    else
        ((double *)data)[i] = value;
}

#endif
