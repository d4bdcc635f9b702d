/* SPDX-License-Identifier: BSD-3-Clause */
/* Tensors that change their geometry or memory in place: resize_, resize_as_ and the forms of set_. A failed change
   leaves the tensor as it was: memory grows first, then sizes and strides are written. */
#include "base/strbuf.h"
#include "core/dispatch.h"
#include "core/shape.h"
#include "ops.h"
#include "ops/create.h"

static int check_sizes(mt_ints size)
{
    if (size.n > MT_MAX_DIM)
        return mt_error_set(MT_ERR_RUNTIME, "tensors with more than %d dims are not supported, got %d", MT_MAX_DIM,
                            size.n);
    for (int i = 0; i < size.n; i++)
        if (size.data[i] < 0)
            return mt_error_set(MT_ERR_RUNTIME, "numel: integer multiplication overflow");
    return 0;
}

/* --- resize_ --- */

static int resize(mt_tensor *self, mt_ints size, int memory_format)
{
    int64_t stride[MT_MAX_DIM];

    if (mt_tensor_requires_grad(self) && !mt_thread.inference_mode)
        return mt_error_set(MT_ERR_RUNTIME, "cannot resize variables that require grad");
    if (self->keys & MT_KEYS_DUAL)
        return mt_error_set(MT_ERR_RUNTIME, "cannot resize variables that has a forward grad");
    if (memory_format == MT_FORMAT_PRESERVE)
        return mt_error_set(MT_ERR_RUNTIME, "Unsupported memory formatPreserve");
    if (check_sizes(size) < 0 || mt_check_format_rank(memory_format, size.n) < 0 ||
        mt_tensor_resize(self, size.n, size.data) < 0)
        return -1;
    if (memory_format < 0)
        return 0;
    if (memory_format == MT_FORMAT_CONTIGUOUS)
        mt_shape_contiguous_strides(stride, size.n, size.data);
    else if (mt_shape_channels_last_strides(stride, size.n, size.data) < 0)
        return -1;
    return mt_tensor_set_geometry(self, size.n, size.data, stride, self->offset);
}

int mt_impl_resize_inplace(mt_tensor *self, mt_ints size, int memory_format)
{
    return resize(self, size, memory_format);
}

int mt_impl_resize_as_inplace(mt_tensor *self, mt_tensor *the_template, int memory_format)
{
    int64_t kept[MT_MAX_DIM];

    if (memory_format == MT_FORMAT_PRESERVE)
        memory_format = mt_suggest_format(the_template);
    for (int i = 0; i < the_template->ndim; i++)
        kept[i] = the_template->size[i];
    return resize(self, (mt_ints){kept, the_template->ndim}, memory_format);
}

/* --- set_ --- */

static MT_COLD int other_device(const mt_tensor *self, mt_device device)
{
    char a[24], b[24];

    return mt_error_set(MT_ERR_RUNTIME,
                        "Attempted to set the storage of a tensor on device \"%s\" to a storage on "
                        "different device \"%s\".  This is no longer allowed; the devices must match.",
                        mt_device_format(a, self->device), mt_device_format(b, device));
}

static MT_COLD int other_dtype(const mt_tensor *self, const mt_tensor *source)
{
    return mt_error_set(MT_ERR_RUNTIME, "Could not set tensor of type %s to a tensor of type %s",
                        mt_dtype_element((mt_dtype)source->dtype), mt_dtype_element((mt_dtype)self->dtype));
}

/* Takes over the storage, which grows when the geometry needs it, except when sizes and strides stay as they are. */
static int set(mt_tensor *self, mt_storage *storage, int64_t offset, mt_ints size, mt_ints stride)
{
    int64_t strides[MT_MAX_DIM];
    mt_shape_text text;
    size_t nbytes;
    bool same = false;

    if (!mt_device_equal(storage->device, self->device))
        return other_device(self, storage->device);
    if (stride.n > 0 && stride.n != size.n)
        return mt_error_set(MT_ERR_RUNTIME, "unequal size length (%d) and stride length (%d)", size.n, stride.n);
    if (offset < 0)
        return mt_error_set(MT_ERR_RUNTIME, "Tensor: invalid storage offset %lld", (long long)offset);
    if (check_sizes(size) < 0)
        return -1;
    if (stride.n > 0) {
        for (int i = 0; i < size.n; i++)
            strides[i] = stride.data[i];
        same = mt_shape_equal(size.n, size.data, self->ndim, self->size) &&
               mt_shape_equal(size.n, strides, self->ndim, self->stride);
    } else {
        if (mt_shape_numel(&(int64_t){0}, size.n, size.data, mt_tensor_itemsize(self)) < 0)
            return -1;
        mt_shape_contiguous_strides(strides, size.n, size.data);
    }
    if (mt_shape_storage_bytes(&nbytes, size.n, size.data, strides, offset, mt_tensor_itemsize(self)) < 0)
        return -1;
    for (int i = 0; i < size.n; i++)
        if (strides[i] < 0)
            return mt_error_set(MT_ERR_RUNTIME,
                                "as_strided: Negative strides are not supported at the moment, got "
                                "strides: %s",
                                mt_shape_format(&text, strides, size.n));
    if (same && mt_storage_check_bounds(storage, (mt_dtype)self->dtype, size.n, size.data, strides, offset) < 0)
        return -1;
    if (nbytes > storage->nbytes && mt_storage_resize(storage, nbytes) < 0)
        return -1;
    if (mt_tensor_set_storage(self, storage) < 0)
        return -1;
    return mt_tensor_set_geometry(self, size.n, size.data, strides, offset);
}

int mt_impl_set_inplace(mt_tensor *self)
{
    mt_storage *empty = NULL;
    int rc = -1;

    MT_TRY(mt_storage_new(&empty, 0, self->device));
    rc = set(self, empty, 0, (mt_ints){(const int64_t[]){0}, 1}, (mt_ints){NULL, 0});
fail:
    mt_storage_clear(&empty);
    return rc;
}

int mt_impl_set_inplace_tensor(mt_tensor *self, mt_tensor *source)
{
    if (self == source)
        return 0;
    if (self->dtype != source->dtype)
        return other_dtype(self, source);
    if (!mt_device_equal(self->device, source->device))
        return other_device(self, source->device);
    if (mt_tensor_set_storage(self, source->storage) < 0)
        return -1;
    return mt_tensor_set_geometry(self, source->ndim, source->size, source->stride, source->offset);
}

int mt_impl_set_inplace_tensor_offset(mt_tensor *self, mt_tensor *source, int64_t storage_offset, mt_ints size,
                                      mt_ints stride)
{
    if (self->dtype != source->dtype)
        return other_dtype(self, source);
    return set(self, source->storage, storage_offset, size, stride);
}

int mt_impl_set_inplace_storage(mt_tensor *self, mt_storage *source)
{
    int64_t n = (int64_t)(source->nbytes / mt_tensor_itemsize(self));

    return set(self, source, 0, (mt_ints){&n, 1}, (mt_ints){NULL, 0});
}

int mt_impl_set_inplace_storage_offset(mt_tensor *self, mt_storage *source, int64_t storage_offset, mt_ints size,
                                       mt_ints stride)
{
    return set(self, source, storage_offset, size, stride);
}
