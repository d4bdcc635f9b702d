/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by iter.c (building, plain rows), iter_blocks.c (contiguous blocks) and iter_tiles.c
   (transposed inputs): one run, and the position in the outer dims. */
#ifndef MT_CORE_ITER_INTERNAL_H
#define MT_CORE_ITER_INTERNAL_H

#include "core/iter.h"

typedef struct mt_iter_job {
    const mt_iter *it;
    mt_loop_fn *loop;
    const void *params;
    const uint8_t *loop_dtype; /* NULL: the loop takes the strides as they are */
} mt_iter_job;

typedef struct mt_iter_cursor {
    char *data[MT_ITER_MAX_OPERANDS];
    int64_t index[MT_MAX_DIM]; /* of the dims from `first` on */
} mt_iter_cursor;

/* Position `flat` in the dims from `first` on. */
static inline void mt_iter_cursor_set(mt_iter_cursor *c, const mt_iter *it, int first, int64_t flat)
{
    for (int k = 0; k < it->n_operands; k++)
        c->data[k] = it->data[k];
    for (int d = first; d < it->ndim; d++) {
        c->index[d] = flat % it->size[d];
        flat /= it->size[d];
        for (int k = 0; k < it->n_operands; k++)
            c->data[k] += c->index[d] * it->stride[k][d];
    }
}

static inline void mt_iter_cursor_next(mt_iter_cursor *c, const mt_iter *it, int first)
{
    for (int d = first; d < it->ndim; d++) {
        bool wraps = ++c->index[d] == it->size[d];

        for (int k = 0; k < it->n_operands; k++)
            c->data[k] += wraps ? -(it->size[d] - 1) * it->stride[k][d] : it->stride[k][d];
        if (!wraps)
            return;
        c->index[d] = 0;
    }
}

/* Runs a job with inputs that are transposed to the rest; false when it is none of that kind. */
bool mt_iter_run_tiles(const mt_iter_job *job, double ns_per_element);

/* Runs a job whose loop wants contiguous operands of its own dtypes. */
void mt_iter_run_blocks(const mt_iter_job *job, double ns_per_element);

#endif
