/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel of every pointwise op: plan, output, numbers, loop. When all tensors are contiguous
   and of the output's shape the loop is called on the whole at once; everything else goes through
   the iterator, which also casts operands and outputs to the dtypes that the loop was compiled
   for. */
#include <string.h>

#include "base/parallel.h"
#include "ops/pointwise_internal.h"

/* --- contiguous memory --- */

typedef struct flat_run {
    mt_loop_fn *loop;
    const void *params;
    int n_operands;
    char *const *data;
    const int64_t *stride;
} flat_run;

static void flat_body(void *ctx, int64_t begin, int64_t end)
{
    const flat_run *r = ctx;
    char *data[MT_ITER_MAX_OPERANDS];

    for (int k = 0; k < r->n_operands; k++)
        data[k] = r->data[k] + begin * r->stride[k];
    r->loop(data, r->stride, end - begin, r->params);
}

void mt_pointwise_run_flat(mt_loop_fn *loop, int n_operands, char *const *data, const int64_t *stride, int64_t n,
                           const void *params, double ns_per_element)
{
    flat_run r = {loop, params, n_operands, data, stride};

    if ((double)n * ns_per_element < MT_POINTWISE_SMALL_NS)
        loop(data, stride, n, params);
    else
        mt_parallel_for(n, ns_per_element, 64, flat_body, &r);
}

/* --- one call --- */

static mt_loop_fn *find_loop(const mt_op *op, const mt_pointwise_plan *p)
{
    const mt_loop_row *table = mt_loop_tables[p->device.type][op->pointwise->family];
    bool is_shell = mt_dtype_is_shell(p->row);

    /* the row may have loops for other ops of the same formula, and so may the dtype that a shell borrows from */
    if (!table || (is_shell && !(op->pointwise->dtypes >> p->row & 1)))
        return NULL;
    return table[op->pointwise->row][p->loop];
}

/* Numbers become elements of the loop's dtype. */
static int store_numbers(mt_element *number, const mt_pointwise_plan *p)
{
    for (int i = 0; i < p->n_in; i++) {
        if (p->in[i]) { /* a number in the guise of a tensor */
            if (p->numbers_must_fit && mt_tensor_is_wrapped_number(p->in[i]) &&
                p->in[i]->device.type == MT_DEVICE_CPU &&
                mt_scalar_store_checked(number[i].bytes, (mt_dtype)p->loop_dtype[1 + i],
                                        mt_scalar_load(mt_tensor_const_data(p->in[i]), (mt_dtype)p->in[i]->dtype)) < 0)
                return -1;
            continue;
        }
        if (!p->numbers_must_fit)
            mt_scalar_store(number[i].bytes, (mt_dtype)p->loop_dtype[1 + i], p->number[i]);
        else if (mt_scalar_store_checked(number[i].bytes, (mt_dtype)p->loop_dtype[1 + i], p->number[i]) < 0)
            return -1;
    }
    return 0;
}

/* Tensors contiguous and of the output's shape, or single elements; dtypes as the loop wants
   them. */
static bool is_flat(const mt_pointwise_plan *p, const mt_tensor *out)
{
    if (!(out->flags & MT_FLAG_CONTIGUOUS) || out->dtype != p->loop_dtype[0])
        return false;
    for (int i = 0; i < p->n_in; i++) {
        const mt_tensor *t = p->in[i];

        if (!t)
            continue;
        if (t->dtype != p->loop_dtype[1 + i])
            return false;
        if (t->numel != 1 && !((t->flags & MT_FLAG_CONTIGUOUS) && t->numel == out->numel))
            return false;
    }
    return true;
}

static void run_flat(const mt_pointwise_plan *p, mt_tensor *out, mt_element *number, mt_loop_fn *loop,
                     const void *params, double ns)
{
    char *data[1 + MT_POINTWISE_MAX_IN];
    int64_t stride[1 + MT_POINTWISE_MAX_IN];

    data[0] = mt_tensor_mutable_data(out);
    stride[0] = (int64_t)mt_tensor_itemsize(out);
    for (int i = 0; i < p->n_in; i++) {
        const mt_tensor *t = p->in[i];

        data[1 + i] = t ? (char *)(uintptr_t)mt_tensor_const_data(t) : number[i].bytes;
        stride[1 + i] = t && (t->numel != 1 || out->numel == 1) ? (int64_t)mt_tensor_itemsize(t) : 0;
    }
    mt_pointwise_run_flat(loop, 1 + p->n_in, data, stride, out->numel, params, ns);
}

/* The byte strides with which t walks the shape; t NULL: a number. */
static void byte_strides(int64_t *out, const mt_tensor *t, int ndim, const int64_t *size)
{
    int pad = t ? ndim - t->ndim : ndim;
    int64_t itemsize = t ? (int64_t)mt_tensor_itemsize(t) : 0;

    for (int i = 0; i < ndim; i++)
        out[i] = i < pad || (t->size[i - pad] == 1 && size[i] != 1) ? 0 : t->stride[i - pad] * itemsize;
}

static void build_iter(mt_iter *it, const mt_pointwise_plan *p, mt_tensor *out, mt_element *number)
{
    int64_t stride[MT_MAX_DIM];

    mt_iter_init(it, 1 + p->n_in, 1, out->ndim, out->size);
    byte_strides(stride, out, out->ndim, out->size);
    mt_iter_set_operand(it, 0, mt_tensor_mutable_data(out), (mt_dtype)out->dtype, stride);
    for (int i = 0; i < p->n_in; i++) {
        const mt_tensor *t = p->in[i];

        byte_strides(stride, t, out->ndim, out->size);
        if (t)
            mt_iter_set_operand(it, 1 + i, (char *)(uintptr_t)mt_tensor_const_data(t), (mt_dtype)t->dtype, stride);
        else
            mt_iter_set_operand(it, 1 + i, number[i].bytes, (mt_dtype)p->loop_dtype[1 + i], stride);
    }
    mt_iter_finish(it);
}

static int run_elsewhere(const mt_pointwise_plan *p, mt_tensor *out, mt_element *number, mt_loop_fn *loop,
                         const mt_loop_params *params)
{
    uint32_t host = 0;
    mt_iter it;

    for (int i = 0; i < p->n_in; i++)
        if (!p->in[i] || p->in[i]->device.type == MT_DEVICE_CPU)
            host |= 1u << (1 + i);
    build_iter(&it, p, out, number);
    return mt_iter_runners[p->device.type](&it, p->device, loop, params, sizeof(*params), p->loop_dtype, host);
}

/* Storages stay where they are while the lock may be away. */
static void pin_all(const mt_pointwise_plan *p, mt_tensor *out, void (*change)(mt_storage *s))
{
    change(out->storage);
    for (int i = 0; i < p->n_in; i++)
        if (p->in[i])
            change(p->in[i]->storage);
}

int mt_pointwise_kernel(mt_call *call)
{
    const mt_pointwise_spec *spec = call->op->pointwise;
    mt_element number[MT_POINTWISE_MAX_IN];
    mt_loop_params params;
    mt_pointwise_plan p;
    mt_loop_fn *loop;
    mt_tensor *out;
    bool is_long;
    int rc;

    if (call->variant == MT_VARIANT_FUNCTION && !call->out[0] && (rc = mt_fast_call(call)) != 0)
        return rc < 0 ? -1 : 0;
    if (mt_pointwise_plan_make(&p, call) < 0)
        return -1;
    if (call->out[0] && mt_out_refuse(call, 0, p.result, p.shape.ndim, p.shape.size, p.device) < 0)
        return -1;
    loop = find_loop(call->op, &p);
    if (!loop)
        return mt_meta_refuse_dtype(call->op, p.row);
    if (store_numbers(number, &p) < 0 || mt_pointwise_params(&params, call->op, call->arg, p.loop, p.result) < 0 ||
        mt_pointwise_plan_output(call, &p, true) < 0)
        return -1;
    out = call->out[0];
    if (p.device.type != MT_DEVICE_CPU) {
        if (out->numel > 0 && run_elsewhere(&p, out, number, loop, &params) < 0)
            return -1;
        return mt_out_finish(call);
    }
    is_long = (double)out->numel * (double)spec->ns_per_element >= MT_POINTWISE_SMALL_NS;
    if (is_long)
        pin_all(&p, out, mt_storage_pin);
    if (is_flat(&p, out)) {
        if (out->numel > 0)
            run_flat(&p, out, number, loop, &params, (double)spec->ns_per_element);
    } else {
        mt_iter it;

        build_iter(&it, &p, out, number);
        mt_iter_run(&it, loop, &params, p.loop_dtype, (double)spec->ns_per_element);
    }
    if (is_long)
        pin_all(&p, out, mt_storage_unpin);
    return mt_out_finish(call);
}
