/* SPDX-License-Identifier: BSD-3-Clause */
/* Shape of advanced indexing: which dims the indices replace, and how everything moves along the result. No element is
   read here, so bounds of the indices are checked by who reads them. */
#include "core/index_plan.h"

#include "base/strbuf.h"
#include "core/shape.h"

static MT_COLD int cannot_broadcast(const mt_index_plan *p)
{
    mt_strbuf text = MT_STRBUF_INIT;
    int rc;

    for (int k = 0; k < p->n_index; k++) {
        if (k > 0)
            mt_strbuf_puts(&text, ", ");
        mt_strbuf_ints(&text, p->index[k]->size, p->index[k]->ndim);
    }
    rc = mt_strbuf_finish(&text);
    if (rc == 0)
        rc = mt_error_set(MT_ERR_INDEX,
                          "shape mismatch: indexing tensors could not be broadcast together with shapes %s",
                          text.data ? text.data : "");
    mt_strbuf_clear(&text);
    return rc;
}

static int collect(mt_index_plan *p, mt_shape *shape, const mt_tensor *self, mt_tensors indices)
{
    p->n_index = 0;
    shape->ndim = 0;
    for (int d = 0; d < indices.n; d++) {
        const mt_tensor *t = indices.data[d];

        if (!t)
            continue;
        if (d >= self->ndim)
            break;
        p->index[p->n_index] = t;
        p->dim[p->n_index++] = d;
    }
    if (indices.n > self->ndim)
        return mt_error_set(MT_ERR_INDEX, "too many indices for tensor of dimension %d (got %d)", self->ndim,
                            indices.n);
    for (int k = 0; k < p->n_index; k++)
        if (mt_shape_broadcast(shape, p->index[k]->ndim, p->index[k]->size) < 0)
            return cannot_broadcast(p);
    return 0;
}

static int check_empty_dims(const mt_index_plan *p, const mt_shape *shape, const mt_tensor *self)
{
    for (int i = 0; i < shape->ndim; i++)
        if (shape->size[i] == 0)
            return 0;
    for (int k = 0; k < p->n_index; k++)
        if (self->size[p->dim[k]] == 0)
            return mt_error_set(MT_ERR_INDEX, "index is out of bounds for dimension with size 0");
    return 0;
}

int mt_index_plan_make(mt_index_plan *p, const mt_tensor *self, mt_tensors indices)
{
    mt_shape shape;
    bool adjacent;
    int from = 0, n = 0;

    if (collect(p, &shape, self, indices) < 0 || check_empty_dims(p, &shape, self) < 0)
        return -1;
    if (self->ndim - p->n_index + shape.ndim > MT_MAX_DIM)
        return mt_error_set(MT_ERR_RUNTIME, "tensors with more than %d dims are not supported, got %d", MT_MAX_DIM,
                            self->ndim - p->n_index + shape.ndim);
    adjacent = p->n_index > 0 && p->dim[p->n_index - 1] - p->dim[0] == p->n_index - 1;
    p->first = adjacent ? p->dim[0] : 0;
    p->n_index_dims = shape.ndim;
    for (int d = 0; d <= self->ndim; d++) {
        if (d == p->first)
            for (int i = 0; i < shape.ndim; i++) {
                p->size[n] = shape.size[i];
                p->stride[n++] = 0;
            }
        if (d == self->ndim)
            break;
        if (from < p->n_index && p->dim[from] == d) {
            from++;
            continue;
        }
        p->size[n] = self->size[d];
        p->stride[n++] = self->stride[d];
    }
    p->ndim = n;
    return 0;
}

void mt_index_plan_strides(int64_t *out, const mt_index_plan *p, int k)
{
    const mt_tensor *t = p->index[k];
    int pad = p->first + p->n_index_dims - t->ndim;

    for (int i = 0; i < p->ndim; i++)
        out[i] = 0;
    for (int i = 0; i < t->ndim; i++)
        if (t->size[i] != 1)
            out[pad + i] = t->stride[i];
}
