/* SPDX-License-Identifier: BSD-3-Clause */
/* Tensors seen as lines along one dimension: scans and sorts work on one line at a time. */
#ifndef MT_CPU_LINES_H
#define MT_CPU_LINES_H

#include "core/tensor.h"

#define MT_LINES_MAX 3

typedef struct mt_lines {
    int n_tensors, ndim;     /* dims of the grid of lines */
    int64_t n_lines, length; /* length: elements of one line */
    char *data[MT_LINES_MAX];
    int64_t step[MT_LINES_MAX]; /* bytes from one element of a line to the next */
    int64_t size[MT_MAX_DIM];
    int64_t stride[MT_LINES_MAX][MT_MAX_DIM]; /* bytes */
} mt_lines;

/* All tensors have one shape; a 0-d tensor is one line of one element. dim is wrapped already. Tensors before `n_written`
   are written. */
void mt_lines_init(mt_lines *l, mt_tensor *const *tensors, int n_tensors, int n_written, int64_t dim);

/* Addresses of line i. */
static inline void mt_lines_at(const mt_lines *l, int64_t i, char **out)
{
    for (int k = 0; k < l->n_tensors; k++)
        out[k] = l->data[k];
    for (int d = l->ndim - 1; d >= 0; d--) {
        int64_t at = i % l->size[d];

        i /= l->size[d];
        for (int k = 0; k < l->n_tensors; k++)
            out[k] += at * l->stride[k][d];
    }
}

#endif
