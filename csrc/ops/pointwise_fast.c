/* SPDX-License-Identifier: BSD-3-Clause */
/* The short road: contiguous CPU tensors of one dtype, one shape (or one operand 0-d, or a number),
   nothing to record and nothing special about the thread. A few compares on the headers, two pool
   objects, one loop call. Whatever does not fit exactly answers 0 and takes the general road, so
   nothing here may be a rule of its own. */
#include "base/parallel.h"
#include "ops/pointwise_internal.h"

#define AUTOGRAD MT_KEY_BIT(MT_KEY_AUTOGRAD)
#define CPU MT_KEY_BIT(MT_KEY_CPU)

enum { SPECIAL = MT_FLAG_CONJ | MT_FLAG_NEG | MT_FLAG_WRAPPED_NUMBER };

static inline bool is_plain(const mt_tensor *t)
{
    return (t->flags & (MT_FLAG_CONTIGUOUS | SPECIAL)) == MT_FLAG_CONTIGUOUS &&
           !(t->storage->flags & MT_STORAGE_SHRUNK);
}

static inline bool records_nothing(uint32_t keys, bool writes)
{
    return !(keys & ~(CPU | AUTOGRAD)) && (!(keys & AUTOGRAD) || (!mt_thread.grad_mode && !writes));
}

static inline bool same_shape(const mt_tensor *a, const mt_tensor *b)
{
    if (a->ndim != b->ndim || a->numel != b->numel)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->size[i] != b->size[i])
            return false;
    return true;
}

/* The result dtype for operands of dtype d; MT_DTYPE_NONE: not on this road. */
static inline mt_dtype result_dtype(const mt_pointwise_spec *spec, mt_dtype d)
{
    switch ((mt_promote)spec->promote) {
    case MT_PROMOTE_DEFAULT:
    case MT_PROMOTE_NONE:
    case MT_PROMOTE_FIRST:
        return d;
    case MT_PROMOTE_FLOAT:
        return mt_dtype_is_integral(d, true) ? MT_DTYPE_NONE : d;
    case MT_PROMOTE_REAL:
        return mt_dtype_is_complex(d) ? MT_DTYPE_NONE : d;
    case MT_PROMOTE_COMPARE:
    case MT_PROMOTE_BOOL:
        return MT_DTYPE_b8;
    default:
        return MT_DTYPE_NONE;
    }
}

/* May this tensor be written with a result of this dtype and of the shape of `like`? Inputs may be
   the same tensor, but another tensor over the same storage is left to the general road. */
static bool can_write(const mt_tensor *out, const mt_tensor *like, mt_dtype dtype, const mt_tensor *a,
                      const mt_tensor *b)
{
    if (!is_plain(out) || (out->storage->flags & MT_STORAGE_COW) || out->dtype != (uint8_t)dtype ||
        (out->flags & MT_FLAG_INFERENCE) || !records_nothing(mt_tensor_keys(out), true) || !same_shape(out, like))
        return false;
    return (out == a || out->storage != a->storage) && (!b || out == b || out->storage != b->storage);
}

static inline mt_loop_fn *find_loop(const mt_pointwise_spec *spec, mt_dtype d)
{
    const mt_loop_row *table = mt_loop_tables[MT_DEVICE_CPU][spec->family];

    return MT_LIKELY(table != NULL && !mt_dtype_is_shell(d)) ? table[spec->row][d] : NULL;
}

/* The default numbers of the loop. Nearly always that is the one number 1 (alpha), which is kept
   ready. */
static inline const void *default_params(mt_loop_params *room, const mt_op *op, mt_dtype d)
{
    static mt_element ones[MT_DTYPE_COUNT];
    static bool is_ready[MT_DTYPE_COUNT];
    const mt_value *v = &op->args[op->pointwise->param[0]].dflt;

    if (op->pointwise->n_params != 1 || v->kind != MT_ARG_SCALAR || v->v.scalar.category != MT_CAT_INT ||
        v->v.scalar.v.i != 1) {
        (void)mt_pointwise_params(room, op, NULL, d, d);
        return room;
    }
    if (MT_UNLIKELY(!is_ready[d])) {
        mt_scalar_store(ones[d].bytes, mt_compute_dtype(d), mt_scalar_from_int(1));
        is_ready[d] = true;
    }
    return ones[d].bytes;
}

/* One output and n_in inputs; makes or writes *out and calls the loop. Input k is a tensor, or a
   number in `number`. */
static inline int finish(mt_tensor **out, const mt_op *op, mt_loop_fn *loop, mt_dtype d, mt_dtype result,
                         const mt_tensor *like, int n_in, mt_tensor *const *in, char *number)
{
    const mt_pointwise_spec *spec = op->pointwise;
    char *data[1 + MT_POINTWISE_MAX_IN];
    int64_t stride[1 + MT_POINTWISE_MAX_IN], size = (int64_t)mt_dtype_size(d);
    const void *params = NULL;
    mt_loop_params room;
    double total_ns = (double)like->numel * (double)spec->ns_per_element;
    bool writes = *out != NULL;
    mt_tensor *t = *out;

    if (!writes && MT_UNLIKELY(mt_tensor_new(&t, result, like->ndim, like->size, MT_CPU) < 0))
        return -1;
    data[0] = mt_tensor_mutable_data(t);
    stride[0] = (int64_t)mt_dtype_size(result);
    for (int k = 0; k < n_in; k++) {
        data[1 + k] = in[k] ? (char *)(uintptr_t)mt_tensor_const_data(in[k]) : number;
        stride[1 + k] = in[k] && in[k]->numel == like->numel ? size : 0;
    }
    if (spec->n_params)
        params = default_params(&room, op, d);
    if (MT_LIKELY(total_ns < MT_POINTWISE_SMALL_NS)) {
        loop(data, stride, like->numel, params);
    } else {
        mt_storage_pin(t->storage);
        for (int k = 0; k < n_in; k++)
            if (in[k])
                mt_storage_pin(in[k]->storage);
        mt_pointwise_run_flat(loop, 1 + n_in, data, stride, like->numel, params, (double)spec->ns_per_element);
        mt_storage_unpin(t->storage);
        for (int k = 0; k < n_in; k++)
            if (in[k])
                mt_storage_unpin(in[k]->storage);
    }
    if (writes)
        mt_tensor_bump_version(t);
    *out = t;
    return 1;
}

int mt_fast_binary(mt_tensor **out, const mt_op *op, mt_tensor *a, mt_tensor *b)
{
    const mt_pointwise_spec *spec = op->pointwise;
    mt_dtype d = (mt_dtype)a->dtype, result;
    const mt_tensor *like = a;
    mt_tensor *in[2] = {a, b};
    mt_loop_fn *loop;

    if (MT_UNLIKELY(mt_thread.slow || !spec || spec->n_in != 2 || a->dtype != b->dtype || !is_plain(a) ||
                    !is_plain(b) || !records_nothing(mt_tensor_keys(a) | mt_tensor_keys(b), false)))
        return 0;
    if (!same_shape(a, b)) {
        if (mt_compute_dtype(d) != d) /* half types keep a single operand unrounded */
            return 0;
        if (a->ndim == 0)
            like = b;
        else if (b->ndim != 0)
            return 0;
        if (!mt_tensor_has_plain_strides(like))
            return 0;
    }
    if ((op->flags & MT_OPF_CHECKED) && !mt_dtype_is_float(d))
        return 0;
    result = result_dtype(spec, d);
    if (result == MT_DTYPE_NONE || (*out && !can_write(*out, like, result, a, b)))
        return 0;
    loop = find_loop(spec, d);
    if (MT_UNLIKELY(!loop || like->numel == 0))
        return 0;
    return finish(out, op, loop, d, result, like, 2, in, NULL);
}

int mt_fast_binary_scalar(mt_tensor **out, const mt_op *op, mt_tensor *a, mt_scalar b, bool scalar_first)
{
    const mt_pointwise_spec *spec = op->pointwise;
    mt_dtype d = (mt_dtype)a->dtype, result;
    mt_tensor *in[2] = {scalar_first ? NULL : a, scalar_first ? a : NULL};
    mt_element number;
    mt_loop_fn *loop;

    if (MT_UNLIKELY(mt_thread.slow || !spec || spec->n_in != 2 || (op->flags & MT_OPF_CHECKED) || !is_plain(a) ||
                    !records_nothing(mt_tensor_keys(a), false)))
        return 0;
    if (b.category > (uint8_t)mt_dtype_category(d) || b.is_unsigned || mt_compute_dtype(d) != d)
        return 0;
    if ((scalar_first && spec->promote == MT_PROMOTE_FIRST) || !mt_tensor_has_plain_strides(a))
        return 0;
    result = result_dtype(spec, d);
    if (result == MT_DTYPE_NONE || (*out && !can_write(*out, a, result, a, NULL)))
        return 0;
    loop = find_loop(spec, d);
    if (MT_UNLIKELY(!loop || a->numel == 0))
        return 0;
    mt_scalar_store(number.bytes, d, b);
    return finish(out, op, loop, d, result, a, 2, in, number.bytes);
}

int mt_fast_unary(mt_tensor **out, const mt_op *op, mt_tensor *a)
{
    const mt_pointwise_spec *spec = op->pointwise;
    mt_dtype d = (mt_dtype)a->dtype, result;
    mt_loop_fn *loop;

    if (MT_UNLIKELY(mt_thread.slow || !spec || spec->n_in != 1 || !is_plain(a) ||
                    !records_nothing(mt_tensor_keys(a), false)))
        return 0;
    if ((op->flags & MT_OPF_CHECKED) && !mt_dtype_is_float(d))
        return 0;
    result = result_dtype(spec, d);
    if (result == MT_DTYPE_NONE || (*out && !can_write(*out, a, result, a, NULL)))
        return 0;
    loop = find_loop(spec, d);
    if (MT_UNLIKELY(!loop || a->numel == 0))
        return 0;
    return finish(out, op, loop, d, result, a, 1, &a, NULL);
}

/* --- frames --- */

static bool is_default(const mt_value *a, const mt_value *dflt)
{
    if (a->kind != dflt->kind || a->kind != MT_ARG_SCALAR)
        return a->kind == MT_ARG_NONE && dflt->kind == MT_ARG_NONE;
    return a->v.scalar.category == dflt->v.scalar.category && a->v.scalar.category <= MT_CAT_INT &&
           a->v.scalar.v.i == dflt->v.scalar.v.i;
}

static int call_binary(mt_tensor **out, const mt_op *op, mt_tensor *a, mt_tensor *b)
{
    if (mt_tensor_is_wrapped_number(b))
        return mt_fast_binary_scalar(out, op, a, mt_scalar_load(mt_tensor_const_data(b), (mt_dtype)b->dtype), false);
    if (mt_tensor_is_wrapped_number(a))
        return mt_fast_binary_scalar(out, op, b, mt_scalar_load(mt_tensor_const_data(a), (mt_dtype)a->dtype), true);
    return mt_fast_binary(out, op, a, b);
}

int mt_fast_call(mt_call *call)
{
    const mt_pointwise_spec *spec = call->op->pointwise;
    const mt_value *a = &call->arg[0], *b = &call->arg[1];
    bool grad_mode = mt_thread.grad_mode;
    int rc = 0;

    if (!spec || spec->n_in > 2 || a->kind != MT_ARG_TENSOR || (spec->n_in == 2 && b->kind != MT_ARG_TENSOR) ||
        spec->in[0] != 0 || (spec->n_in == 2 && spec->in[1] != 1))
        return 0;
    for (int i = 0; i < spec->n_params; i++)
        if (!is_default(&call->arg[spec->param[i]], &call->op->args[spec->param[i]].dflt))
            return 0;
    mt_thread.grad_mode = false; /* this road is for what is not recorded */
    rc = spec->n_in == 2 ? call_binary(&call->out[0], call->op, a->v.tensor, b->v.tensor)
                         : mt_fast_unary(&call->out[0], call->op, a->v.tensor);
    mt_thread.grad_mode = grad_mode;
    return rc;
}
