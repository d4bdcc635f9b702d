/* SPDX-License-Identifier: BSD-3-Clause */
/* See lines.h. */
#include "cpu/lines.h"

void mt_lines_init(mt_lines *l, mt_tensor *const *tensors, int n_tensors, int n_written, int64_t dim)
{
    mt_tensor *first = tensors[0];

    l->n_tensors = n_tensors;
    l->ndim = 0;
    l->n_lines = 1;
    l->length = first->ndim ? first->size[dim] : 1;
    for (int k = 0; k < n_tensors; k++) {
        int64_t size = (int64_t)mt_tensor_itemsize(tensors[k]);

        l->data[k] = k < n_written ? mt_tensor_mutable_data(tensors[k]) : (char *)mt_tensor_const_data(tensors[k]);
        l->step[k] = first->ndim ? tensors[k]->stride[dim] * size : size;
    }
    for (int d = 0; d < first->ndim; d++) {
        if (d == dim)
            continue;
        l->size[l->ndim] = first->size[d];
        l->n_lines *= first->size[d];
        for (int k = 0; k < n_tensors; k++)
            l->stride[k][l->ndim] = tensors[k]->stride[d] * (int64_t)mt_tensor_itemsize(tensors[k]);
        l->ndim++;
    }
}
