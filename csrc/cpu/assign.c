/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between tensors, in parallel when large. Contiguous operands of one dtype are one memcpy, others of one dtype
   go through mt_cpu_copy_strided (rows, tiles). Of two dtypes, contiguous ones are one cast loop; where the memory orders
   differ so much that reading would jump, the source is first brought into the order of the destination. */
#include "cpu/cpu_internal.h"
#include "cpu/assign.h"

#include <string.h>

#include "base/parallel.h"
#include "core/iter.h"
#include "core/shape.h"
#include "cpu/copy.h"
#include "kernels.h"

enum { SMALL_BYTES = 1 << 15, TRANSPOSE_BYTES = 1 << 14 };

typedef struct cast_job {
    mt_cast_fn *cast;
    char *dst;
    const char *src;
    int64_t dst_size, src_size;
} cast_job;

static void cast_range(void *ctx, int64_t begin, int64_t end)
{
    const cast_job *job = ctx;

    job->cast(job->dst + begin * job->dst_size, job->dst_size, job->src + begin * job->src_size, job->src_size,
              end - begin);
}

static void cast_loop(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    mt_cast_fn *cast = *(mt_cast_fn *const *)params;
    int64_t step = stride[0] > stride[1] ? stride[0] : stride[1], m;
    int64_t block = MT_PAGE / (step < 1 ? 1 : step > 16 ? 16 : step);

    for (int64_t done = 0; done < n; done += m) { /* page by page */
        char *to = data[0] + done * stride[0];
        const char *from = data[1] + done * stride[1];

        m = n - done < 2 * block ? n - done : block;
        mt_cpu_touch_page(to, m * stride[0], true);
        mt_cpu_touch_page(from, m * stride[1], false);
        cast(to, stride[0], from, stride[1], m);
    }
}

static void copy_range(void *ctx, int64_t begin, int64_t end)
{
    const cast_job *job = ctx;

    memcpy(job->dst + begin, job->src + begin, (size_t)(end - begin));
}

/* Both are runs of n elements. */
static void assign_dense(mt_tensor *dst, const mt_tensor *src, int64_t n)
{
    cast_job job = {mt_cast_table[src->dtype][dst->dtype], mt_tensor_mutable_data(dst), mt_tensor_const_data(src),
                    (int64_t)mt_tensor_itemsize(dst), (int64_t)mt_tensor_itemsize(src)};

    if (job.dst == job.src && dst->dtype == src->dtype)
        return;
    if (dst->dtype != src->dtype)
        mt_parallel_for(n, 0.02 * (double)(job.dst_size + job.src_size), 4096, cast_range, &job);
    else if (n * job.dst_size <= SMALL_BYTES)
        memcpy(job.dst, job.src, (size_t)(n * job.dst_size));
    else
        mt_parallel_for(n * job.dst_size, 0.025, 4096, copy_range, &job);
}

/* Byte strides of t along the dims of a shape it broadcasts to. */
static void aligned_strides(int64_t *out, const mt_tensor *t, int ndim, const int64_t *size)
{
    int64_t itemsize = (int64_t)mt_tensor_itemsize(t);

    for (int i = 0; i < ndim; i++) {
        int d = i - (ndim - t->ndim);

        out[i] = d < 0 || (t->size[d] == 1 && size[i] != 1) ? 0 : t->stride[d] * itemsize;
    }
}

static void assign_same_dtype(mt_tensor *dst, const mt_tensor *src)
{
    int64_t to[MT_MAX_DIM], from[MT_MAX_DIM];

    aligned_strides(to, dst, dst->ndim, dst->size);
    aligned_strides(from, src, dst->ndim, dst->size);
    mt_cpu_copy_strided(mt_tensor_mutable_data(dst), to, mt_tensor_const_data(src), from, dst->size, dst->ndim,
                        mt_tensor_itemsize(dst));
}

/* Is dst's fastest dim one along which src jumps, while src has a faster one? */
static bool is_transposed(const mt_tensor *dst, const mt_tensor *src)
{
    int64_t size = (int64_t)mt_tensor_itemsize(src);
    int fast = -1;
    bool other = false;

    if (dst->ndim != src->ndim || dst->numel * size < TRANSPOSE_BYTES)
        return false;
    for (int i = 0; i < dst->ndim; i++)
        if (dst->size[i] > 1 && (fast < 0 || dst->stride[i] < dst->stride[fast]))
            fast = i;
    for (int i = 0; i < src->ndim; i++)
        other |= i != fast && src->size[i] >= 4 && src->stride[i] == 1;
    return other && src->stride[fast] > 8;
}

static int assign_cast(mt_tensor *dst, const mt_tensor *src)
{
    mt_tensor *operands[2] = {dst, (mt_tensor *)(uintptr_t)src}, *ordered = NULL;
    mt_cast_fn *cast = mt_cast_table[src->dtype][dst->dtype];
    int64_t stride[MT_MAX_DIM];
    mt_iter it;
    int rc = -1;

    if (is_transposed(dst, src)) {
        mt_shape_strides_like(stride, dst);
        MT_TRY(mt_tensor_new_strided(&ordered, (mt_dtype)src->dtype, dst->ndim, dst->size, stride, dst->device));
        assign_same_dtype(ordered, src);
        operands[1] = ordered;
    }
    MT_TRY(mt_iter_build(&it, operands, 2, 1, dst->ndim, dst->size));
    mt_iter_run(&it, cast_loop, &cast, NULL, 0.5);
    rc = 0;
fail:
    mt_tensor_clear(&ordered);
    return rc;
}

int mt_cpu_assign(mt_tensor *dst, const mt_tensor *src)
{
    uint16_t both = dst->flags & src->flags;

    if (dst->numel == 0)
        return 0;
    if (dst->numel == src->numel &&
        ((both & MT_FLAG_CONTIGUOUS) ||
         ((both & MT_FLAG_DENSE) && mt_shape_equal(dst->ndim, dst->stride, src->ndim, src->stride)))) {
        assign_dense(dst, src, dst->numel);
        return 0;
    }
    if (dst->dtype != src->dtype)
        return assign_cast(dst, src);
    assign_same_dtype(dst, src);
    return 0;
}

/* --- one value --- */

static void fill(mt_tensor *out, const void *element)
{
    int64_t stride[MT_MAX_DIM], zero[MT_MAX_DIM];

    if (out->numel == 0)
        return;
    if (out->flags & MT_FLAG_DENSE) {
        mt_cpu_fill(mt_tensor_mutable_data(out), element, mt_tensor_itemsize(out), out->numel);
        return;
    }
    aligned_strides(stride, out, out->ndim, out->size);
    memset(zero, 0, out->ndim * sizeof(zero[0]));
    mt_cpu_copy_strided(mt_tensor_mutable_data(out), stride, element, zero, out->size, out->ndim,
                        mt_tensor_itemsize(out));
}

int mt_cpu_fill_scalar(mt_tensor *self, mt_scalar value)
{
    MT_ALIGNED(16) char element[16];

    if (mt_scalar_store_checked(element, (mt_dtype)self->dtype, value) < 0)
        return -1;
    fill(self, element);
    return 0;
}

int mt_cpu_zero(mt_tensor *self)
{
    static const char element[16];

    fill(self, element);
    return 0;
}
