/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between tensors below the dispatcher: with broadcast, cast, and the lazy conjugate and
   negative bits. They serve temporaries of out= arguments, contiguous arguments and whatever else
   must not be recorded; the op copy_ does the same through the dispatcher. */
#include <string.h>

#include "core/iter.h"
#include "core/shape.h"
#include "core/tensor.h"

int (*mt_tensor_assign_hook)(mt_tensor *dst, const mt_tensor *src, unsigned parts);

enum { LAZY = MT_FLAG_CONJ | MT_FLAG_NEG };

static void cast_loop(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    (*(mt_cast_fn *const *)params)(data[0], stride[0], data[1], stride[1], n);
}

/* --- flipping signs: params is a mask of 1 (real part) and 2 (imaginary part) --- */

static void flip_f32_pairs(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    int parts = *(const int *)params;

    for (int64_t i = 0; i < n; i++) {
        mt_c64 *x = (mt_c64 *)(data[0] + i * stride[0]);

        x->re = parts & 1 ? -x->re : x->re;
        x->im = parts & 2 ? -x->im : x->im;
    }
}

static void flip_f64_pairs(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    int parts = *(const int *)params;

    for (int64_t i = 0; i < n; i++) {
        mt_c128 *x = (mt_c128 *)(data[0] + i * stride[0]);

        x->re = parts & 1 ? -x->re : x->re;
        x->im = parts & 2 ? -x->im : x->im;
    }
}

static void flip_f32(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    (void)params;
    for (int64_t i = 0; i < n; i++) {
        float *x = (float *)(data[0] + i * stride[0]);

        *x = -*x;
    }
}

static void flip_f64(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    (void)params;
    for (int64_t i = 0; i < n; i++) {
        double *x = (double *)(data[0] + i * stride[0]);

        *x = -*x;
    }
}

/* The same for halves: the sign is the top bit. */
static void flip_f16_pairs(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    int parts = *(const int *)params;

    for (int64_t i = 0; i < n; i++) {
        mt_c32 *x = (mt_c32 *)(data[0] + i * stride[0]);

        x->re ^= parts & 1 ? 0x8000 : 0;
        x->im ^= parts & 2 ? 0x8000 : 0;
    }
}

static void flip_f16(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    (void)params;
    for (int64_t i = 0; i < n; i++)
        *(uint16_t *)(data[0] + i * stride[0]) ^= 0x8000;
}

/* Applies lazy bits to the elements of t. Only views of complex tensors have them, so six dtypes
   are all. */
static int apply_bits(mt_tensor *t, unsigned bits)
{
    int parts = (bits & MT_FLAG_NEG ? 3 : 0) ^ (bits & MT_FLAG_CONJ ? 2 : 0);
    mt_loop_fn *loop;
    mt_iter it;

    switch ((mt_dtype)t->dtype) {
    case MT_DTYPE_c32:
        loop = flip_f16_pairs;
        break;
    case MT_DTYPE_f16:
        loop = flip_f16;
        break;
    case MT_DTYPE_c64:
        loop = flip_f32_pairs;
        break;
    case MT_DTYPE_c128:
        loop = flip_f64_pairs;
        break;
    case MT_DTYPE_f32:
        loop = flip_f32;
        break;
    case MT_DTYPE_f64:
        loop = flip_f64;
        break;
    default:
        return 0;
    }
    if (!(parts & (mt_dtype_is_complex((mt_dtype)t->dtype) ? 3 : 1)) || t->numel == 0 ||
        t->device.type == MT_DEVICE_META)
        return 0;
    if (t->device.type != MT_DEVICE_CPU)
        return mt_tensor_assign_hook(t, t, (unsigned)parts);
    if (mt_iter_build(&it, &t, 1, 1, t->ndim, t->size) < 0)
        return -1;
    mt_iter_run(&it, loop, &parts, NULL, 0.5);
    return 0;
}

/* --- copies --- */

static int assign_cpu(mt_tensor *dst, const mt_tensor *src)
{
    mt_tensor *operands[2] = {dst, (mt_tensor *)(uintptr_t)src};
    mt_cast_fn *cast;
    mt_iter it;

    if (dst->dtype == src->dtype && (dst->flags & src->flags & MT_FLAG_CONTIGUOUS) && dst->numel == src->numel) {
        memmove(mt_tensor_mutable_data(dst), mt_tensor_const_data(src), (size_t)dst->numel * mt_tensor_itemsize(dst));
        return 0;
    }
    if (mt_iter_build(&it, operands, 2, 1, dst->ndim, dst->size) < 0)
        return -1;
    cast = mt_cast_table[src->dtype][dst->dtype];
    mt_iter_run(&it, cast_loop, &cast, NULL, 1.0);
    return 0;
}

static int assign_raw(mt_tensor *dst, const mt_tensor *src)
{
    if (dst->device.type == MT_DEVICE_META || dst->numel == 0)
        return 0;
    if (!mt_cast_exists((mt_dtype)src->dtype, (mt_dtype)dst->dtype))
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"copy_kernel\" not implemented for '%s'",
                            mt_dtype_table[MT_DTYPE_f4e2m1fnx2].legacy);
    if (src->device.type == MT_DEVICE_META)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "Cannot copy out of meta tensor; no data!");
    if (dst->device.type == MT_DEVICE_CPU && src->device.type == MT_DEVICE_CPU)
        return assign_cpu(dst, src);
    if (!mt_tensor_assign_hook)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "copies between these devices are not available");
    return mt_tensor_assign_hook(dst, src, 0);
}

int mt_tensor_assign(mt_tensor *dst, const mt_tensor *src)
{
    int rc = -1;
    mt_tensor *resolved = NULL;

    MT_TRY(mt_tensor_own(dst));
    MT_TRY(mt_tensor_check_bounds(src));
    MT_REQUIRE(mt_shape_is_broadcastable(src->ndim, src->size, dst->ndim, dst->size), MT_ERR_INTERNAL,
               "assignment of a tensor that does not broadcast to its destination");
    if (src->flags & LAZY) {
        MT_TRY(mt_tensor_materialize(&resolved, src));
        src = resolved;
    }
    MT_TRY(assign_raw(dst, src));
    if (dst->flags & LAZY)
        MT_TRY(apply_bits(dst, dst->flags & LAZY));
    rc = 0;
fail:
    mt_tensor_clear(&resolved);
    return rc;
}

int mt_tensor_materialize(mt_tensor **out, const mt_tensor *src)
{
    int rc = -1;
    mt_tensor *t = NULL;

    *out = NULL;
    MT_TRY(mt_tensor_check_bounds(src));
    MT_TRY(mt_tensor_new(&t, (mt_dtype)src->dtype, src->ndim, src->size, src->device));
    MT_TRY(assign_raw(t, src));
    MT_TRY(apply_bits(t, src->flags & LAZY));
    *out = mt_tensor_move(&t);
    rc = 0;
fail:
    mt_tensor_clear(&t);
    return rc;
}
