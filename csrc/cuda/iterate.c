/* SPDX-License-Identifier: BSD-3-Clause */
/* From an iterator to launches. A kernel takes up to MT_CUDA_MAX_DIM dims; the host walks whatever lies outside of them.
   Temporaries come from the caching allocator and are given back as soon as their use is queued, which is safe because the
   next owner works on the same stream. */
#include "cuda/iterate.h"

#include <string.h>

#include "cuda/alloc.h"

unsigned mt_cuda_blocks(int64_t n, int device)
{
    int64_t blocks = (n + MT_CUDA_BLOCK - 1) / MT_CUDA_BLOCK, most = (int64_t)mt_cuda_processors(device) * 32;

    return (unsigned)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

/* i / size == ((i * magic >> 32) + i) >> shift, by Granlund and Montgomery. */
static void set_size(mt_cuda_size *s, int64_t size)
{
    uint64_t d = (uint64_t)size;
    uint32_t shift = 0;

    while (((uint64_t)1 << shift) < d)
        shift++;
    s->size = (uint32_t)d;
    s->shift = shift;
    s->magic = (uint32_t)(((((uint64_t)1 << shift) - d) << 32) / d + 1);
}

void mt_cuda_dims_set(mt_cuda_dims *dims, int n, const int64_t *size, int64_t numel)
{
    dims->n = n;
    dims->is_wide = numel > INT32_MAX;
    for (int d = 0; d < n; d++) {
        dims->size[d] = size[d];
        if (!dims->is_wide)
            set_size(&dims->fast[d], size[d] ? size[d] : 1);
    }
}

/* Launches once for every position in the dims beyond those of the kernel. */
static int launch_all(mt_cuda_args *g, const mt_iter *it, mt_device device, mt_loop_fn *loop)
{
    mt_cuda_launch l = {g, 0, mt_cuda_current_stream(device.index)};
    int inner = it->ndim < MT_CUDA_MAX_DIM ? it->ndim : MT_CUDA_MAX_DIM;
    int64_t outer = 1;

    g->numel = 1;
    for (int d = 0; d < it->ndim; d++)
        *(d < inner ? &g->numel : &outer) *= it->size[d];
    mt_cuda_dims_set(&g->dims, inner, it->size, g->numel);
    for (int d = 0; d < inner; d++)
        for (int k = 0; k < it->n_operands; k++)
            g->stride[d][k] = it->stride[k][d];
    l.blocks = mt_cuda_blocks(g->numel, device.index);
    for (int64_t i = 0; i < outer; i++) {
        int64_t rest = i;

        for (int k = 0; k < it->n_operands; k++)
            g->data[k] = it->data[k];
        for (int d = inner; d < it->ndim; d++) {
            for (int k = 0; k < it->n_operands; k++)
                g->data[k] += rest % it->size[d] * it->stride[k][d];
            rest /= it->size[d];
        }
        loop(g->data, NULL, g->numel, &l);
        if (mt_cuda_launched() < 0)
            return -1;
    }
    return 0;
}

int mt_cuda_run_cast(const mt_iter *it, mt_device device, unsigned parts)
{
    static const uint8_t by_size[9] = {[1] = MT_DTYPE_u8, [2] = MT_DTYPE_i16, [4] = MT_DTYPE_i32, [8] = MT_DTYPE_i64};
    mt_cuda_args g = {.host = 0};
    mt_dtype from = (mt_dtype)it->dtype[1], to = (mt_dtype)it->dtype[0];
    int32_t how[2];

    if (mt_dtype_is_shell(from) || mt_dtype_is_shell(to)) { /* these are only moved */
        if (from != to || parts)
            return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"copy_kernel\" not implemented for '%s'",
                                mt_dtype_table[mt_dtype_is_shell(to) ? to : from].legacy);
        from = to = (mt_dtype)by_size[mt_dtype_size(to)];
    }
    how[0] = (int32_t)from;
    how[1] = (int32_t)parts;
    memcpy(g.params, how, sizeof how);
    return launch_all(&g, it, device, mt_cuda_cast_loops[to]);
}

/* --- operands in another dtype --- */

/* Contiguous room for the elements that operand k really has; *stride as in the iterator. */
static int make_temporary(void **out, int64_t *stride, const mt_iter *it, int k, mt_dtype dtype, mt_device device)
{
    int64_t step = (int64_t)mt_dtype_size(dtype);

    for (int d = 0; d < it->ndim; d++) {
        bool moves = it->stride[k][d] != 0;

        stride[d] = moves ? step : 0;
        step *= moves ? it->size[d] : 1;
    }
    return mt_cuda_alloc(out, (size_t)step, device);
}

/* Copies between operand k and its temporary, into it or out of it. */
static int copy_temporary(const mt_iter *it, int k, char *temporary, const int64_t *stride, mt_dtype dtype,
                          mt_device device, bool back)
{
    mt_iter c;

    c.n_operands = 2;
    c.n_outputs = 1;
    c.ndim = 0;
    c.numel = 1;
    c.data[back] = temporary;
    c.data[!back] = it->data[k];
    c.dtype[back] = (uint8_t)dtype;
    c.dtype[!back] = it->dtype[k];
    for (int d = 0; d < it->ndim; d++) {
        if (it->stride[k][d] == 0)
            continue;
        c.size[c.ndim] = it->size[d];
        c.stride[back][c.ndim] = stride[d];
        c.stride[!back][c.ndim] = it->stride[k][d];
        c.numel *= it->size[d];
        c.ndim++;
    }
    if (c.ndim == 0) {
        c.ndim = 1;
        c.size[0] = 1;
        c.stride[0][0] = c.stride[1][0] = 0;
    }
    return mt_cuda_run_cast(&c, device, 0);
}

/* The operands that the loop can take as they are stay; others are replaced in `own`. */
static int convert_operands(mt_iter *own, void **temporary, mt_cuda_args *g, const mt_iter *it, mt_device device,
                            const uint8_t *loop_dtype, uint32_t host)
{
    for (int k = it->n_operands - 1; k >= 0; k--) {
        mt_dtype wanted = (mt_dtype)loop_dtype[k];
        int64_t *stride = own->stride[k];

        if (host >> k & 1) {
            mt_cast_table[it->dtype[k]][wanted](g->number[k], 0, it->data[k], 0, 1);
            continue;
        }
        if (it->dtype[k] == (uint8_t)wanted)
            continue;
        if (make_temporary(&temporary[k], stride, it, k, wanted, device) < 0 ||
            (k > 0 && copy_temporary(it, k, temporary[k], stride, wanted, device, false) < 0))
            return -1;
        own->data[k] = temporary[k];
        own->dtype[k] = (uint8_t)wanted;
    }
    return 0;
}

static void copy_iter(mt_iter *to, const mt_iter *from)
{
    to->n_operands = from->n_operands;
    to->n_outputs = from->n_outputs;
    to->ndim = from->ndim;
    to->numel = from->numel;
    memcpy(to->size, from->size, (size_t)from->ndim * sizeof(to->size[0]));
    for (int k = 0; k < from->n_operands; k++) {
        to->data[k] = from->data[k];
        to->dtype[k] = from->dtype[k];
        memcpy(to->stride[k], from->stride[k], (size_t)from->ndim * sizeof(to->stride[k][0]));
    }
}

int mt_cuda_run_iter(const mt_iter *it, mt_device device, mt_loop_fn *loop, const void *params, size_t params_bytes,
                     const uint8_t *loop_dtype, uint32_t host)
{
    mt_cuda_args g = {.host = host};
    void *temporary[MT_CUDA_OPERANDS] = {NULL};
    mt_cuda_guard guard;
    int rc = -1;
    mt_iter own;

    MT_TRY(mt_cuda_enter(&guard, device));
    MT_REQUIRE(it->n_operands <= MT_CUDA_OPERANDS && params_bytes <= sizeof g.params, MT_ERR_INTERNAL,
               "a loop with %d operands", it->n_operands);
    memcpy(g.params, params, params_bytes);
    copy_iter(&own, it);
    MT_TRY(convert_operands(&own, temporary, &g, it, device, loop_dtype, host));
    MT_TRY(launch_all(&g, &own, device, loop));
    if (temporary[0])
        MT_TRY(copy_temporary(it, 0, temporary[0], own.stride[0], (mt_dtype)own.dtype[0], device, true));
    rc = 0;
fail:
    for (int k = 0; k < MT_CUDA_OPERANDS; k++)
        mt_cuda_free(temporary[k]);
    mt_cuda_leave(&guard);
    return rc;
}
