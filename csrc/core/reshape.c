/* SPDX-License-Identifier: BSD-3-Clause */
/* Reshaping: completing a wished shape and finding strides with which existing memory shows another
   shape. A view exists when each group of old dims that lies in one run of memory splits exactly
   into new dims. */
#include "base/checked.h"
#include "base/strbuf.h"
#include "core/shape.h"

int mt_shape_infer(int64_t *out, const int64_t *size, int ndim, int64_t numel)
{
    mt_shape_text text;
    int64_t known = 1;
    int hole = -1;
    bool overflow = false;

    for (int i = 0; i < ndim; i++) {
        if (size[i] == -1) {
            if (hole >= 0)
                return mt_error_set(MT_ERR_RUNTIME, "only one dimension can be inferred");
            hole = i;
        } else if (size[i] < 0) {
            return mt_error_set(MT_ERR_RUNTIME, "invalid shape dimension %lld at index %d of shape %s",
                                (long long)size[i], i, mt_shape_format(&text, size, ndim));
        } else {
            overflow |= mt_mul_overflow(known, size[i], &known);
        }
        out[i] = size[i];
    }
    if (hole < 0 && (overflow || known != numel))
        goto invalid;
    if (hole >= 0) {
        if (!overflow && known == 0 && numel == 0)
            return mt_error_set(MT_ERR_RUNTIME,
                                "cannot reshape tensor of 0 elements into shape %s because the unspecified "
                                "dimension size -1 can be any value and is ambiguous",
                                mt_shape_format(&text, size, ndim));
        if (overflow || known == 0 || numel % known != 0)
            goto invalid;
        out[hole] = numel / known;
    }
    return 0;
invalid:
    return mt_error_set(MT_ERR_RUNTIME, "shape '%s' is invalid for input of size %lld",
                        mt_shape_format(&text, size, ndim), (long long)numel);
}

/* Gives the new dims that make up `run` elements with the given innermost stride their strides,
   from the last one backwards; false when they do not split the run exactly. */
static bool split_run(int64_t *stride, const int64_t *size, int *next, int64_t run, int64_t step)
{
    int64_t covered = 1;

    while (*next >= 0 && (covered < run || size[*next] == 1)) {
        stride[*next] = covered * step;
        covered *= size[*next];
        (*next)--;
    }
    return covered == run;
}

bool mt_shape_view_strides(int64_t *stride, const mt_tensor *t, int ndim, const int64_t *size)
{
    int64_t run = 1, step;
    int next = ndim - 1;

    if (t->numel == 0) {
        if (mt_shape_equal(ndim, size, t->ndim, t->size)) {
            for (int i = 0; i < ndim; i++)
                stride[i] = t->stride[i];
        } else {
            mt_shape_contiguous_strides(stride, ndim, size);
        }
        return true;
    }
    if (t->ndim == 0) {
        for (int i = 0; i < ndim; i++)
            stride[i] = 1;
        return true;
    }
    step = t->stride[t->ndim - 1];
    if (mt_tensor_is_contiguous(t) && step == 1) {
        mt_shape_contiguous_strides(stride, ndim, size);
        return true;
    }
    for (int i = t->ndim - 1; i >= 0; i--) {
        run *= t->size[i];
        if (i > 0 && (t->size[i - 1] == 1 || t->stride[i - 1] == run * step))
            continue;
        if (!split_run(stride, size, &next, run, step))
            return false;
        if (i > 0)
            step = t->stride[i - 1];
        run = 1;
    }
    return next < 0;
}
