/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that address a dim, or the flattened tensor, through an index: index_select, gather, the scatter and index_*
   families, take and put. Shapes and dtypes were settled by the meta rules of ops/index.c. Writing kernels check every
   index first, then bring self into the result, then write; so a bad index leaves all operands as they were. */
#include "cpu/index_move.h"

#include <math.h>
#include <string.h>

#include "core/shape.h"
#include "cpu/assign.h"
#include "kernels.h"

/* --- preparing --- */

/* The index as int64; NULL: it is that already. */
static int widen(mt_tensor **wide, mt_tensor *index)
{
    *wide = NULL;
    if (index->dtype == MT_DTYPE_i64)
        return 0;
    if (mt_tensor_new(wide, MT_DTYPE_i64, index->ndim, index->size, index->device) < 0)
        return -1;
    return mt_cpu_assign(*wide, index);
}

/* Is `t` seen by nobody but the running call? Then what was written before an error does not matter. */
static bool is_fresh(const mt_tensor *t)
{
    return mt_refcount_get(&t->refs) == 1 && mt_refcount_get(&t->storage->refs) == 1;
}

/* self becomes the content of out, unless it is out. */
static int bring(mt_tensor *out, mt_tensor *self)
{
    return out == self ? 0 : mt_cpu_assign(out, self);
}

static int check_all(const mt_tensor *index, int64_t limit, int64_t wrap, mt_index_words words, int64_t dim)
{
    int64_t bad;

    if (mt_index_in_range(&bad, index, limit, wrap))
        return 0;
    return mt_index_error(words, bad, dim, limit);
}

static int64_t dim_size(const mt_tensor *t, int64_t dim)
{
    return t->ndim ? t->size[dim] : 1;
}

/* The target's part of a job: everything but what the index and the other operand do. */
static void set_target(mt_index_job *job, const mt_tensor *target, char *data, int64_t dim)
{
    job->itemsize = (int)mt_tensor_itemsize(target);
    job->target = data;
    job->params.limit = dim_size(target, dim);
    job->params.wrap = 0;
    job->params.step = target->ndim ? target->stride[dim] * job->itemsize : job->itemsize;
    job->params.fault = NULL;
}

/* Index and other have one shape (0-d counts as one element); the index names places along dim. An empty one may have
   another number of dims than the target. */
static void set_elementwise(mt_index_job *job, const mt_tensor *target, const mt_tensor *index, int64_t dim)
{
    job->ndim = index->ndim;
    for (int i = 0; i < index->ndim; i++) {
        job->size[i] = index->size[i];
        job->target_stride[i] = i == dim || i >= target->ndim ? 0 : target->stride[i] * job->itemsize;
        job->index_stride[i] = index->stride[i] * (int64_t)sizeof(int64_t);
        job->is_indexed[i] = i == dim;
    }
    job->index = mt_tensor_const_data(index);
}

/* The strides of `t`, which has at least the job's sizes; NULL: one value everywhere. */
static void set_other(mt_index_job *job, const mt_tensor *t, char *data)
{
    job->other = data;
    for (int i = 0; i < job->ndim; i++)
        job->other_stride[i] = t && i < t->ndim ? t->stride[i] * job->itemsize : 0;
}

/* A vector names whole slices along dim; `other` has the shape of target but for that dim. */
static void set_slices(mt_index_job *job, const mt_tensor *target, const mt_tensor *index, int64_t dim)
{
    job->ndim = target->ndim ? target->ndim : 1;
    for (int i = 0; i < job->ndim; i++) {
        bool here = i == dim;

        job->size[i] = here ? index->numel : target->size[i];
        job->target_stride[i] = here ? 0 : target->stride[i] * job->itemsize;
        job->index_stride[i] = here && index->ndim ? index->stride[0] * (int64_t)sizeof(int64_t) : 0;
        job->is_indexed[i] = here;
    }
    job->index = mt_tensor_const_data(index);
}

/* Strides of the other operand of slices; tensors of fewer dims are single elements. */
static void set_slice_values(mt_index_job *job, const mt_tensor *t, char *data)
{
    job->other = data;
    for (int i = 0; i < job->ndim; i++)
        job->other_stride[i] = i < t->ndim && t->size[i] != 1 ? t->stride[i] * job->itemsize : 0;
}

/* --- reading --- */

/* Checks before the first element when others can see the result or an index is used often, else on the way. */
static int read_checked(mt_index_job *job, const mt_tensor *out, const mt_tensor *index, mt_index_words words,
                        int64_t dim)
{
    mt_index_fault fault = {false, 0};

    if (is_fresh(out) && out->numel <= 2 * index->numel)
        job->params.fault = &fault;
    else if (check_all(index, job->params.limit, job->params.wrap, words, dim) < 0)
        return -1;
    mt_index_read(job);
    return fault.found ? mt_index_error(words, fault.index, dim, job->params.limit) : 0;
}

int mt_cpu_index_select(mt_tensor *out, mt_tensor *self, int64_t dim, mt_tensor *index)
{
    mt_tensor *wide = NULL;
    mt_index_job job;
    int rc = -1;

    MT_TRY(mt_dim_wrap(&dim, self->ndim));
    MT_TRY(widen(&wide, index));
    if (wide)
        index = wide;
    set_target(&job, self, (char *)(uintptr_t)mt_tensor_const_data(self), dim);
    if (out->numel == 0) {
        MT_TRY(check_all(index, job.params.limit, 0, MT_INDEX_OF_DATA, dim));
    } else {
        set_slices(&job, self, index, dim);
        set_slice_values(&job, out, mt_tensor_mutable_data(out));
        MT_TRY(read_checked(&job, out, index, dim == 1 ? MT_INDEX_OF_DATA : MT_INDEX_IN_SELF, dim));
    }
    rc = 0;
fail:
    mt_tensor_clear(&wide);
    return rc;
}

int mt_cpu_gather_dim(mt_tensor *out, mt_tensor *self, int64_t dim, mt_tensor *index, bool sparse_grad)
{
    mt_tensor *wide = NULL;
    mt_index_job job;
    int rc = -1;

    (void)sparse_grad;
    MT_TRY(mt_dim_wrap(&dim, self->ndim));
    MT_TRY(widen(&wide, index));
    if (wide)
        index = wide;
    set_target(&job, self, (char *)(uintptr_t)mt_tensor_const_data(self), dim);
    set_elementwise(&job, self, index, dim);
    set_other(&job, out, mt_tensor_mutable_data(out));
    MT_TRY(read_checked(&job, out, index, MT_INDEX_OF_GATHER, dim));
    rc = 0;
fail:
    mt_tensor_clear(&wide);
    return rc;
}

/* self is contiguous */
int mt_cpu_take(mt_tensor *out, mt_tensor *self, mt_tensor *index)
{
    mt_index_job job;

    set_target(&job, self, (char *)(uintptr_t)mt_tensor_const_data(self), 0);
    job.params.limit = job.params.wrap = self->numel;
    job.params.step = job.itemsize;
    set_elementwise(&job, self, index, 0);
    memset(job.target_stride, 0, (size_t)job.ndim * sizeof(job.target_stride[0]));
    set_other(&job, out, mt_tensor_mutable_data(out));
    return read_checked(&job, out, index, MT_INDEX_OF_TAKE, 0);
}

static const mt_scalar one = {MT_CAT_INT, 0, {1}};

static bool is_half(const mt_tensor *t)
{
    return t->dtype == MT_DTYPE_f16 || t->dtype == MT_DTYPE_bf16;
}

/* A float32 copy; NULL for NULL. */
static int as_float(mt_tensor **out, mt_tensor *t)
{
    *out = NULL;
    if (!t)
        return 0;
    if (mt_tensor_new(out, MT_DTYPE_f32, t->ndim, t->size, t->device) < 0)
        return -1;
    return mt_cpu_assign(*out, t);
}

/* --- scatter --- */

/* Writes into out at the places of the index, after the checks. `src` NULL: *element everywhere. */
static int scatter(mt_tensor *out, mt_tensor *self, int64_t dim, mt_tensor *index, mt_tensor *src, const void *element,
                   mt_loop_fn *loop, const mt_scalar *alpha)
{
    mt_tensor *wide = NULL;
    mt_index_job job;
    int rc = -1;

    MT_TRY(mt_dim_wrap(&dim, self->ndim));
    MT_TRY(widen(&wide, index));
    if (wide)
        index = wide;
    MT_TRY(check_all(index, dim_size(self, dim), 0, MT_INDEX_OF_GATHER, dim));
    MT_TRY(bring(out, self));
    set_target(&job, out, mt_tensor_mutable_data(out), dim);
    set_elementwise(&job, out, index, dim);
    set_other(&job, src, (char *)(uintptr_t)(src ? mt_tensor_const_data(src) : element));
    if (alpha)
        MT_TRY(mt_index_set_alpha(&job.params, (mt_dtype)out->dtype, *alpha));
    if (index->numel > 0)
        mt_index_write(&job, loop, loop ? 2.5 : 1.5);
    rc = 0;
fail:
    mt_tensor_clear(&wide);
    return rc;
}

/* Sums and products of the half types go through float32 and are rounded once. */
static int combine(mt_tensor *out, mt_tensor *self, int64_t dim, mt_tensor *index, mt_tensor *src, const void *element,
                   mt_index_op op)
{
    mt_tensor *wide = NULL, *wide_src = NULL;
    float value = 0.0f;
    int rc = -1;

    if (!is_half(out) || op == MT_INDEX_MAX || op == MT_INDEX_MIN)
        return scatter(out, self, dim, index, src, element, mt_index_loop(op, (mt_dtype)out->dtype), &one);
    if (element)
        value = (float)mt_scalar_to_double(mt_scalar_load(element, (mt_dtype)out->dtype));
    MT_TRY(as_float(&wide, self));
    MT_TRY(as_float(&wide_src, src));
    MT_TRY(scatter(wide, wide, dim, index, wide_src, &value, mt_index_loop(op, MT_DTYPE_f32), &one));
    MT_TRY(mt_cpu_assign(out, wide));
    rc = 0;
fail:
    mt_tensor_clear(&wide);
    mt_tensor_clear(&wide_src);
    return rc;
}

int mt_cpu_scatter_src(mt_tensor *out, mt_tensor *self, int64_t dim, mt_tensor *index, mt_tensor *src)
{
    return scatter(out, self, dim, index, src, NULL, NULL, NULL);
}

int mt_cpu_scatter_value(mt_tensor *out, mt_tensor *self, int64_t dim, mt_tensor *index, mt_scalar value)
{
    MT_ALIGNED(16) char element[16];

    if (mt_scalar_store_checked(element, (mt_dtype)out->dtype, value) < 0)
        return -1;
    return scatter(out, self, dim, index, NULL, element, NULL, NULL);
}

int mt_cpu_scatter_add(mt_tensor *out, mt_tensor *self, int64_t dim, mt_tensor *index, mt_tensor *src)
{
    return combine(out, self, dim, index, src, NULL, MT_INDEX_ADD);
}

/* The two names that scatter_ knows. */
static int old_reduce(mt_index_op *out, const char *reduce)
{
    if (strcmp(reduce, "add") == 0)
        *out = MT_INDEX_ADD;
    else if (strcmp(reduce, "multiply") == 0)
        *out = MT_INDEX_MUL;
    else
        return mt_error_set(MT_ERR_RUNTIME, "reduce argument must be either add or multiply.");
    return 0;
}

int mt_cpu_scatter_src_reduce(mt_tensor *out, mt_tensor *self, int64_t dim, mt_tensor *index, mt_tensor *src,
                              const char *reduce)
{
    mt_index_op op = MT_INDEX_ADD;

    if (old_reduce(&op, reduce) < 0)
        return -1;
    return combine(out, self, dim, index, src, NULL, op);
}

int mt_cpu_scatter_value_reduce(mt_tensor *out, mt_tensor *self, int64_t dim, mt_tensor *index, mt_scalar value,
                                const char *reduce)
{
    MT_ALIGNED(16) char element[16];
    mt_index_op op = MT_INDEX_ADD;

    if (old_reduce(&op, reduce) < 0 || mt_scalar_store_checked(element, (mt_dtype)out->dtype, value) < 0)
        return -1;
    return combine(out, self, dim, index, NULL, element, op);
}

/* --- scatter_reduce --- */

typedef enum reduction { REDUCE_SUM, REDUCE_PROD, REDUCE_MEAN, REDUCE_AMAX, REDUCE_AMIN, REDUCE_COUNT } reduction;

static int find_reduction(reduction *out, const char *name)
{
    static const char *const names[REDUCE_COUNT] = {"sum", "prod", "mean", "amax", "amin"};

    for (int i = 0; i < REDUCE_COUNT; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (reduction)i;
            return 0;
        }
    return mt_error_set(MT_ERR_RUNTIME, "reduce argument must be either sum, prod, mean, amax or amin, got %s", name);
}

/* What a place holds before the first value when self does not count. */
static void identity_element(void *element, reduction r, mt_dtype dtype)
{
    double infinite = r == REDUCE_AMAX ? -(double)INFINITY : (double)INFINITY;
    int bits = (int)mt_dtype_size(dtype) * 8;
    int64_t high = dtype == MT_DTYPE_b8   ? 1
                   : dtype == MT_DTYPE_u8 ? 255
                                          : (int64_t)(UINT64_MAX >> (65 - (bits < 64 ? bits : 64)));
    int64_t low = mt_dtype_table[dtype].is_signed ? -high - 1 : 0;

    if (r == REDUCE_SUM || r == REDUCE_MEAN || r == REDUCE_PROD)
        mt_scalar_store(element, dtype, mt_scalar_from_int(r == REDUCE_PROD));
    else if (mt_dtype_is_float(dtype))
        mt_scalar_store(element, dtype, mt_scalar_from_double(infinite));
    else
        mt_scalar_store(element, dtype, mt_scalar_from_int(r == REDUCE_AMAX ? low : high));
}

static void divide_loop(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    mt_dtype dtype = *(const mt_dtype *)params;

    for (int64_t i = 0; i < n; i++) {
        char *x = data[0] + i * stride[0];
        int64_t count = *(const int64_t *)(const void *)(data[1] + i * stride[1]);
        mt_scalar s;

        if (count <= 1)
            continue;
        s = mt_scalar_load(x, dtype);
        if (s.category == MT_CAT_COMPLEX)
            s = mt_scalar_from_complex(s.v.c.re / (double)count, s.v.c.im / (double)count);
        else if (s.category == MT_CAT_FLOAT)
            s.v.d /= (double)count;
        else
            s.v.i = s.v.i / count - (s.v.i % count < 0);
        mt_scalar_store(x, dtype, s);
    }
}

/* out /= the number of values that went into each place */
static int divide_by_counts(mt_tensor *out, int64_t dim, mt_tensor *index, bool include_self)
{
    mt_tensor *count = NULL;
    mt_dtype dtype = (mt_dtype)out->dtype;
    int64_t increment = 1;
    mt_iter it;
    int rc = -1;

    MT_TRY(mt_tensor_new(&count, MT_DTYPE_i64, out->ndim, out->size, out->device));
    MT_TRY(mt_cpu_fill_scalar(count, mt_scalar_from_int(include_self)));
    MT_TRY(scatter(count, count, dim, index, NULL, &increment, mt_index_loop(MT_INDEX_ADD, MT_DTYPE_i64), &one));
    MT_TRY(mt_iter_build(&it, (mt_tensor *[]){out, count}, 2, 1, out->ndim, out->size));
    mt_iter_run(&it, divide_loop, &dtype, NULL, 8.0);
    rc = 0;
fail:
    mt_tensor_clear(&count);
    return rc;
}

int mt_cpu_scatter_reduce(mt_tensor *out, mt_tensor *self, int64_t dim, mt_tensor *index, mt_tensor *src,
                          const char *reduce, bool include_self)
{
    static const mt_index_op ops[REDUCE_COUNT] = {MT_INDEX_ADD, MT_INDEX_MUL, MT_INDEX_ADD, MT_INDEX_MAX, MT_INDEX_MIN};
    mt_dtype dtype = (mt_dtype)out->dtype;
    MT_ALIGNED(16) char element[16];
    reduction r = REDUCE_SUM;

    if (find_reduction(&r, reduce) < 0)
        return -1;
    if (!mt_index_loop(ops[r], dtype) || (r == REDUCE_MEAN && dtype == MT_DTYPE_b8))
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"scatter_gather_tensor_cpu_reduce_%s\" not implemented for '%s'",
                            reduce, mt_dtype_table[dtype].legacy);
    if (!include_self) {
        identity_element(element, r, dtype);
        if (scatter(out, self, dim, index, NULL, element, NULL, NULL) < 0)
            return -1;
        self = out;
    }
    if (combine(out, self, dim, index, src, NULL, ops[r]) < 0)
        return -1;
    return r == REDUCE_MEAN ? divide_by_counts(out, dim, index, include_self) : 0;
}

/* --- slices --- */

/* `values` NULL: *element everywhere. */
static int write_slices(mt_tensor *out, mt_tensor *self, int64_t dim, mt_tensor *index, mt_tensor *values,
                        const void *element, int64_t wrap, mt_index_words words, mt_loop_fn *loop,
                        const mt_scalar *alpha)
{
    mt_tensor *wide = NULL;
    mt_index_job job;
    int64_t limit;
    int rc = -1;

    MT_TRY(mt_dim_wrap(&dim, self->ndim));
    limit = dim_size(self, dim);
    MT_TRY(widen(&wide, index));
    if (wide)
        index = wide;
    MT_TRY(check_all(index, limit, wrap ? limit : 0, words, dim));
    if (alpha)
        MT_TRY(mt_index_set_alpha(&job.params, (mt_dtype)out->dtype, *alpha));
    MT_TRY(bring(out, self));
    set_target(&job, out, mt_tensor_mutable_data(out), dim);
    job.params.wrap = wrap ? limit : 0;
    set_slices(&job, out, index, dim);
    if (values) {
        set_slice_values(&job, values, (char *)(uintptr_t)mt_tensor_const_data(values));
    } else {
        job.other = (char *)(uintptr_t)element;
        memset(job.other_stride, 0, (size_t)job.ndim * sizeof(job.other_stride[0]));
    }
    mt_index_write(&job, loop, 1.0);
    rc = 0;
fail:
    mt_tensor_clear(&wide);
    return rc;
}

int mt_cpu_index_add(mt_tensor *out, mt_tensor *self, int64_t dim, mt_tensor *index, mt_tensor *source, mt_scalar alpha)
{
    mt_tensor *wide = NULL, *wide_source = NULL;
    mt_index_words words = MT_INDEX_IN_SELF;
    int rc = -1;

    MT_TRY(mt_dim_wrap(&dim, self->ndim));
    if (self->ndim > 1 && (dim == 0 || dim == self->ndim - 1) && mt_scalar_equals_int(alpha, 1))
        words = MT_INDEX_OF_GATHER; /* here PyTorch runs scatter_add, with its error and its rounding */
    if (!is_half(out) || words == MT_INDEX_IN_SELF)
        return write_slices(out, self, dim, index, source, NULL, 0, words,
                            mt_index_loop(MT_INDEX_ADD, (mt_dtype)out->dtype), &alpha);
    MT_TRY(as_float(&wide, self));
    MT_TRY(as_float(&wide_source, source));
    MT_TRY(write_slices(wide, wide, dim, index, wide_source, NULL, 0, words, mt_index_loop(MT_INDEX_ADD, MT_DTYPE_f32),
                        &alpha));
    MT_TRY(mt_cpu_assign(out, wide));
    rc = 0;
fail:
    mt_tensor_clear(&wide);
    mt_tensor_clear(&wide_source);
    return rc;
}

int mt_cpu_index_copy(mt_tensor *out, mt_tensor *self, int64_t dim, mt_tensor *index, mt_tensor *source)
{
    return write_slices(out, self, dim, index, source, NULL, 0, MT_INDEX_OF_COPY, NULL, NULL);
}

int mt_cpu_index_fill(mt_tensor *out, mt_tensor *self, int64_t dim, mt_tensor *index, mt_scalar value)
{
    MT_ALIGNED(16) char element[16];

    if (mt_scalar_store_checked(element, (mt_dtype)out->dtype, value) < 0)
        return -1;
    return write_slices(out, self, dim, index, NULL, element, 1, MT_INDEX_OF_DIM, NULL, NULL);
}

int mt_cpu_index_fill_tensor(mt_tensor *out, mt_tensor *self, int64_t dim, mt_tensor *index, mt_tensor *value)
{
    mt_scalar s;

    if (mt_tensor_item(&s, value) < 0)
        return -1;
    return mt_cpu_index_fill(out, self, dim, index, s);
}

/* --- put --- */

static int put_dense(mt_tensor *out, mt_tensor *index, mt_tensor *source, bool accumulate)
{
    mt_index_job job;

    set_target(&job, out, mt_tensor_mutable_data(out), 0);
    job.params.limit = job.params.wrap = out->numel;
    job.params.step = job.itemsize;
    job.ndim = 1;
    job.size[0] = index->numel;
    job.index = mt_tensor_const_data(index);
    job.index_stride[0] = sizeof(int64_t);
    job.target_stride[0] = 0;
    job.is_indexed[0] = true;
    job.other = (char *)(uintptr_t)mt_tensor_const_data(source);
    job.other_stride[0] = job.itemsize;
    if (mt_index_set_alpha(&job.params, (mt_dtype)out->dtype, one) < 0)
        return -1;
    mt_index_write(&job, accumulate ? mt_index_loop(MT_INDEX_ADD, (mt_dtype)out->dtype) : NULL, 2.0);
    return 0;
}

/* index and source are contiguous */
int mt_cpu_put(mt_tensor *out, mt_tensor *self, mt_tensor *index, mt_tensor *source, bool accumulate)
{
    mt_tensor *dense = NULL;
    int rc = -1;

    MT_TRY(check_all(index, self->numel, self->numel, MT_INDEX_OF_TAKE, 0));
    if (out->flags & MT_FLAG_CONTIGUOUS) {
        MT_TRY(bring(out, self));
        MT_TRY(put_dense(out, index, source, accumulate));
    } else {
        MT_TRY(mt_tensor_new(&dense, (mt_dtype)self->dtype, self->ndim, self->size, self->device));
        MT_TRY(mt_cpu_assign(dense, self));
        MT_TRY(put_dense(dense, index, source, accumulate));
        MT_TRY(mt_cpu_assign(out, dense));
    }
    rc = 0;
fail:
    mt_tensor_clear(&dense);
    return rc;
}
