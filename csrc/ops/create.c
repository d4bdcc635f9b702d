/* SPDX-License-Identifier: BSD-3-Clause */
/* Factories: memory of a shape, or in the likeness of a tensor, filled with zeros or a value. Zeros come from the
   allocator, which has pages that are zero already; other values are written by fill_. Ranges and their meta rules are
   in range.c. */
#include "ops/create.h"

#include <string.h>

#include "base/strbuf.h"
#include "core/layout.h"
#include "core/shape.h"
#include "cpu/copy.h"
#include "ops.h"

/* --- keywords --- */

int mt_factory_device(mt_device *out, mt_device given, mt_device missing, int layout, const bool *pin_memory)
{
    *out = mt_device_is_none(given) ? missing : given;
    if (MT_UNLIKELY(layout > MT_LAYOUT_STRIDED))
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "tensors are torch.strided; the layout torch.%s is not supported",
                            layout < MT_LAYOUT_COUNT ? mt_layout_names[layout] : "?");
    if (MT_UNLIKELY(pin_memory && *pin_memory) && !mt_device_table[MT_DEVICE_CUDA])
        return mt_error_set(MT_ERR_RUNTIME,
                            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator "
                            "is available on this system.");
    return mt_device_is_none(given) ? 0 : mt_device_check(out);
}

static mt_dtype dtype_or(mt_dtype given, mt_dtype missing)
{
    return given == MT_DTYPE_NONE ? missing : given;
}

/* --- memory --- */

int mt_check_format_rank(int memory_format, int ndim)
{
    if (memory_format == MT_FORMAT_CHANNELS_LAST && ndim != 4)
        return mt_error_set(MT_ERR_RUNTIME, "required rank 4 tensor to use channels_last format");
    if (memory_format == MT_FORMAT_CHANNELS_LAST_3D && ndim != 5)
        return mt_error_set(MT_ERR_RUNTIME, "required rank 5 tensor to use channels_last_3d format");
    return 0;
}

int mt_tensor_new_format(mt_tensor **out, mt_dtype dtype, int ndim, const int64_t *size, int memory_format,
                         mt_device device)
{
    int64_t stride[MT_MAX_DIM];

    if (MT_LIKELY(memory_format < 0 || memory_format == MT_FORMAT_CONTIGUOUS))
        return mt_tensor_new(out, dtype, ndim, size, device);
    *out = NULL;
    if (memory_format == MT_FORMAT_PRESERVE)
        return mt_error_set(MT_ERR_RUNTIME, "unsupported memory format Preserve");
    if (mt_check_format_rank(memory_format, ndim) < 0 || mt_shape_channels_last_strides(stride, ndim, size) < 0)
        return -1;
    return mt_tensor_new_strided(out, dtype, ndim, size, stride, device);
}

int mt_tensor_new_like_format(mt_tensor **out, const mt_tensor *like, mt_dtype dtype, int memory_format,
                              mt_device device)
{
    int64_t stride[MT_MAX_DIM];

    if (memory_format >= 0 && memory_format != MT_FORMAT_PRESERVE)
        return mt_tensor_new_format(out, dtype, like->ndim, like->size, memory_format, device);
    if (mt_tensor_has_plain_strides(like))
        return mt_tensor_new(out, dtype, like->ndim, like->size, device);
    mt_shape_strides_like(stride, like);
    return mt_tensor_new_strided(out, dtype, like->ndim, like->size, stride, device);
}

/* Writes the value into a fresh tensor; clears the tensor on failure. */
static int fill_new(mt_tensor **t, mt_scalar value)
{
    MT_ALIGNED(16) char element[16];

    if (MT_LIKELY((*t)->device.type == MT_DEVICE_CPU)) {
        if (mt_scalar_store_checked(element, (mt_dtype)(*t)->dtype, value) < 0)
            goto fail;
        mt_cpu_fill(mt_tensor_mutable_data(*t), element, mt_tensor_itemsize(*t), (*t)->numel);
        return 0;
    }
    MT_TRY(mt_fill_inplace_Scalar(*t, value));
    return 0;
fail:
    mt_tensor_clear(t);
    return -1;
}

/* Zero bytes, also for the gaps between strides. */
static void clear_new(mt_tensor *t)
{
    if (t->storage->data)
        memset(t->storage->data, 0, t->storage->nbytes);
}

/* Zeros in a memory order: clear the storage of a fresh tensor. */
static int zeros_like_format(mt_tensor **out, mt_tensor *like, mt_dtype dtype, int memory_format, mt_device device)
{
    if (mt_tensor_has_plain_strides(like) && memory_format <= MT_FORMAT_PRESERVE)
        return mt_tensor_new_zeroed(out, dtype, like->ndim, like->size, device);
    if (mt_tensor_new_like_format(out, like, dtype, memory_format, device) < 0)
        return -1;
    if (device.type == MT_DEVICE_CPU) {
        clear_new(*out);
        return 0;
    }
    return fill_new(out, mt_scalar_from_int(0));
}

/* --- shapes --- */

int mt_impl_empty(mt_tensor **out, mt_ints size, mt_dtype dtype, int layout, mt_device device, const bool *pin_memory,
                  int memory_format)
{
    *out = NULL;
    if (mt_factory_device(&device, device, MT_CPU, layout, pin_memory) < 0)
        return -1;
    return mt_tensor_new_format(out, dtype_or(dtype, mt_default_dtype()), size.n, size.data, memory_format, device);
}

int mt_impl_empty_strided(mt_tensor **out, mt_ints size, mt_ints stride, mt_dtype dtype, int layout, mt_device device,
                          const bool *pin_memory)
{
    size_t nbytes;

    *out = NULL;
    if (mt_factory_device(&device, device, MT_CPU, layout, pin_memory) < 0)
        return -1;
    dtype = dtype_or(dtype, mt_default_dtype());
    if (size.n != stride.n)
        return mt_error_set(MT_ERR_RUNTIME, "dimensionality of sizes (%d) must match dimensionality of strides (%d)",
                            size.n, stride.n);
    for (int i = 0; i < size.n; i++) {
        mt_shape_text text;

        if (size.data[i] < 0)
            return mt_error_set(MT_ERR_RUNTIME, "Trying to create tensor with negative dimension %lld: %s",
                                (long long)size.data[i], mt_shape_format(&text, size.data, size.n));
    }
    if (mt_shape_storage_bytes(&nbytes, size.n, size.data, stride.data, 0, mt_dtype_size(dtype)) < 0)
        return -1;
    return mt_tensor_new_strided(out, dtype, size.n, size.data, stride.data, device);
}

/* physical_layout lists the dims from the outermost in memory to the innermost. */
int mt_impl_empty_permuted(mt_tensor **out, mt_ints size, mt_ints physical_layout, mt_dtype dtype, int layout,
                           mt_device device, const bool *pin_memory)
{
    bool seen[MT_MAX_DIM] = {false};
    uint8_t order[MT_MAX_DIM];
    int64_t stride[MT_MAX_DIM];
    int n = size.n;

    *out = NULL;
    if (mt_factory_device(&device, device, MT_CPU, layout, pin_memory) < 0)
        return -1;
    if (n != physical_layout.n)
        return mt_error_set(MT_ERR_RUNTIME,
                            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
                            "len(size) = %d is not equal to len(physical_layout) = %d",
                            n, physical_layout.n);
    for (int i = 0; i < n; i++) {
        int64_t d = physical_layout.data[i];

        if (d < 0 || d >= n || n > MT_MAX_DIM)
            return mt_error_set(MT_ERR_RUNTIME,
                                "Dimension out of range (expected to be between 0 and %d, but got %lld at index %d).  "
                                "NB: negative dims not currently supported; file an issue if you want it.",
                                n - 1, (long long)d, i);
        if (seen[d])
            return mt_error_set(MT_ERR_RUNTIME, "Duplicate dim not allowed");
        seen[d] = true;
        order[n - 1 - i] = (uint8_t)d;
    }
    dtype = dtype_or(dtype, mt_default_dtype());
    if (mt_shape_numel(&(int64_t){0}, n, size.data, mt_dtype_size(dtype)) < 0)
        return -1;
    mt_shape_ordered_strides(stride, n, size.data, order);
    return mt_tensor_new_strided(out, dtype, n, size.data, stride, device);
}

int mt_impl_zeros(mt_tensor **out, mt_ints size, mt_dtype dtype, int layout, mt_device device, const bool *pin_memory)
{
    *out = NULL;
    if (mt_factory_device(&device, device, MT_CPU, layout, pin_memory) < 0)
        return -1;
    return mt_tensor_new_zeroed(out, dtype_or(dtype, mt_default_dtype()), size.n, size.data, device);
}

int mt_impl_full(mt_tensor **out, mt_ints size, mt_scalar fill_value, mt_dtype dtype, int layout, mt_device device,
                 const bool *pin_memory)
{
    *out = NULL;
    if (mt_factory_device(&device, device, MT_CPU, layout, pin_memory) < 0 ||
        mt_tensor_new(out, dtype_or(dtype, fill_value.is_unsigned ? MT_DTYPE_i64 : mt_scalar_dtype(fill_value)), size.n,
                      size.data, device) < 0)
        return -1;
    return fill_new(out, fill_value);
}

int mt_impl_ones(mt_tensor **out, mt_ints size, mt_dtype dtype, int layout, mt_device device, const bool *pin_memory)
{
    return mt_impl_full(out, size, mt_scalar_from_int(1), dtype_or(dtype, mt_default_dtype()), layout, device,
                        pin_memory);
}

int mt_impl_scalar_tensor(mt_tensor **out, mt_scalar s, mt_dtype dtype, int layout, mt_device device,
                          const bool *pin_memory)
{
    return mt_impl_full(out, (mt_ints){NULL, 0}, s, dtype_or(dtype, mt_default_dtype()), layout, device, pin_memory);
}

int mt_impl_eye_m(mt_tensor **out, int64_t n, int64_t m, mt_dtype dtype, int layout, mt_device device,
                  const bool *pin_memory)
{
    mt_tensor *diagonal = NULL;
    int rc = -1;

    *out = NULL;
    MT_REQUIRE(n >= 0, MT_ERR_RUNTIME, "n must be greater or equal to 0, got %lld", (long long)n);
    MT_REQUIRE(m >= 0, MT_ERR_RUNTIME, "m must be greater or equal to 0, got %lld", (long long)m);
    MT_REQUIRE(dtype == MT_DTYPE_NONE || !mt_dtype_is_shell(dtype) || dtype >= MT_DTYPE_f8e4m3fn,
               MT_ERR_NOT_IMPLEMENTED, "\"eye\" not implemented for '%s'", mt_dtype_table[dtype].legacy);
    MT_TRY(mt_impl_zeros(out, (mt_ints){(const int64_t[]){n, m}, 2}, dtype, layout, device, pin_memory));
    MT_TRY(mt_view_diagonal(&diagonal, *out, 0, 0, 1));
    MT_TRY(mt_fill_inplace_Scalar(diagonal, mt_scalar_from_int(1)));
    rc = 0;
fail:
    mt_tensor_clear(&diagonal);
    if (rc < 0)
        mt_tensor_clear(out);
    return rc;
}

int mt_impl_eye(mt_tensor **out, int64_t n, mt_dtype dtype, int layout, mt_device device, const bool *pin_memory)
{
    return mt_impl_eye_m(out, n, n, dtype, layout, device, pin_memory);
}

/* --- in the likeness of a tensor --- */

int mt_impl_empty_like(mt_tensor **out, mt_tensor *self, mt_dtype dtype, int layout, mt_device device,
                       const bool *pin_memory, int memory_format)
{
    *out = NULL;
    if (mt_factory_device(&device, device, self->device, layout, pin_memory) < 0)
        return -1;
    return mt_tensor_new_like_format(out, self, dtype_or(dtype, (mt_dtype)self->dtype), memory_format, device);
}

int mt_impl_zeros_like(mt_tensor **out, mt_tensor *self, mt_dtype dtype, int layout, mt_device device,
                       const bool *pin_memory, int memory_format)
{
    *out = NULL;
    if (mt_factory_device(&device, device, self->device, layout, pin_memory) < 0)
        return -1;
    return zeros_like_format(out, self, dtype_or(dtype, (mt_dtype)self->dtype), memory_format, device);
}

int mt_impl_full_like(mt_tensor **out, mt_tensor *self, mt_scalar fill_value, mt_dtype dtype, int layout,
                      mt_device device, const bool *pin_memory, int memory_format)
{
    if (mt_impl_empty_like(out, self, dtype, layout, device, pin_memory, memory_format) < 0)
        return -1;
    return fill_new(out, fill_value);
}

int mt_impl_ones_like(mt_tensor **out, mt_tensor *self, mt_dtype dtype, int layout, mt_device device,
                      const bool *pin_memory, int memory_format)
{
    return mt_impl_full_like(out, self, mt_scalar_from_int(1), dtype, layout, device, pin_memory, memory_format);
}

/* --- with the dtype and device of a tensor --- */

int mt_impl_new_empty(mt_tensor **out, mt_tensor *self, mt_ints size, mt_dtype dtype, int layout, mt_device device,
                      const bool *pin_memory)
{
    return mt_impl_empty(out, size, dtype_or(dtype, (mt_dtype)self->dtype), layout,
                         mt_device_is_none(device) ? self->device : device, pin_memory, -1);
}

int mt_impl_new_empty_strided(mt_tensor **out, mt_tensor *self, mt_ints size, mt_ints stride, mt_dtype dtype,
                              int layout, mt_device device, const bool *pin_memory)
{
    return mt_impl_empty_strided(out, size, stride, dtype_or(dtype, (mt_dtype)self->dtype), layout,
                                 mt_device_is_none(device) ? self->device : device, pin_memory);
}

int mt_impl_new_zeros(mt_tensor **out, mt_tensor *self, mt_ints size, mt_dtype dtype, int layout, mt_device device,
                      const bool *pin_memory)
{
    return mt_impl_zeros(out, size, dtype_or(dtype, (mt_dtype)self->dtype), layout,
                         mt_device_is_none(device) ? self->device : device, pin_memory);
}

int mt_impl_new_ones(mt_tensor **out, mt_tensor *self, mt_ints size, mt_dtype dtype, int layout, mt_device device,
                     const bool *pin_memory)
{
    return mt_impl_ones(out, size, dtype_or(dtype, (mt_dtype)self->dtype), layout,
                        mt_device_is_none(device) ? self->device : device, pin_memory);
}

int mt_impl_new_full(mt_tensor **out, mt_tensor *self, mt_ints size, mt_scalar fill_value, mt_dtype dtype, int layout,
                     mt_device device, const bool *pin_memory)
{
    return mt_impl_full(out, size, fill_value, dtype_or(dtype, (mt_dtype)self->dtype), layout,
                        mt_device_is_none(device) ? self->device : device, pin_memory);
}
