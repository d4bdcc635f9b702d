/* SPDX-License-Identifier: BSD-3-Clause */
/* Life of tensors: every tensor is made in this file, from pools. A new tensor has one backend key,
   no autograd metadata, and no shared version counter; the counter becomes shared when the first
   view or alias is made (see Note [Version counter] in the README). Geometry that changes later is
   in geometry.c. */
#include "core/tensor.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "core/dispatch.h"
#include "core/shape.h"

enum { KEEP_FREE = 32768 };

static mt_pool tensor_pool = MT_POOL_INIT(sizeof(mt_tensor), KEEP_FREE);
static mt_pool version_pool = MT_POOL_INIT(sizeof(mt_version), KEEP_FREE);

mt_wrapper_hooks mt_wrapper;
void (*mt_autograd_destroy)(mt_autograd *meta);
int (*mt_autograd_before_reshape)(mt_tensor *t, int ndim, const int64_t *size);

/* --- building blocks --- */

static MT_COLD int too_many_dims(int ndim)
{
    return mt_error_set(MT_ERR_RUNTIME, "tensors with more than %d dims are not supported, got %d", MT_MAX_DIM, ndim);
}

/* A tensor without storage and without sizes. On failure *out is NULL. */
static inline int new_header(mt_tensor **out, mt_dtype dtype, int ndim, mt_device device)
{
    void *p, *dims;
    mt_tensor *t;

    *out = NULL;
    if (MT_UNLIKELY(ndim > MT_MAX_DIM))
        return too_many_dims(ndim);
    if (MT_UNLIKELY(mt_pool_get(&p, &tensor_pool) < 0))
        return -1;
    t = p;
    t->size = t->inline_dims;
    if (MT_UNLIKELY(ndim > MT_INLINE_DIM)) {
        if (mt_malloc(&dims, 2 * (size_t)ndim * sizeof(int64_t)) < 0) {
            mt_pool_put(&tensor_pool, t);
            return -1;
        }
        t->size = dims;
    }
    t->stride = t->size + ndim;
    mt_refcount_init(&t->refs);
    t->dtype = (uint8_t)dtype;
    t->ndim = (uint8_t)ndim;
    t->device = device;
    t->flags = mt_thread.inference_mode ? MT_FLAG_INFERENCE : 0;
    t->keys = (uint16_t)MT_KEY_BIT((unsigned)device.type);
    t->own_version = 0;
    t->offset = 0;
    t->storage = NULL;
    t->version = NULL;
    t->autograd = NULL;
    t->base = NULL;
    t->py = NULL;
    *out = t;
    return 0;
}

static void free_header(mt_tensor *t)
{
    if (t->size != t->inline_dims)
        mt_free(t->size);
    mt_pool_put(&tensor_pool, t);
}

void mt_tensor_destroy(mt_tensor *t)
{
    if (t->autograd)
        mt_autograd_destroy(t->autograd);
    mt_storage_unref(t->storage);
    if (t->version && mt_refcount_dec(&t->version->refs) == 0)
        mt_pool_put(&version_pool, t->version);
    if (t->base)
        mt_tensor_unref(t->base);
    free_header(t);
}

/* The flags of a row-major tensor. Channels last at the same time needs dim 1 to have stride 1 or
   size 1. */
static inline void mark_contiguous(mt_tensor *t, int64_t numel)
{
    t->numel = numel;
    t->flags |= MT_FLAG_CONTIGUOUS | MT_FLAG_DENSE;
    if (MT_UNLIKELY((t->ndim == 4 || t->ndim == 5) && (t->size[1] == 1 || t->stride[1] == 1)))
        mt_tensor_refresh(t);
}

/* --- new memory --- */

typedef int storage_maker(mt_storage **out, size_t nbytes, mt_device device);

/* What needs a look: sizes that are zero, negative, or a product that overflows; complex halves. */
static MT_NOINLINE int odd_numel(int64_t *out, mt_tensor *t, const int64_t *size)
{
    static bool is_warned;

    if (t->dtype == MT_DTYPE_c32 &&
        mt_warn_once(&is_warned, MT_WARN_USER,
                     "ComplexHalf support is experimental and many operators don't support it yet.") < 0)
        return -1;
    if (mt_shape_numel(out, t->ndim, size, mt_tensor_itemsize(t)) < 0)
        return -1;
    if (t->ndim)
        memcpy(t->size, size, t->ndim * sizeof(size[0]));
    mt_shape_contiguous_strides(t->stride, t->ndim, size);
    return 0;
}

static inline int new_contiguous(mt_tensor **out, mt_dtype dtype, int ndim, const int64_t *size, mt_device device,
                                 storage_maker *make_storage)
{
    int64_t numel = 1, nbytes;
    bool is_odd = dtype == MT_DTYPE_c32;
    mt_tensor *t;

    *out = NULL;
    if (MT_UNLIKELY(new_header(&t, dtype, ndim, device) < 0))
        return -1;
    for (int i = ndim - 1; i >= 0; i--) {
        t->size[i] = size[i];
        t->stride[i] = numel;
        is_odd |= size[i] <= 0;
        is_odd |= mt_mul_overflow(numel, size[i], &numel);
    }
    if (MT_UNLIKELY(is_odd || mt_mul_overflow(numel, (int64_t)mt_dtype_size(dtype), &nbytes))) {
        if (odd_numel(&numel, t, size) < 0) {
            free_header(t);
            return -1;
        }
        nbytes = numel * (int64_t)mt_dtype_size(dtype);
    }
    if (MT_UNLIKELY(make_storage(&t->storage, (size_t)nbytes, device) < 0)) {
        free_header(t);
        return -1;
    }
    mark_contiguous(t, numel);
    *out = t;
    return 0;
}

int mt_tensor_new(mt_tensor **out, mt_dtype dtype, int ndim, const int64_t *size, mt_device device)
{
    return new_contiguous(out, dtype, ndim, size, device, mt_storage_new);
}

int mt_tensor_new_zeroed(mt_tensor **out, mt_dtype dtype, int ndim, const int64_t *size, mt_device device)
{
    return new_contiguous(out, dtype, ndim, size, device, mt_storage_new_zeroed);
}

/* Sizes and strides are copied before the layout flags are computed. */
static inline void set_dims(mt_tensor *t, const int64_t *size, const int64_t *stride)
{
    int64_t numel = 1;
    bool rows = true;

    for (int i = t->ndim - 1; i >= 0; i--) {
        t->size[i] = size[i];
        t->stride[i] = stride[i];
        rows &= stride[i] == numel;
        numel *= size[i];
    }
    if (rows && numel)
        mark_contiguous(t, numel);
    else
        mt_tensor_refresh(t);
}

int mt_tensor_new_strided(mt_tensor **out, mt_dtype dtype, int ndim, const int64_t *size, const int64_t *stride,
                          mt_device device)
{
    size_t nbytes;
    int64_t numel;
    mt_tensor *t;

    *out = NULL;
    if (mt_shape_numel(&numel, ndim, size, 1) < 0 ||
        mt_shape_storage_bytes(&nbytes, ndim, size, stride, 0, mt_dtype_size(dtype)) < 0 ||
        new_header(&t, dtype, ndim, device) < 0)
        return -1;
    if (mt_storage_new(&t->storage, nbytes, device) < 0) {
        free_header(t);
        return -1;
    }
    set_dims(t, size, stride);
    *out = t;
    return 0;
}

int mt_tensor_new_like(mt_tensor **out, const mt_tensor *like, mt_dtype dtype)
{
    int64_t stride[MT_MAX_DIM];

    if (mt_tensor_has_plain_strides(like))
        return mt_tensor_new(out, dtype, like->ndim, like->size, like->device);
    mt_shape_strides_like(stride, like);
    return mt_tensor_new_strided(out, dtype, like->ndim, like->size, stride, like->device);
}

/* --- over existing memory --- */

int mt_tensor_from_storage(mt_tensor **out, mt_storage *storage, mt_dtype dtype, int ndim, const int64_t *size,
                           const int64_t *stride, int64_t offset)
{
    int64_t numel;
    mt_tensor *t;

    *out = NULL;
    if (mt_shape_numel(&numel, ndim, size, 1) < 0 ||
        mt_storage_check_bounds(storage, dtype, ndim, size, stride, offset) < 0 ||
        new_header(&t, dtype, ndim, storage->device) < 0)
        return -1;
    t->storage = mt_storage_ref(storage);
    t->offset = offset;
    set_dims(t, size, stride);
    *out = t;
    return 0;
}

/* The counter of t as a shared object. */
static int share_version(mt_version **out, mt_tensor *t)
{
    void *p;

    if (!t->version) {
        if (mt_pool_get(&p, &version_pool) < 0)
            return -1;
        t->version = p;
        mt_refcount_init(&t->version->refs);
        t->version->value = t->own_version;
    }
    mt_refcount_inc(&t->version->refs);
    *out = t->version;
    return 0;
}

/* What views and aliases take over from their source. */
enum { INHERITED = MT_FLAG_CONJ | MT_FLAG_NEG | MT_FLAG_INFERENCE | MT_FLAG_ADOPTED };

static MT_ALWAYS_INLINE int new_sharing(mt_tensor **out, mt_tensor *t, mt_dtype dtype, int ndim, bool with_version)
{
    mt_tensor *v;

    *out = NULL;
    if (new_header(&v, dtype, ndim, t->device) < 0)
        return -1;
    if (with_version && share_version(&v->version, t) < 0) {
        free_header(v);
        return -1;
    }
    v->flags = t->flags & INHERITED;
    v->storage = mt_storage_ref(t->storage);
    *out = v;
    return 0;
}

/* Why the new view of t may not be changed in place while gradients are recorded. */
static uint16_t view_guards(const mt_tensor *t)
{
    if (t->flags & MT_FLAG_INFERENCE)
        return 0;
    return (uint16_t)((t->flags & MT_FLAG_GUARDED_VIEW) | (mt_thread.inference_mode ? MT_FLAG_INFERENCE_VIEW
                                                           : !mt_thread.grad_mode   ? MT_FLAG_NO_GRAD_VIEW
                                                                                    : 0));
}

int mt_tensor_new_view_dtype(mt_tensor **out, mt_tensor *t, mt_dtype dtype, int ndim, const int64_t *size,
                             const int64_t *stride, int64_t offset)
{
    mt_tensor *v;

    *out = NULL;
    if (new_sharing(&v, t, dtype, ndim, true) < 0)
        return -1;
    v->flags |= MT_FLAG_VIEW | view_guards(t);
    v->base = mt_tensor_ref(t->base ? t->base : t);
    v->own_version = v->version->value;
    v->offset = offset;
    set_dims(v, size, stride);
    *out = v;
    return 0;
}

int mt_tensor_new_view(mt_tensor **out, mt_tensor *t, int ndim, const int64_t *size, const int64_t *stride,
                       int64_t offset)
{
    return mt_tensor_new_view_dtype(out, t, (mt_dtype)t->dtype, ndim, size, stride, offset);
}

int mt_tensor_new_alias(mt_tensor **out, mt_tensor *t, bool share)
{
    mt_tensor *a;

    *out = NULL;
    if (new_sharing(&a, t, (mt_dtype)t->dtype, t->ndim, share) < 0)
        return -1;
    a->offset = t->offset;
    set_dims(a, t->size, t->stride);
    *out = a;
    return 0;
}

/* --- numbers --- */

int mt_tensor_from_scalar(mt_tensor **out, mt_scalar s)
{
    mt_dtype exact = s.category == MT_CAT_FLOAT     ? MT_DTYPE_f64
                     : s.category == MT_CAT_COMPLEX ? MT_DTYPE_c128
                                                    : mt_scalar_dtype(s);

    if (mt_tensor_full_0d(out, s, exact, MT_CPU) < 0)
        return -1;
    (*out)->flags |= MT_FLAG_WRAPPED_NUMBER;
    return 0;
}

int mt_tensor_full_0d(mt_tensor **out, mt_scalar s, mt_dtype dtype, mt_device device)
{
    MT_ALIGNED(16) char value[16];
    mt_tensor *t;

    *out = NULL;
    if (s.is_unsigned && dtype != MT_DTYPE_u64 && mt_dtype_is_integral(dtype, false))
        return mt_error_set(MT_ERR_RUNTIME, "value cannot be converted to type int64_t without overflow");
    if (mt_tensor_new(&t, dtype, 0, NULL, device) < 0)
        return -1;
    if (device.type == MT_DEVICE_CPU) {
        mt_scalar_store(t->storage->data, dtype, s);
    } else if (device.type != MT_DEVICE_META) {
        mt_scalar_store(value, dtype, s);
        if (mt_device_table[device.type]->copy_bytes(t->storage->data, device, value, MT_CPU, mt_dtype_size(dtype)) <
            0) {
            mt_tensor_unref(t);
            return -1;
        }
    }
    *out = t;
    return 0;
}
