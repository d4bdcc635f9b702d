/* SPDX-License-Identifier: BSD-3-Clause */
/* Planning a reduction: which dims go, which dtype is read, accumulated and written, and the many
   ways in which PyTorch words a refusal. Sums, products and means take the dtype of a given output;
   other reductions insist on their own. */
#include <string.h>

#include "ops/reduce_internal.h"

/* The name as messages have it: private ops (_var) speak for the public ones. */
static const char *name_of(const mt_call *call)
{
    return call->op->name + (call->op->name[0] == '_');
}

static bool is_named(const mt_call *call, const char *a, const char *b)
{
    return strcmp(name_of(call), a) == 0 || strcmp(name_of(call), b) == 0;
}

static const char *legacy(mt_dtype d)
{
    return mt_dtype_table[d].legacy;
}

/* --- dims and shape --- */

static int find_dims(mt_reduce_plan *p, const mt_call *call)
{
    const mt_reduce_spec *spec = call->op->reduce;
    const mt_value *a = spec->dim_arg >= 0 ? &call->arg[spec->dim_arg] : NULL;
    bool empty_means_all = !is_named(call, "any", "all");
    uint64_t mask = 0;
    int64_t one;

    p->has_dims = a && (a->kind == MT_ARG_INT ||
                        (a->kind == MT_ARG_INTS && (a->v.ints.n > 0 || (a->v.ints.n == 0 && !empty_means_all))));
    if (!p->has_dims) {
        memset(p->is_reduced, 1, sizeof(p->is_reduced));
        return 0;
    }
    one = a->v.i;
    if (a->kind == MT_ARG_INT ? mt_dims_mask(&mask, &one, 1, p->self->ndim, true)
                              : mt_dims_mask(&mask, a->v.ints.data, a->v.ints.n, p->self->ndim, empty_means_all))
        return -1;
    for (int i = 0; i < p->self->ndim; i++)
        p->is_reduced[i] = mask >> i & 1;
    return 0;
}

static void find_shape(mt_reduce_plan *p, const mt_call *call)
{
    const mt_reduce_spec *spec = call->op->reduce;
    const mt_tensor *t = p->self;

    p->keepdim = spec->keepdim_arg >= 0 && call->arg[spec->keepdim_arg].v.b;
    p->count = 1;
    p->shape.ndim = 0;
    for (int i = 0; i < t->ndim; i++) {
        if (p->is_reduced[i])
            p->count *= t->size[i];
        if (!p->is_reduced[i] || p->keepdim)
            p->shape.size[p->shape.ndim++] = p->is_reduced[i] ? 1 : t->size[i];
    }
}

/* Without an identity nothing can be said about no elements. */
static int check_empty(const mt_reduce_plan *p, const mt_call *call)
{
    bool is_index = call->op->reduce->promote == MT_REDUCE_INDEX;
    const char *name = name_of(call), *parens = strcmp(name, "aminmax") ? "()" : "";

    if (p->self->numel > 0 || call->op->reduce->identity)
        return 0;
    if (!p->has_dims && !*parens)
        return mt_error_set(MT_ERR_RUNTIME,
                            "aminmax(): cannot compute aminmax over an empty dimension as the operation "
                            "has no identity.");
    if (!p->has_dims)
        return mt_error_set(is_index ? MT_ERR_INDEX : MT_ERR_RUNTIME,
                            "%s(): Expected reduction dim to be specified for input.numel() == 0.%s", name,
                            is_index ? "" : " Specify the reduction dim with the 'dim' argument.");
    for (int i = 0; i < p->self->ndim; i++)
        if (p->is_reduced[i] && p->self->size[i] == 0)
            return mt_error_set(MT_ERR_INDEX, "%s%s: Expected reduction dim %d to have non-zero size.", name, parens,
                                i);
    return 0;
}

/* --- dtypes --- */

static MT_COLD int needs_float(const mt_call *call, mt_dtype got, bool was_given)
{
    const char *name = name_of(call);

    if (strcmp(name, "mean") == 0)
        return mt_error_set(MT_ERR_RUNTIME,
                            "mean(): could not infer output dtype. %s dtype must be either a floating point or "
                            "complex dtype. Got: %s",
                            was_given ? "Optional" : "Input", legacy(got));
    if (is_named(call, "var", "std"))
        return mt_error_set(MT_ERR_RUNTIME, "std and var only support floating point and complex dtypes");
    if (is_named(call, "norm", "linalg_vector_norm"))
        return mt_error_set(MT_ERR_RUNTIME,
                            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s",
                            legacy(got));
    return mt_error_set(MT_ERR_RUNTIME, "%s only support floating point and complex dtypes", name);
}

static bool is_dtype_given(const mt_call *call)
{
    int at = call->op->reduce->dtype_arg;

    return at >= 0 && call->arg[at].kind == MT_ARG_DTYPE;
}

/* The dtype asked for, by argument or (sums, means) by the output given. */
static mt_dtype wanted_dtype(const mt_call *call)
{
    const mt_reduce_spec *spec = call->op->reduce;

    if (is_dtype_given(call))
        return (mt_dtype)call->arg[spec->dtype_arg].v.i;
    if (call->variant == MT_VARIANT_OUT && call->out[0] && spec->dtype_arg >= 0)
        return (mt_dtype)call->out[0]->dtype;
    return MT_DTYPE_NONE;
}

/* Shells are read in another dtype: sums in int64, what only asks whether an element is zero as bool. */
static mt_dtype loop_of(mt_dtype row, mt_reduce_promote promote)
{
    if (!mt_dtype_is_shell(row))
        return row;
    if (promote == MT_REDUCE_BOOL || promote == MT_REDUCE_INDEX)
        return MT_DTYPE_b8;
    return mt_dtype_is_integral(row, false) ? MT_DTYPE_i64 : (mt_dtype)mt_dtype_table[row].loop;
}

static int find_dtypes(mt_reduce_plan *p, const mt_call *call)
{
    const mt_reduce_spec *spec = call->op->reduce;
    mt_dtype wanted = wanted_dtype(call), in = (mt_dtype)p->self->dtype;
    mt_reduce_promote promote = (mt_reduce_promote)spec->promote;
    bool is_float_only = promote == MT_REDUCE_FLOAT || promote == MT_REDUCE_REAL;

    p->row = wanted != MT_DTYPE_NONE ? wanted : in;
    if (is_float_only && mt_dtype_category(p->row) < MT_CAT_FLOAT)
        return needs_float(call, p->row, wanted != MT_DTYPE_NONE);
    if (!(spec->dtypes >> p->row & 1) || (wanted != MT_DTYPE_NONE && mt_dtype_is_shell(wanted)))
        return mt_meta_refuse_dtype(call->op, p->row);
    p->loop = loop_of(p->row, promote);
    p->n_outs = call->op->n_outs;
    for (int k = 0; k < p->n_outs; k++) {
        mt_dtype d = p->loop;

        if (promote == MT_REDUCE_INDEX || (spec->index_out && k == p->n_outs - 1))
            d = MT_DTYPE_i64;
        else if (promote == MT_REDUCE_SUM && mt_dtype_is_integral(d, true))
            d = MT_DTYPE_i64;
        else if (promote == MT_REDUCE_BOOL)
            d = MT_DTYPE_b8;
        else if (promote == MT_REDUCE_REAL && k == 0)
            d = mt_dtype_to_real(d);
        p->natural[k] = p->result[k] = d;
        if (p->loop != p->row && mt_dtype_is_complex(d)) /* complex32: the results are of halves */
            p->result[k] = p->row;
        else if (p->loop != p->row && mt_dtype_is_float(d))
            p->result[k] = mt_dtype_to_real(p->row);
    }
    if (promote == MT_REDUCE_SUM && wanted != MT_DTYPE_NONE)
        p->result[0] = wanted;
    if (promote == MT_REDUCE_BOOL && in == MT_DTYPE_u8)
        p->result[0] = MT_DTYPE_u8;
    return 0;
}

/* --- numbers --- */

static double number_of(const mt_call *call, int index)
{
    const mt_value *v = &call->arg[index];
    const char *name = call->op->args[index].name;

    switch ((mt_arg_kind)v->kind) {
    case MT_ARG_SCALAR:
        return mt_scalar_to_double(v->v.scalar);
    case MT_ARG_INT:
        return (double)v->v.i;
    case MT_ARG_FLOAT:
        return v->v.d;
    case MT_ARG_BOOL:
        return v->v.b;
    default: /* None: the correction is 1, the order of a norm 2 */
        return strcmp(name, "p") == 0 || strcmp(name, "ord") == 0 ? 2.0 : 1.0;
    }
}

static int find_params(mt_reduce_plan *p, const mt_call *call)
{
    const mt_reduce_spec *spec = call->op->reduce;

    for (int k = 0; k < spec->n_params; k++) {
        const char *name = call->op->args[spec->param[k]].name;
        double reduced = p->self->numel == 0 ? 0.0 : (double)p->count;

        if (call->arg[spec->param[k]].kind == MT_ARG_SCALAR &&
            mt_scalar_check(MT_DTYPE_f64, call->arg[spec->param[k]].v.scalar) < 0)
            return -1;
        p->params[k] = number_of(call, spec->param[k]);
        if ((strcmp(name, "correction") == 0 || strcmp(name, "unbiased") == 0) && reduced - p->params[k] <= 0 &&
            mt_warn(MT_WARN_USER,
                    "%s(): degrees of freedom is <= 0. Correction should be strictly less than the "
                    "reduction factor (input numel divided by output numel).",
                    name_of(call)) < 0)
            return -1;
    }
    return 0;
}

/* --- outputs --- */

/* Which dtypes of a given output are accepted: the exact one, or for some ops whatever the result
   casts to. */
static int check_given(const mt_call *call, const mt_reduce_plan *p, int k)
{
    const mt_reduce_spec *spec = call->op->reduce;
    const mt_tensor *out = call->out[k];
    mt_dtype expected = p->result[k];

    if (call->variant != MT_VARIANT_OUT || !out || out->dtype == (uint8_t)expected)
        return 0;
    if (spec->promote == MT_REDUCE_BOOL) {
        if (out->dtype == MT_DTYPE_b8 || out->dtype == MT_DTYPE_u8)
            return 0;
        return mt_error_set(MT_ERR_RUNTIME, "%s only supports bool tensor for result, got: %s", name_of(call),
                            legacy((mt_dtype)out->dtype));
    }
    if (is_named(call, "amax", "amin"))
        return mt_error_set(MT_ERR_RUNTIME,
                            "Expected the dtype for input and out to match, but got %s for input's dtype and %s "
                            "for out's dtype.",
                            legacy(expected), legacy((mt_dtype)out->dtype));
    if (spec->index_out || spec->promote == MT_REDUCE_INDEX || is_dtype_given(call) ||
        is_named(call, "aminmax", "linalg_vector_norm"))
        return mt_error_set(MT_ERR_RUNTIME, "Expected out tensor to have dtype %s, but got %s instead",
                            mt_dtype_element(expected), mt_dtype_element((mt_dtype)out->dtype));
    return 0;
}

int mt_reduce_plan_make(mt_reduce_plan *p, const mt_call *call)
{
    p->self = call->arg[0].v.tensor;
    if (find_dims(p, call) < 0)
        return -1;
    find_shape(p, call);
    if (find_dtypes(p, call) < 0)
        return -1;
    for (int k = 0; k < p->n_outs; k++)
        if (check_given(call, p, k) < 0)
            return -1;
    if (check_empty(p, call) < 0)
        return -1;
    return find_params(p, call);
}

int mt_reduce_plan_outputs(mt_call *call, const mt_reduce_plan *p)
{
    for (int k = 0; k < p->n_outs; k++) {
        mt_dtype d = p->result[k];

        /* one byte that is 0 or 1 serves as bool and as uint8 */
        if (call->op->reduce->promote == MT_REDUCE_BOOL && call->variant == MT_VARIANT_OUT && call->out[k])
            d = (mt_dtype)call->out[k]->dtype;
        if (mt_out_prepare(call, k, d, p->shape.ndim, p->shape.size, NULL, p->self->device, false) < 0)
            return -1;
    }
    return 0;
}

int mt_meta_reduce(mt_call *call)
{
    mt_reduce_plan p;

    if (mt_reduce_plan_make(&p, call) < 0)
        return -1;
    return mt_reduce_plan_outputs(call, &p);
}
