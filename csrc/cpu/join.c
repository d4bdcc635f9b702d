/* SPDX-License-Identifier: BSD-3-Clause */
/* cat, stack, constant padding, roll and flip: copies of blocks between geometries. Dense operands of one dtype are joined
   by memcpy, everything else by mt_cpu_assign into a part of the result, or by mt_cpu_copy_strided where strides are
   reversed or shifted. */
#include <string.h>

#include "base/parallel.h"
#include "core/op.h"
#include "core/shape.h"
#include "cpu/assign.h"
#include "cpu/copy.h"
#include "kernels.h"

enum { SMALL_BYTES = 1 << 15, MAX_LONG_INPUTS = 16, LONG_BLOCK = 512 };

/* --- cat and stack --- */

static bool is_skipped(const mt_tensor *t)
{
    return t->ndim == 1 && t->size[0] == 0;
}

/* Every input is dense, has the dtype of out, and so is out. */
static bool all_dense(const mt_tensor *out, mt_tensors inputs)
{
    if (!(out->flags & MT_FLAG_CONTIGUOUS))
        return false;
    for (int i = 0; i < inputs.n; i++)
        if (inputs.data[i]->dtype != out->dtype || !(inputs.data[i]->flags & MT_FLAG_CONTIGUOUS))
            return false;
    return true;
}

/* Bytes of one block of t: everything from `dim` on. */
static int64_t block_bytes(const mt_tensor *t, int64_t dim)
{
    int64_t n = t->numel ? (int64_t)mt_tensor_itemsize(t) : 0;

    for (int i = (int)dim; i < t->ndim; i++)
        n *= t->size[i];
    return n;
}

/* Small results: blocks one after the other. */
static void join_small(mt_tensor *out, mt_tensors inputs, int64_t dim, int64_t outer)
{
    char *dst = mt_tensor_mutable_data(out);

    for (int64_t o = 0; o < outer; o++)
        for (int i = 0; i < inputs.n; i++) {
            int64_t n = block_bytes(inputs.data[i], dim);

            if (n == 0)
                continue;
            memcpy(dst, mt_tensor_const_data(inputs.data[i]) + o * n, (size_t)n);
            dst += n;
        }
}

typedef struct join_job {
    char *dst;
    mt_tensors inputs;
    const char *src[MAX_LONG_INPUTS];
    int64_t bytes[MAX_LONG_INPUTS], row;
} join_job;

/* The range is over outer rows. */
static void join_rows(void *ctx, int64_t begin, int64_t end)
{
    const join_job *job = ctx;
    char *dst = job->dst + begin * job->row;

    for (int64_t o = begin; o < end; o++)
        for (int i = 0; i < job->inputs.n; i++) {
            memcpy(dst, job->src[i] + o * job->bytes[i], (size_t)job->bytes[i]);
            dst += job->bytes[i];
        }
}

/* Few inputs with long blocks: the result is written in order. False when it is not so. */
static bool join_long(mt_tensor *out, mt_tensors inputs, int64_t dim, int64_t outer)
{
    join_job job = {.dst = mt_tensor_mutable_data(out), .inputs = inputs, .row = block_bytes(out, dim)};

    if (inputs.n > MAX_LONG_INPUTS || outer < 2)
        return false;
    for (int i = 0; i < inputs.n; i++) {
        job.src[i] = mt_tensor_const_data(inputs.data[i]);
        job.bytes[i] = block_bytes(inputs.data[i], dim);
        if (job.bytes[i] < LONG_BLOCK)
            return false;
    }
    mt_parallel_for(outer, 0.03 * (double)job.row, 1, join_rows, &job);
    return true;
}

/* Large results: every input is a matrix of outer rows, copied in parallel into a column range. */
static void join_dense(mt_tensor *out, mt_tensors inputs, int64_t dim, int64_t outer)
{
    int64_t itemsize = (int64_t)mt_tensor_itemsize(out), row = block_bytes(out, dim), at = 0;
    char *dst = mt_tensor_mutable_data(out);

    if (join_long(out, inputs, dim, outer))
        return;
    for (int i = 0; i < inputs.n; i++) {
        int64_t n = block_bytes(inputs.data[i], dim);

        if (n == 0)
            continue;
        mt_cpu_copy_strided(dst + at, (const int64_t[]){row, itemsize}, mt_tensor_const_data(inputs.data[i]),
                            (const int64_t[]){n, itemsize}, (const int64_t[]){outer, n / itemsize}, 2,
                            (size_t)itemsize);
        at += n;
    }
}

static int64_t outer_size(const mt_tensor *t, int64_t dim)
{
    int64_t n = 1;

    for (int i = 0; i < dim; i++)
        n *= t->size[i];
    return n;
}

/* Copies t into `length` places of dim from `start` on. */
static int copy_into_part(mt_tensor *out, mt_tensor *t, int64_t dim, int64_t start, int64_t length)
{
    int64_t size[MT_MAX_DIM];
    mt_tensor *part = NULL;
    int rc = -1;

    memcpy(size, out->size, out->ndim * sizeof(size[0]));
    size[dim] = length;
    MT_TRY(mt_tensor_new_view(&part, out, out->ndim, size, out->stride, out->offset + start * out->stride[dim]));
    MT_TRY(mt_cpu_assign(part, t));
    rc = 0;
fail:
    mt_tensor_clear(&part);
    return rc;
}

int mt_cpu_cat(mt_tensor *out, mt_tensors tensors, int64_t dim)
{
    int64_t at = 0;

    if (out->numel == 0)
        return 0;
    if (mt_dim_wrap(&dim, out->ndim) < 0)
        return -1;
    if (all_dense(out, tensors)) {
        if (out->numel * (int64_t)mt_tensor_itemsize(out) <= SMALL_BYTES)
            join_small(out, tensors, dim, outer_size(out, dim));
        else
            join_dense(out, tensors, dim, outer_size(out, dim));
        return 0;
    }
    for (int i = 0; i < tensors.n; i++) {
        mt_tensor *t = tensors.data[i];

        if (is_skipped(t))
            continue;
        if (copy_into_part(out, t, dim, at, t->size[dim]) < 0)
            return -1;
        at += t->size[dim];
    }
    return 0;
}

/* Copies t to place `k` of the new dim. */
static int copy_to_place(mt_tensor *out, mt_tensor *t, int64_t dim, int64_t k)
{
    int64_t stride[MT_MAX_DIM];
    mt_tensor *part = NULL;
    int rc = -1;

    for (int i = 0; i < t->ndim; i++)
        stride[i] = out->stride[i + (i >= dim)];
    MT_TRY(mt_tensor_new_view(&part, out, t->ndim, t->size, stride, out->offset + k * out->stride[dim]));
    MT_TRY(mt_cpu_assign(part, t));
    rc = 0;
fail:
    mt_tensor_clear(&part);
    return rc;
}

int mt_cpu_stack(mt_tensor *out, mt_tensors tensors, int64_t dim)
{
    if (out->numel == 0)
        return 0;
    if (mt_dim_wrap(&dim, out->ndim) < 0)
        return -1;
    if (all_dense(out, tensors)) {
        if (out->numel * (int64_t)mt_tensor_itemsize(out) <= SMALL_BYTES)
            join_small(out, tensors, dim, outer_size(out, dim));
        else
            join_dense(out, tensors, dim, outer_size(out, dim));
        return 0;
    }
    for (int k = 0; k < tensors.n; k++)
        if (copy_to_place(out, tensors.data[k], dim, k) < 0)
            return -1;
    return 0;
}

/* --- padding --- */

/* pad counts pairs from the last dim on; negative widths cut. */
int mt_cpu_constant_pad_nd(mt_tensor *out, mt_tensor *self, mt_ints pad, mt_scalar value)
{
    int64_t size[MT_MAX_DIM], from = self->offset, to = out->offset;
    mt_tensor *source = NULL, *part = NULL;
    bool grows = false;
    int rc = -1;

    for (int d = 0; d < self->ndim; d++) {
        int k = self->ndim - 1 - d;
        int64_t left = 2 * k + 1 < pad.n ? pad.data[2 * k] : 0, right = 2 * k + 1 < pad.n ? pad.data[2 * k + 1] : 0;

        grows |= left > 0 || right > 0;
        size[d] = self->size[d] + (left < 0 ? left : 0) + (right < 0 ? right : 0);
        from += (left < 0 ? -left : 0) * self->stride[d];
        to += (left > 0 ? left : 0) * out->stride[d];
    }
    if (grows)
        MT_TRY(mt_cpu_fill_scalar(out, value));
    MT_TRY(mt_tensor_new_view(&source, self, self->ndim, size, self->stride, from));
    MT_TRY(mt_tensor_new_view(&part, out, self->ndim, size, out->stride, to));
    MT_TRY(mt_cpu_assign(part, source));
    rc = 0;
fail:
    mt_tensor_clear(&source);
    mt_tensor_clear(&part);
    return rc;
}

/* --- roll --- */

typedef struct roll_job {
    int ndim;
    size_t itemsize;
    const int64_t *whole;                                                     /* sizes */
    int64_t shift[MT_MAX_DIM];                                                /* in [0, size) */
    int64_t size[MT_MAX_DIM], dst_stride[MT_MAX_DIM], src_stride[MT_MAX_DIM]; /* of the block; bytes */
} roll_job;

/* Every rolled dim falls into two runs; the blocks are all combinations. */
static void roll_blocks(roll_job *job, int dim, char *dst, const char *src)
{
    int64_t n, shift;

    while (dim < job->ndim && job->shift[dim] == 0) {
        job->size[dim] = job->whole[dim];
        dim++;
    }
    if (dim == job->ndim) {
        mt_cpu_copy_strided(dst, job->dst_stride, src, job->src_stride, job->size, job->ndim, job->itemsize);
        return;
    }
    n = job->whole[dim];
    shift = job->shift[dim];
    job->size[dim] = n - shift;
    roll_blocks(job, dim + 1, dst + shift * job->dst_stride[dim], src);
    job->size[dim] = shift;
    roll_blocks(job, dim + 1, dst, src + (n - shift) * job->src_stride[dim]);
}

static int64_t positive_shift(int64_t shift, int64_t n)
{
    shift %= n;
    return shift < 0 ? shift + n : shift;
}

static int roll_flat(mt_tensor *out, mt_tensor *self, int64_t shift)
{
    mt_tensor *source = NULL, *dense = NULL, *target = out;
    int64_t size = (int64_t)mt_tensor_itemsize(self), n = self->numel;
    char *dst;
    const char *src;
    int rc = -1;

    MT_TRY(mt_arg_contiguous(&source, self));
    if (!(out->flags & MT_FLAG_CONTIGUOUS)) {
        MT_TRY(mt_tensor_new(&dense, (mt_dtype)out->dtype, out->ndim, out->size, out->device));
        target = dense;
    }
    shift = positive_shift(shift, n);
    dst = mt_tensor_mutable_data(target);
    src = mt_tensor_const_data(source);
    mt_cpu_copy_strided(dst + shift * size, &size, src, &size, &(int64_t){n - shift}, 1, (size_t)size);
    mt_cpu_copy_strided(dst, &size, src + (n - shift) * size, &size, &shift, 1, (size_t)size);
    if (dense)
        MT_TRY(mt_cpu_assign(out, dense));
    rc = 0;
fail:
    mt_tensor_clear(&source);
    mt_tensor_clear(&dense);
    return rc;
}

int mt_cpu_roll(mt_tensor *out, mt_tensor *self, mt_ints shifts, mt_ints dims)
{
    roll_job job;

    if (out->numel == 0)
        return 0;
    if (dims.n <= 0)
        return roll_flat(out, self, shifts.data[0]);
    job.ndim = self->ndim;
    job.itemsize = mt_tensor_itemsize(self);
    job.whole = self->size;
    memset(job.shift, 0, (size_t)job.ndim * sizeof(job.shift[0]));
    for (int i = 0; i < dims.n; i++) {
        int64_t d = dims.data[i];

        if (mt_dim_wrap(&d, self->ndim) < 0)
            return -1;
        job.shift[d] = positive_shift(job.shift[d] + positive_shift(shifts.data[i], self->size[d]), self->size[d]);
    }
    for (int d = 0; d < job.ndim; d++) {
        job.dst_stride[d] = out->stride[d] * (int64_t)job.itemsize;
        job.src_stride[d] = self->stride[d] * (int64_t)job.itemsize;
    }
    roll_blocks(&job, 0, mt_tensor_mutable_data(out), mt_tensor_const_data(self));
    return 0;
}

/* --- flip --- */

int mt_cpu_flip(mt_tensor *out, mt_tensor *self, mt_ints dims)
{
    int64_t dst_stride[MT_MAX_DIM], src_stride[MT_MAX_DIM], size = (int64_t)mt_tensor_itemsize(self);
    const char *src = mt_tensor_const_data(self);
    uint64_t mask;

    if (out->numel == 0)
        return 0;
    if (mt_dims_mask(&mask, dims.data, dims.n, self->ndim, false) < 0)
        return -1;
    for (int d = 0; d < self->ndim; d++) {
        dst_stride[d] = out->stride[d] * size;
        src_stride[d] = self->stride[d] * size;
        if (mask >> d & 1) {
            src += (self->size[d] - 1) * src_stride[d];
            src_stride[d] = -src_stride[d];
        }
    }
    mt_cpu_copy_strided(mt_tensor_mutable_data(out), dst_stride, src, src_stride, self->size, self->ndim, (size_t)size);
    return 0;
}
