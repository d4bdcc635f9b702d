/* SPDX-License-Identifier: BSD-3-Clause */
/* Geometry that changes: layout flags, resize_, set_, and the read of a single element. A failed
   change leaves the tensor as it was: memory is obtained first, then everything is written. */
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "core/op.h"
#include "core/shape.h"
#include "core/tensor.h"

/* --- layout flags --- */

static bool is_contiguous(const mt_tensor *t)
{
    int64_t step = 1;

    if (t->numel == 0)
        return true;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->size[i] == 1)
            continue;
        if (t->stride[i] != step)
            return false;
        step *= t->size[i];
    }
    return true;
}

/* N H W C, or N D H W C: dim 1 is the innermost. */
static bool is_channels_last(const mt_tensor *t)
{
    int64_t step = 1;

    for (int k = 0; k < t->ndim; k++) {
        int i = k == 0 ? 1 : k == t->ndim - 1 ? 0 : t->ndim - k;

        if (t->size[i] == 1)
            continue;
        if (t->stride[i] != step)
            return false;
        step *= t->size[i];
    }
    return true;
}

/* Some order of the dims makes it contiguous: each step of the walk finds the dim with the stride
   expected. */
static bool is_dense(const mt_tensor *t)
{
    uint64_t done[(MT_MAX_DIM + 63) / 64] = {0};
    int64_t step = 1;

    for (int k = 0; k < t->ndim; k++) {
        int found = -1;

        for (int i = 0; i < t->ndim && found < 0; i++)
            if (t->size[i] != 1 && !(done[i / 64] >> (i % 64) & 1) && t->stride[i] == step)
                found = i;
        if (found < 0)
            break;
        done[found / 64] |= UINT64_C(1) << (found % 64);
        step *= t->size[found];
    }
    return step == t->numel;
}

void mt_tensor_refresh(mt_tensor *t)
{
    enum { LAYOUT = MT_FLAG_CONTIGUOUS | MT_FLAG_DENSE | MT_FLAG_CHANNELS_LAST | MT_FLAG_CHANNELS_LAST_3D };
    uint16_t flags = t->flags & (uint16_t)~LAYOUT;
    int64_t numel = 1;
    bool plain = true;

    for (int i = t->ndim - 1; i >= 0; i--) {
        plain &= t->stride[i] == numel;
        numel *= t->size[i];
    }
    t->numel = numel;
    if (plain && t->ndim < 4 && numel) {
        t->flags = flags | MT_FLAG_CONTIGUOUS | MT_FLAG_DENSE;
        return;
    }
    if (is_contiguous(t))
        flags |= MT_FLAG_CONTIGUOUS | MT_FLAG_DENSE;
    if (t->ndim == 4 && is_channels_last(t))
        flags |= MT_FLAG_CHANNELS_LAST | MT_FLAG_DENSE;
    if (t->ndim == 5 && is_channels_last(t))
        flags |= MT_FLAG_CHANNELS_LAST_3D | MT_FLAG_DENSE;
    if (!(flags & MT_FLAG_DENSE) && is_dense(t))
        flags |= MT_FLAG_DENSE;
    t->flags = flags;
}

void mt_tensor_mark_requires_grad(mt_tensor *t, bool on)
{
    if (on) {
        t->flags |= MT_FLAG_REQUIRES_GRAD;
        t->keys |= MT_KEY_BIT(MT_KEY_AUTOGRAD);
    } else {
        t->flags &= (uint16_t)~MT_FLAG_REQUIRES_GRAD;
        t->keys &= (uint16_t)~MT_KEY_BIT(MT_KEY_AUTOGRAD);
    }
}

/* --- changes --- */

/* Room for ndim sizes and strides; *out is NULL when the inline room serves. */
static int new_dims(int64_t **out, int ndim)
{
    void *p = NULL;

    *out = NULL;
    if (ndim > MT_MAX_DIM)
        return mt_error_set(MT_ERR_RUNTIME, "tensors with more than %d dims are not supported, got %d", MT_MAX_DIM,
                            ndim);
    if (ndim > MT_INLINE_DIM && mt_malloc(&p, 2 * (size_t)ndim * sizeof(int64_t)) < 0)
        return -1;
    *out = p;
    return 0;
}

/* `size` and `stride` may point into the tensor itself. */
static void put_dims(mt_tensor *t, int64_t *dims, int ndim, const int64_t *size, const int64_t *stride, int64_t offset)
{
    int64_t *old = t->size, room[2 * MT_INLINE_DIM], *to = dims ? dims : room;

    memcpy(to, size, (size_t)ndim * sizeof(int64_t));
    memcpy(to + ndim, stride, (size_t)ndim * sizeof(int64_t));
    if (!dims) {
        to = t->inline_dims;
        memcpy(to, room, 2 * (size_t)ndim * sizeof(int64_t));
    }
    t->size = to;
    t->stride = to + ndim;
    t->ndim = (uint8_t)ndim;
    t->offset = offset;
    if (old != t->inline_dims)
        mt_free(old);
    mt_tensor_refresh(t);
}

int mt_tensor_set_geometry(mt_tensor *t, int ndim, const int64_t *size, const int64_t *stride, int64_t offset)
{
    int64_t *dims;

    if (MT_UNLIKELY(t->autograd != NULL) && mt_autograd_before_reshape(t, ndim, size) < 0)
        return -1;
    if (new_dims(&dims, ndim) < 0)
        return -1;
    put_dims(t, dims, ndim, size, stride, offset);
    return 0;
}

int mt_tensor_resize(mt_tensor *t, int ndim, const int64_t *size)
{
    int64_t stride[MT_MAX_DIM], *dims, numel;
    size_t nbytes, itemsize = mt_tensor_itemsize(t);

    if (mt_shape_equal(ndim, size, t->ndim, t->size))
        return 0;
    if (mt_shape_numel(&numel, ndim, size, itemsize) < 0 || new_dims(&dims, ndim) < 0)
        return -1;
    mt_shape_contiguous_strides(stride, ndim, size);
    if (mt_shape_storage_bytes(&nbytes, ndim, size, stride, t->offset, itemsize) < 0 ||
        (nbytes > t->storage->nbytes && mt_storage_resize(t->storage, nbytes) < 0)) {
        mt_free(dims);
        return -1;
    }
    put_dims(t, dims, ndim, size, stride, t->offset);
    return 0;
}

int mt_tensor_set_storage(mt_tensor *t, mt_storage *storage)
{
    mt_storage *old = t->storage;

    if (storage == old)
        return 0;
    if (old->pins)
        return mt_error_set(MT_ERR_RUNTIME, "Trying to replace storage that is in use elsewhere");
    t->storage = mt_storage_ref(storage);
    t->device = storage->device;
    mt_storage_unref(old);
    return 0;
}

/* --- bounds, single elements --- */

int mt_storage_check_bounds(const mt_storage *s, mt_dtype dtype, int ndim, const int64_t *size, const int64_t *stride,
                            int64_t offset)
{
    mt_shape_text sizes, strides;
    size_t nbytes;

    if (offset < 0)
        return mt_error_set(MT_ERR_RUNTIME, "Tensor: invalid storage offset %lld", (long long)offset);
    if (mt_shape_storage_bytes(&nbytes, ndim, size, stride, offset, mt_dtype_size(dtype)) < 0)
        return -1;
    if (MT_LIKELY(nbytes <= s->nbytes))
        return 0;
    return mt_error_set(MT_ERR_RUNTIME,
                        "setStorage: sizes %s, strides %s, storage offset %lld, and itemsize %zu requiring a "
                        "storage size of %zu are out of bounds for storage of size %zu",
                        mt_shape_format(&sizes, size, ndim), mt_shape_format(&strides, stride, ndim), (long long)offset,
                        mt_dtype_size(dtype), nbytes, s->nbytes);
}

int mt_tensor_item(mt_scalar *out, const mt_tensor *t)
{
    MT_ALIGNED(16) char value[16];
    const char *data = value;

    if (t->numel != 1)
        return mt_error_set(MT_ERR_RUNTIME, "a Tensor with %lld elements cannot be converted to Scalar",
                            (long long)t->numel);
    if (t->device.type == MT_DEVICE_META)
        return mt_error_set(MT_ERR_RUNTIME, "Tensor.item() cannot be called on meta tensors");
    if (t->dtype == MT_DTYPE_f4e2m1fnx2) /* two numbers in one element */
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"_local_scalar_dense_cpu\" not implemented for '%s'",
                            mt_dtype_table[t->dtype].legacy);
    if (mt_tensor_check_bounds(t) < 0)
        return -1;
    if (t->device.type == MT_DEVICE_CPU)
        data = mt_tensor_const_data(t);
    else if (mt_device_table[t->device.type]->copy_bytes(value, MT_CPU, mt_tensor_const_data(t), t->device,
                                                         mt_tensor_itemsize(t)) < 0)
        return -1;
    *out = mt_scalar_load(data, (mt_dtype)t->dtype);
    if (out->category == MT_CAT_COMPLEX) {
        if (t->flags & MT_FLAG_CONJ)
            out->v.c.im = -out->v.c.im;
        if (t->flags & MT_FLAG_NEG)
            *out = mt_scalar_from_complex(-out->v.c.re, -out->v.c.im);
    } else if (t->flags & MT_FLAG_NEG) {
        if (out->category == MT_CAT_FLOAT)
            out->v.d = -out->v.d;
        else
            out->v.i = (int64_t)(0 - (uint64_t)out->v.i);
    }
    return 0;
}
