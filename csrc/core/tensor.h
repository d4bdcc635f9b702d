/* SPDX-License-Identifier: BSD-3-Clause */
/* The tensor: geometry over a storage, dtype, device, key set, version counter, autograd slot and
   Python slot. See the README of this folder for the invariants.

   While C holds more than one reference to a tensor that has a Python wrapper, the tensor owns one
   Python reference to it, so the wrapper stays the same object; see Note [Wrapper identity] in
   bindings/README.md. */
#ifndef MT_CORE_TENSOR_H
#define MT_CORE_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/refcount.h"
#include "core/device.h"
#include "core/dtype.h"
#include "core/scalar.h"
#include "core/storage.h"

#define MT_MAX_DIM 128
#define MT_INLINE_DIM 5

typedef struct mt_autograd mt_autograd; /* autograd/node.h */

/* Flags kept right by mt_tensor_refresh and its callers. */
enum {
    MT_FLAG_CONTIGUOUS = 1, /* row major; also when numel is 0 or 1 as PyTorch defines it */
    /* non-overlapping and dense: a permutation of a contiguous tensor */
    MT_FLAG_DENSE = 2,
    MT_FLAG_CHANNELS_LAST = 4, /* 4-D, contiguous in N H W C order */
    MT_FLAG_CHANNELS_LAST_3D = 8,
    MT_FLAG_WRAPPED_NUMBER = 16, /* 0-d, made of a Python number */
    MT_FLAG_REQUIRES_GRAD = 32,  /* leaf flag or has a grad_fn; mirrors the AUTOGRAD key */
    MT_FLAG_VIEW = 64,           /* base is set, or a view that does not track it */
    MT_FLAG_CONJ = 128,
    MT_FLAG_NEG = 256,
    MT_FLAG_INFERENCE = 512,
    MT_FLAG_MULTI_VIEW = 1024,     /* output of split, unbind, ... */
    MT_FLAG_NO_GRAD_VIEW = 2048,   /* made in no_grad mode */
    MT_FLAG_INFERENCE_VIEW = 4096, /* view of a normal tensor, made in inference mode */
    MT_FLAG_CUSTOM_VIEW = 8192,    /* made inside a custom Function */
    /* An argument of the function of a transform, which may write it; views inherit it. Two bits, for the depth of the
       transform counted modulo three: 1, 2, 3; see mt_tensor_adopt. */
    MT_FLAG_ADOPTED = 3 * 16384,
    /* why a view may not be changed in place while gradients are recorded; views of such views
       inherit it */
    MT_FLAG_GUARDED_VIEW = MT_FLAG_MULTI_VIEW | MT_FLAG_NO_GRAD_VIEW | MT_FLAG_INFERENCE_VIEW | MT_FLAG_CUSTOM_VIEW,
};

typedef struct mt_version {
    mt_refcount refs;
    uint32_t value;
} mt_version;

typedef struct mt_tensor {
    mt_refcount refs;
    uint8_t dtype; /* mt_dtype */
    uint8_t ndim;
    mt_device device;
    uint16_t flags;
    uint16_t keys; /* bit set over mt_key: one backend, AUTOGRAD when it requires grad */
    /* used while `version` is NULL; of a view: the version at which its history was right */
    uint32_t own_version;
    int64_t numel;
    int64_t offset;         /* elements from the start of the storage */
    mt_storage *storage;    /* never NULL; meta tensors have a storage without memory */
    mt_version *version;    /* shared with views and detached aliases; made when first shared */
    mt_autograd *autograd;  /* NULL for a tensor without gradient needs */
    struct mt_tensor *base; /* owned; the root of a view, NULL otherwise */
    void *py;               /* the wrapper, borrowed or owned (see above) */
    int64_t *size;          /* ndim sizes, then ndim strides (in elements) behind them; */
    int64_t *stride;        /* inline_dims or one heap block */
    int64_t inline_dims[2 * MT_INLINE_DIM];
} mt_tensor;

/* --- lifetime --- */

extern void (*mt_autograd_destroy)(mt_autograd *meta); /* installed by autograd */
/* Likewise: t, which has metadata, is about to get another shape. */
extern int (*mt_autograd_before_reshape)(mt_tensor *t, int ndim, const int64_t *size);

void mt_tensor_destroy(mt_tensor *t);

static inline mt_tensor *mt_tensor_ref(mt_tensor *t)
{
    if (mt_refcount_inc(&t->refs) == 2 && t->py)
        mt_wrapper.incref(t->py);
    return t;
}

static inline void mt_tensor_unref(mt_tensor *t)
{
    uint32_t left;

    if (!t)
        return;
    left = mt_refcount_dec(&t->refs);
    if (left == 0)
        mt_tensor_destroy(t);
    else if (left == 1 && t->py)
        mt_wrapper.decref(t->py);
}

static inline void mt_tensor_clear(mt_tensor **t)
{
    mt_tensor *old = *t;

    *t = NULL;
    mt_tensor_unref(old);
}

static inline mt_tensor *mt_tensor_move(mt_tensor **t)
{
    mt_tensor *old = *t;

    *t = NULL;
    return old;
}

/* Contiguous, uninitialised. RuntimeError for negative sizes and for sizes whose product
   overflows. */
int mt_tensor_new(mt_tensor **out, mt_dtype dtype, int ndim, const int64_t *size, mt_device device);
int mt_tensor_new_zeroed(mt_tensor **out, mt_dtype dtype, int ndim, const int64_t *size, mt_device device);
/* Strides given (in elements, not negative): storage just large enough. */
int mt_tensor_new_strided(mt_tensor **out, mt_dtype dtype, int ndim, const int64_t *size, const int64_t *stride,
                          mt_device device);
/* Strides follow the memory order of `like` (dense: the same permutation; else contiguous in its
   stride order). */
int mt_tensor_new_like(mt_tensor **out, const mt_tensor *like, mt_dtype dtype);
/* Geometry over an existing storage, not a view of any tensor. Bounds are checked
   (RuntimeError). */
int mt_tensor_from_storage(mt_tensor **out, mt_storage *storage, mt_dtype dtype, int ndim, const int64_t *size,
                           const int64_t *stride, int64_t offset);
/* A view: shares storage and version; base is the root base of `t`. stride and offset as for
   as_strided. This is the only maker of views. Autograd is not recorded here. */
int mt_tensor_new_view(mt_tensor **out, mt_tensor *t, int ndim, const int64_t *size, const int64_t *stride,
                       int64_t offset);
/* The same with another dtype (view_as_real, view(dtype)): stride and offset count elements of that
   dtype. */
int mt_tensor_new_view_dtype(mt_tensor **out, mt_tensor *t, mt_dtype dtype, int ndim, const int64_t *size,
                             const int64_t *stride, int64_t offset);
/* An alias that is no view: shares storage; with the version counter (detach) or without
   (.data). */
int mt_tensor_new_alias(mt_tensor **out, mt_tensor *t, bool share_version);
/* 0-d CPU tensor that holds a number exactly (bool, int64, float64, complex128), flagged as a
   wrapped number: promotion counts it as a number of its category, whatever its dtype. */
int mt_tensor_from_scalar(mt_tensor **out, mt_scalar s);
/* The same with a dtype of your choice and no flag. */
int mt_tensor_full_0d(mt_tensor **out, mt_scalar s, mt_dtype dtype, mt_device device);

/* --- accessors --- */

static inline char *mt_tensor_mutable_data(mt_tensor *t)
{
    return (char *)mt_storage_mutable_data(t->storage) + t->offset * (int64_t)mt_dtype_size((mt_dtype)t->dtype);
}

static inline const char *mt_tensor_const_data(const mt_tensor *t)
{
    return (const char *)mt_storage_const_data(t->storage) + t->offset * (int64_t)mt_dtype_size((mt_dtype)t->dtype);
}

static inline bool mt_tensor_is_contiguous(const mt_tensor *t)
{
    return (t->flags & MT_FLAG_CONTIGUOUS) != 0;
}

/* Strides exactly as a new contiguous tensor of these sizes has them. A contiguous tensor may have
   others in dims of size 1 and when it is empty; what copies a layout keeps even those. */
static inline bool mt_tensor_has_plain_strides(const mt_tensor *t)
{
    int64_t step = 1;

    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->stride[i] != step)
            return false;
        step *= t->size[i] > 1 ? t->size[i] : 1;
    }
    return true;
}

/* A view requires grad when its base does, even when the base began to after the view was made. */
static inline bool mt_tensor_requires_grad(const mt_tensor *t)
{
    return (t->flags & MT_FLAG_REQUIRES_GRAD) || (t->base && (t->base->flags & MT_FLAG_REQUIRES_GRAD));
}

static inline bool mt_tensor_is_wrapped_number(const mt_tensor *t)
{
    return (t->flags & MT_FLAG_WRAPPED_NUMBER) != 0;
}

static inline uint32_t mt_tensor_version(const mt_tensor *t)
{
    return t->version ? t->version->value : t->own_version;
}

static inline void mt_tensor_bump_version(mt_tensor *t)
{
    if (t->version)
        t->version->value++;
    else
        t->own_version++;
}

static inline size_t mt_tensor_itemsize(const mt_tensor *t)
{
    return mt_dtype_size((mt_dtype)t->dtype);
}

/* Does the geometry lie inside the storage? RuntimeError "... are out of bounds for storage of size
   N" otherwise. Storages only get too small by mt_storage_resize, which marks them, so tensors of
   unmarked storages need no check. */
int mt_storage_check_bounds(const mt_storage *s, mt_dtype dtype, int ndim, const int64_t *size, const int64_t *stride,
                            int64_t offset);
static inline int mt_tensor_check_bounds(const mt_tensor *t)
{
    if (MT_LIKELY(!(t->storage->flags & MT_STORAGE_SHRUNK)))
        return 0;
    return mt_storage_check_bounds(t->storage, (mt_dtype)t->dtype, t->ndim, t->size, t->stride, t->offset);
}
/* Before a tensor is written: the same check, and bytes of its own. The dispatcher does it for what kernels write; who
   writes past the dispatcher calls it. */
static inline int mt_tensor_own(mt_tensor *t)
{
    return mt_tensor_check_bounds(t) < 0 ? -1 : mt_storage_own(t->storage);
}
/* The value of a one-element tensor of any device; RuntimeError otherwise. */
int mt_tensor_item(mt_scalar *out, const mt_tensor *t);

/* dst's elements become src's: broadcast, cast, conjugate and negative bits of both resolved.
   Nothing is dispatched or recorded, no version changes. The memory must not overlap, except that
   both may be the same elements. */
int mt_tensor_assign(mt_tensor *dst, const mt_tensor *src);
/* Copies of other devices than the CPU, installed by their backend; called without conjugate and
   negative bits. `parts` says what changes sign on the way: 1 the real part, 2 the imaginary one. */
extern int (*mt_tensor_assign_hook)(mt_tensor *dst, const mt_tensor *src, unsigned parts);
/* A new contiguous tensor with src's elements, bits resolved. */
int mt_tensor_materialize(mt_tensor **out, const mt_tensor *src);

/* --- changing a tensor in place (geometry) --- */

/* Sizes, strides and offset; recomputes numel and flags. Bounds are the caller's affair. */
int mt_tensor_set_geometry(mt_tensor *t, int ndim, const int64_t *size, const int64_t *stride, int64_t offset);
/* resize_: contiguous strides; grows the storage when needed. On failure nothing has changed. */
int mt_tensor_resize(mt_tensor *t, int ndim, const int64_t *size);
/* set_: other storage. Takes a new reference. */
int mt_tensor_set_storage(mt_tensor *t, mt_storage *storage);
/* The .data setter: dtype, geometry and storage of `from`; the version counter and gradient state
   stay. On failure nothing has changed. */
int mt_tensor_set_data(mt_tensor *t, const mt_tensor *from);
/* Recomputes numel and the layout flags from size and stride. */
void mt_tensor_refresh(mt_tensor *t);
/* Sets or clears the requires-grad flag together with the AUTOGRAD key. */
void mt_tensor_mark_requires_grad(mt_tensor *t, bool on);

#endif
