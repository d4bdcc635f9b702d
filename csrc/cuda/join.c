/* SPDX-License-Identifier: BSD-3-Clause */
/* cat, stack and flip: copies into and out of parts of a tensor. */
#include "core/shape.h"
#include "cuda/copy.h"
#include "cuda/iterate.h"
#include "kernels.h"

/* `length` places of dim `dim` of out, from `at` on, become t's elements. `drop`: the part has no such dim. */
static int copy_into_part(mt_tensor *out, mt_tensor *t, int64_t dim, int64_t at, int64_t length, bool drop)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    mt_tensor *part = NULL;
    int rc = -1, n = 0;

    for (int d = 0; d < out->ndim; d++) {
        if (d == dim && drop)
            continue;
        size[n] = d == dim ? length : out->size[d];
        stride[n++] = out->stride[d];
    }
    MT_REQUIRE(mt_device_equal(out->device, t->device), MT_ERR_RUNTIME,
               "Expected all tensors to be on the same device, but found at least two devices, cuda:%d and %s!",
               (int)out->device.index, t->device.type == MT_DEVICE_CPU ? "cpu" : "another one");
    if (t->numel == 0)
        return 0;
    MT_TRY(mt_tensor_new_view(&part, out, n, size, stride, out->offset + at * out->stride[dim]));
    MT_TRY(mt_tensor_assign(part, t));
    rc = 0;
fail:
    mt_tensor_clear(&part);
    return rc;
}

int mt_cuda_cat(mt_tensor *out, mt_tensors tensors, int64_t dim)
{
    int64_t at = 0;

    if (out->numel == 0)
        return 0;
    if (mt_dim_wrap(&dim, out->ndim) < 0)
        return -1;
    for (int i = 0; i < tensors.n; i++) {
        mt_tensor *t = tensors.data[i];

        if (t->ndim == 1 && t->size[0] == 0)
            continue;
        if (copy_into_part(out, t, dim, at, t->size[dim], false) < 0)
            return -1;
        at += t->size[dim];
    }
    return 0;
}

int mt_cuda_stack(mt_tensor *out, mt_tensors tensors, int64_t dim)
{
    if (out->numel == 0)
        return 0;
    if (mt_dim_wrap(&dim, out->ndim) < 0)
        return -1;
    for (int i = 0; i < tensors.n; i++)
        if (copy_into_part(out, tensors.data[i], dim, i, 1, true) < 0)
            return -1;
    return 0;
}

int mt_cuda_flip(mt_tensor *out, mt_tensor *self, mt_ints dims)
{
    int64_t stride[2][MT_MAX_DIM], size = (int64_t)mt_tensor_itemsize(self);
    char *src = (char *)(uintptr_t)mt_tensor_const_data(self);
    mt_cuda_guard guard;
    uint64_t mask;
    mt_iter it;
    int rc = -1;

    if (out->numel == 0)
        return 0;
    if (mt_dims_mask(&mask, dims.data, dims.n, self->ndim, false) < 0)
        return -1;
    for (int d = 0; d < self->ndim; d++) {
        stride[0][d] = out->stride[d] * size;
        stride[1][d] = self->stride[d] * size;
        if (mask >> d & 1) {
            src += (self->size[d] - 1) * stride[1][d];
            stride[1][d] = -stride[1][d];
        }
    }
    mt_iter_init(&it, 2, 1, self->ndim, self->size);
    mt_iter_set_operand(&it, 0, mt_tensor_mutable_data(out), (mt_dtype)out->dtype, stride[0]);
    mt_iter_set_operand(&it, 1, src, (mt_dtype)self->dtype, stride[1]);
    mt_iter_finish(&it);
    MT_TRY(mt_cuda_enter(&guard, self->device));
    rc = mt_cuda_run_cast(&it, self->device, 0);
fail:
    mt_cuda_leave(&guard);
    return rc;
}
