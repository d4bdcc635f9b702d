/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies. On one device: a plain copy of bytes, or the cast kernel, which takes any strides. Between the host and a device,
   and between devices: bytes travel contiguous and in the dtype of the destination; what is not so already goes through
   temporaries on its own side. Copies that touch host memory wait for the result. */
#include "cuda/copy.h"

#include <string.h>

#include "core/shape.h"
#include "cuda/alloc.h"
#include "cuda/iterate.h"

/* --- bytes --- */

static mt_device cuda_of(mt_device a, mt_device b)
{
    return a.type == MT_DEVICE_CUDA ? a : b;
}

static int copy_bytes(void *dst, mt_device dst_device, const void *src, mt_device src_device, size_t nbytes)
{
    bool waits = !mt_device_equal(dst_device, src_device);
    mt_device device = cuda_of(src_device, dst_device);
    cudaStream_t stream = mt_cuda_current_stream(device.index);
    mt_cuda_guard guard;
    int rc = -1;

    if (nbytes == 0)
        return 0;
    MT_TRY(mt_cuda_enter(&guard, device));
    if (dst_device.type == MT_DEVICE_CUDA && src_device.type == MT_DEVICE_CUDA && waits)
        MT_TRY(mt_cuda_ok(cudaStreamSynchronize(mt_cuda_current_stream(dst_device.index))));
    MT_TRY(mt_cuda_ok(cudaMemcpyAsync(dst, src, nbytes, cudaMemcpyDefault, stream)));
    if (waits)
        MT_TRY(mt_cuda_ok(cudaStreamSynchronize(stream)));
    rc = 0;
fail:
    mt_cuda_leave(&guard);
    return rc;
}

static int device_alloc(void **out, size_t nbytes, mt_device device, bool zeroed)
{
    mt_cuda_guard guard;
    int rc = -1;

    if (mt_cuda_alloc(out, nbytes, device) < 0)
        return -1;
    if (!zeroed)
        return 0;
    MT_TRY(mt_cuda_enter(&guard, device));
    MT_TRY(mt_cuda_ok(cudaMemsetAsync(*out, 0, nbytes, mt_cuda_current_stream(device.index))));
    rc = 0;
fail:
    mt_cuda_leave(&guard);
    if (rc < 0) {
        mt_cuda_free(*out);
        *out = NULL;
    }
    return rc;
}

static void device_free(void *data, size_t nbytes, mt_device device)
{
    (void)nbytes, (void)device;
    mt_cuda_free(data);
}

static int8_t current_index(void)
{
    return (int8_t)mt_cuda_current_device();
}

static int check(mt_device device)
{
    return mt_cuda_check_device(device.index);
}

const mt_device_ops mt_cuda_device_ops = {device_alloc,        device_free,   copy_bytes,
                                          mt_cuda_synchronize, current_index, check};

/* --- tensors --- */

static bool is_same_layout(const mt_tensor *a, const mt_tensor *b)
{
    return (a->flags & b->flags & MT_FLAG_CONTIGUOUS) && a->numel == b->numel;
}

static size_t bytes_of(const mt_tensor *t)
{
    return (size_t)t->numel * mt_tensor_itemsize(t);
}

static int assign_here(mt_tensor *dst, const mt_tensor *src, unsigned parts)
{
    mt_tensor *operands[2] = {dst, (mt_tensor *)(uintptr_t)src};
    mt_cuda_guard guard;
    int rc = -1;
    mt_iter it;

    if (dst->dtype == src->dtype && is_same_layout(dst, src) && !parts)
        return copy_bytes(mt_tensor_mutable_data(dst), dst->device, mt_tensor_const_data(src), src->device,
                          bytes_of(dst));
    MT_TRY(mt_cuda_enter(&guard, dst->device));
    MT_TRY(mt_iter_build(&it, operands, 2, 1, dst->ndim, dst->size));
    rc = mt_cuda_run_cast(&it, dst->device, parts);
fail:
    mt_cuda_leave(&guard);
    return rc;
}

/* src contiguous and in that dtype, on its own device; *owned is set when that takes a copy. */
static int prepare(mt_tensor **owned, const mt_tensor **src, mt_dtype dtype)
{
    const mt_tensor *t = *src;

    if (t->dtype == (uint8_t)dtype && (t->flags & MT_FLAG_CONTIGUOUS))
        return 0;
    if (mt_tensor_new(owned, dtype, t->ndim, t->size, t->device) < 0 || mt_tensor_assign(*owned, t) < 0)
        return -1;
    *src = *owned;
    return 0;
}

static int assign_across(mt_tensor *dst, const mt_tensor *src)
{
    mt_tensor *packed = NULL, *landed = NULL;
    mt_tensor *to = dst;
    int rc = -1;

    MT_TRY(prepare(&packed, &src, (mt_dtype)dst->dtype));
    if (!is_same_layout(dst, src)) {
        MT_TRY(mt_tensor_new(&landed, (mt_dtype)dst->dtype, src->ndim, src->size, dst->device));
        to = landed;
    }
    MT_TRY(copy_bytes(mt_tensor_mutable_data(to), to->device, mt_tensor_const_data(src), src->device, bytes_of(src)));
    if (landed)
        MT_TRY(mt_tensor_assign(dst, landed));
    rc = 0;
fail:
    mt_tensor_clear(&packed);
    mt_tensor_clear(&landed);
    return rc;
}

int mt_cuda_assign(mt_tensor *dst, const mt_tensor *src, unsigned parts)
{
    return mt_device_equal(dst->device, src->device) ? assign_here(dst, src, parts) : assign_across(dst, src);
}
