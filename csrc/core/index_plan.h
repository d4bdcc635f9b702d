/* SPDX-License-Identifier: BSD-3-Clause */
/* Advanced indexing as geometry. Indices broadcast to one shape. When the indexed dims are neighbours, that shape stands
   in their place in the result, else in front of all others; the remaining dims follow in order. Along the index
   dims of the result self does not move by itself: what the index tensors name is added. */
#ifndef MT_CORE_INDEX_PLAN_H
#define MT_CORE_INDEX_PLAN_H

#include "core/op.h"

typedef struct mt_index_plan {
    int ndim;                   /* of the result */
    int first, n_index_dims;    /* where the shape of the indices stands in it */
    int n_index;                /* tensors that are not NULL */
    int64_t size[MT_MAX_DIM];   /* of the result */
    int64_t stride[MT_MAX_DIM]; /* of self along the dims of the result, 0 along the index dims; elements */
    const mt_tensor *index[MT_MAX_DIM];
    int dim[MT_MAX_DIM]; /* the dim of self that index[k] is for */
} mt_index_plan;

/* The indices are integer tensors, one per dim, NULL for dims taken whole; fewer than dims is allowed. IndexErrors with
   PyTorch's words for too many, for shapes that do not broadcast, and for indices into a dim without elements. */
int mt_index_plan_make(mt_index_plan *p, const mt_tensor *self, mt_tensors indices);
/* Element strides of index[k] along the dims of the result. */
void mt_index_plan_strides(int64_t *out, const mt_index_plan *p, int k);

#endif
