/* SPDX-License-Identifier: BSD-3-Clause */
/* Planning a pointwise call: which operands are numbers, on which device it runs, the broadcast
   shape, the common dtype and what the loop must be given. The rules of promotion are mt_promote in
   core/op.h. */
#include "ops/pointwise_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* --- operands, device, shape --- */

static int gather_operands(mt_pointwise_plan *p, const mt_call *call)
{
    const mt_pointwise_spec *spec = call->op->pointwise;

    p->n_in = spec->n_in;
    for (int i = 0; i < spec->n_in; i++) {
        const mt_value *a = &call->arg[spec->in[i]];

        p->in[i] = NULL;
        switch ((mt_arg_kind)a->kind) {
        case MT_ARG_TENSOR:
            p->in[i] = a->v.tensor;
            break;
        case MT_ARG_SCALAR:
            p->number[i] = a->v.scalar;
            break;
        case MT_ARG_INT:
            p->number[i] = mt_scalar_from_int(a->v.i);
            break;
        case MT_ARG_FLOAT:
            p->number[i] = mt_scalar_from_double(a->v.d);
            break;
        case MT_ARG_BOOL:
            p->number[i] = mt_scalar_from_bool(a->v.b);
            break;
        default:
            return mt_error_set(MT_ERR_TYPE, "%s(): argument '%s' must be Tensor or Number, not None", call->op->name,
                                call->op->args[spec->in[i]].name);
        }
    }
    return 0;
}

/* The first device that is not the CPU, else the CPU; 0-d CPU tensors may join it. */
static int find_device(mt_pointwise_plan *p)
{
    mt_device device = MT_CPU;

    for (int i = 0; i < p->n_in; i++)
        if (p->in[i] && p->in[i]->device.type != MT_DEVICE_CPU && device.type == MT_DEVICE_CPU)
            device = p->in[i]->device;
    p->device = device;
    if (device.type == MT_DEVICE_CPU)
        return 0;
    for (int i = 0; i < p->n_in; i++) {
        const mt_tensor *t = p->in[i];

        if (t && !mt_device_equal(t->device, device) && !(t->device.type == MT_DEVICE_CPU && t->ndim == 0))
            return mt_meta_device_error(device, t->device);
    }
    return 0;
}

static int find_shape(mt_pointwise_plan *p)
{
    p->shape.ndim = 0;
    for (int i = 0; i < p->n_in; i++)
        if (p->in[i] && mt_shape_broadcast(&p->shape, p->in[i]->ndim, p->in[i]->size) < 0)
            return -1;
    return 0;
}

/* --- dtypes --- */

static void add_operand(mt_promotion *promotion, const mt_pointwise_plan *p, int i)
{
    const mt_tensor *t = p->in[i];

    if (t)
        mt_promotion_add(promotion, (mt_dtype)t->dtype, t->ndim, mt_tensor_is_wrapped_number(t));
    else
        mt_promotion_add(promotion, mt_scalar_dtype(p->number[i]), 0, true);
}

static int common_dtype(mt_dtype *out, const mt_pointwise_plan *p, const mt_call *call, int first)
{
    const mt_pointwise_spec *spec = call->op->pointwise;
    mt_promotion promotion = MT_PROMOTION_INIT;

    for (int i = first; i < p->n_in; i++)
        add_operand(&promotion, p, i);
    for (int k = 0; spec->params_promote && k < spec->n_params; k++)
        if (call->arg[spec->param[k]].kind == MT_ARG_SCALAR)
            mt_promotion_add(&promotion, mt_scalar_dtype(call->arg[spec->param[k]].v.scalar), 0, true);
    return mt_promotion_result(out, &promotion);
}

/* One dtype for all tensors that are no wrapped numbers; a third one without dimensions, the weight of lerp, promotes. */
static int single_dtype(mt_dtype *out, const mt_pointwise_plan *p, const mt_call *call)
{
    int first = -1;
    bool promotes = false;

    for (int i = 0; i < p->n_in; i++) {
        const mt_tensor *t = p->in[i];

        promotes |= i == 2 && t && t->ndim == 0;
        if (!t || mt_tensor_is_wrapped_number(t) || promotes)
            continue;
        if (first < 0)
            first = i;
        else if (t->dtype != p->in[first]->dtype)
            return mt_error_set(MT_ERR_RUNTIME, "expected dtype %s for `%s` but got dtype %s",
                                mt_dtype_element((mt_dtype)p->in[first]->dtype),
                                call->op->args[call->op->pointwise->in[i]].name, mt_dtype_element((mt_dtype)t->dtype));
    }
    if (first < 0 || promotes)
        return common_dtype(out, p, call, 0);
    *out = (mt_dtype)p->in[first]->dtype;
    return 0;
}

/* complex and polar: two tensors of one of three dtypes. */
static int check_parts(const mt_pointwise_plan *p)
{
    const mt_tensor *a = p->in[0], *b = p->n_in > 1 ? p->in[1] : NULL;

    if (!a || !b)
        return 0;
    for (int i = 0; i < 2; i++) {
        mt_dtype d = (mt_dtype)p->in[i]->dtype;

        if (d != MT_DTYPE_f16 && d != MT_DTYPE_f32 && d != MT_DTYPE_f64)
            return mt_error_set(MT_ERR_RUNTIME,
                                "Expected both inputs to be Half, Float or Double tensors but got %s and %s",
                                mt_dtype_table[a->dtype].legacy, mt_dtype_table[b->dtype].legacy);
    }
    if (a->dtype != b->dtype)
        return mt_error_set(MT_ERR_RUNTIME,
                            "Expected object of scalar type %s but got scalar type %s for second argument",
                            mt_dtype_table[a->dtype].legacy, mt_dtype_table[b->dtype].legacy);
    return 0;
}

/* Operand 0 of where and masked ops. uint8 conditions are read as bool. */
static int check_condition(const mt_pointwise_plan *p, const mt_call *call)
{
    static bool warned;
    const mt_tensor *t = p->in[0];

    if (t && t->dtype == MT_DTYPE_b8)
        return 0;
    if (call->op->pointwise->promote == MT_PROMOTE_MASKED)
        return mt_error_set(MT_ERR_RUNTIME, "%s only supports boolean masks, but got mask with dtype %s",
                            call->op->name, t ? mt_dtype_table[t->dtype].legacy : "number");
    if (t && t->dtype == MT_DTYPE_u8)
        return mt_warn_once(&warned, MT_WARN_USER,
                            "where received a uint8 condition tensor. This behavior is deprecated and will be "
                            "removed in a future version of PyTorch. Use a boolean condition instead.");
    return mt_error_set(MT_ERR_RUNTIME,
                        "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
                        t ? mt_dtype_table[t->dtype].legacy : "number");
}

/* The second operand as a single element. A single first operand is rounded like everything
   else. */
static bool has_single(const mt_pointwise_plan *p)
{
    const mt_tensor *t = p->in[1];

    return p->n_in == 2 && (!t || (t->numel == 1 && t->device.type == MT_DEVICE_CPU));
}

/* A shell's operands go to the loop of another dtype: as they are where bits are all that counts (a
   choice between elements) or are the same, else cast, and so is the result. */
static int borrow_loop(mt_pointwise_plan *p, mt_promote promote, bool is_choice)
{
    static const mt_dtype by_size[9] = {[1] = MT_DTYPE_u8, [2] = MT_DTYPE_i16, [4] = MT_DTYPE_i32, [8] = MT_DTYPE_i64};

    if (promote == MT_PROMOTE_BOOL && mt_dtype_shares_bits(p->row)) { /* no number here is negative or infinite */
        p->loop = MT_DTYPE_b8;
        p->loop_dtype[1] = p->loop_dtype[p->n_in] = MT_DTYPE_b8;
        return 0;
    }
    p->loop = is_choice ? by_size[mt_dtype_size(p->row)] : (mt_dtype)mt_dtype_table[p->row].loop;
    if (is_choice || mt_dtype_shares_bits(p->row))
        return 0;
    for (int i = 0; i < p->n_in; i++)
        p->loop_dtype[1 + i] = (uint8_t)p->loop;
    if (p->result == p->row)
        p->loop_dtype[0] = (uint8_t)p->loop;
    else if (p->result == mt_dtype_to_real(p->row))
        p->loop_dtype[0] = (uint8_t)mt_dtype_to_real(p->loop);
    return 0;
}

static int find_dtypes(mt_pointwise_plan *p, const mt_call *call)
{
    mt_promote promote = (mt_promote)call->op->pointwise->promote;
    bool has_condition = promote == MT_PROMOTE_WHERE || promote == MT_PROMOTE_MASKED;
    const mt_tensor *self;

    p->numbers_must_fit = has_condition;
    if ((has_condition && check_condition(p, call) < 0) || (promote == MT_PROMOTE_COMPLEX && check_parts(p) < 0))
        return -1;
    switch (promote) {
    case MT_PROMOTE_NONE:
    case MT_PROMOTE_COMPLEX:
        if (single_dtype(&p->row, p, call) < 0)
            return -1;
        break;
    case MT_PROMOTE_FIRST:
        p->row = p->in[0] ? (mt_dtype)p->in[0]->dtype : mt_scalar_dtype(p->number[0]);
        break;
    case MT_PROMOTE_MASKED:
        self = call->arg[0].kind == MT_ARG_TENSOR ? call->arg[0].v.tensor : NULL;
        if (!self && common_dtype(&p->row, p, call, 1) < 0)
            return -1;
        if (self)
            p->row = (mt_dtype)self->dtype;
        break;
    default:
        if (common_dtype(&p->row, p, call, has_condition) < 0)
            return -1;
    }
    if ((promote == MT_PROMOTE_FLOAT || promote == MT_PROMOTE_FLOAT_REAL) && mt_dtype_is_integral(p->row, true))
        p->row = mt_default_dtype();
    p->result = promote == MT_PROMOTE_COMPARE || promote == MT_PROMOTE_BOOL      ? MT_DTYPE_b8
                : promote == MT_PROMOTE_REAL || promote == MT_PROMOTE_FLOAT_REAL ? mt_dtype_to_real(p->row)
                : promote == MT_PROMOTE_COMPLEX                                  ? mt_dtype_to_complex(p->row)
                                                                                 : p->row;
    p->loop_dtype[0] = (uint8_t)p->result;
    if (mt_compute_dtype(p->row) != p->row && mt_pointwise_keeps_number(call->op) && has_single(p)) {
        p->row = MT_DTYPE_f32;
        p->loop_dtype[0] = MT_DTYPE_f32;
    }
    p->loop = p->row;
    for (int i = 0; i < p->n_in; i++)
        p->loop_dtype[1 + i] = (uint8_t)(has_condition && i == 0 ? MT_DTYPE_b8 : p->row);
    for (int i = has_condition; i < p->n_in; i++)
        if (MT_UNLIKELY(p->in[i] ? !mt_cast_exists((mt_dtype)p->in[i]->dtype, p->row) : p->row == MT_DTYPE_f4e2m1fnx2))
            return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"copy_\" not implemented for '%s'",
                                mt_dtype_table[MT_DTYPE_f4e2m1fnx2].legacy);
    if (promote == MT_PROMOTE_COMPLEX && p->row == MT_DTYPE_f16 &&
        (call->op->pointwise->dtypes >> MT_DTYPE_c32 & 1)) { /* the loop makes c64, which the iterator casts */
        p->loop = MT_DTYPE_f32;
        p->loop_dtype[0] = MT_DTYPE_c64;
        p->loop_dtype[1] = p->loop_dtype[2] = MT_DTYPE_f32;
        return 0;
    }
    return MT_UNLIKELY(mt_dtype_is_shell(p->row)) ? borrow_loop(p, promote, has_condition) : 0;
}

/* where and ops of one operand write the result's dtype only, without a cast (pow has a number for
   the other one); predicates write bool only. */
static int check_output_dtype(const mt_pointwise_plan *p, const mt_call *call)
{
    mt_promote promote = (mt_promote)call->op->pointwise->promote;
    const mt_tensor *out = call->out[0];

    if (out && promote == MT_PROMOTE_WHERE && out->dtype != (uint8_t)p->result)
        return mt_error_set(MT_ERR_RUNTIME, "Expected out type to be %s but got %s", mt_dtype_table[p->result].legacy,
                            mt_dtype_table[out->dtype].legacy);
    if (!out || p->n_in != 1 || out->dtype == (uint8_t)p->result || strcmp(call->op->name, "pow") == 0)
        return 0;
    if (promote == MT_PROMOTE_BOOL && call->variant == MT_VARIANT_OUT && strcmp(call->op->name, "logical_not"))
        return mt_error_set(MT_ERR_RUNTIME, "%s does not support non-boolean outputs.", call->op->name);
    if (promote == MT_PROMOTE_REAL && mt_dtype_is_complex(p->row))
        return call->variant != MT_VARIANT_INPLACE
                   ? 0
                   : mt_error_set(MT_ERR_RUNTIME, "In-place %s is not supported for complex tensors.", call->op->name);
    if (call->variant == MT_VARIANT_INPLACE && call->op->pointwise->params_promote)
        return mt_error_set(MT_ERR_RUNTIME, "result type %s can't be cast to the desired output type %s",
                            mt_dtype_table[p->result].legacy, mt_dtype_table[out->dtype].element);
    if (promote == MT_PROMOTE_DEFAULT || promote == MT_PROMOTE_FIRST || promote == MT_PROMOTE_REAL)
        return mt_error_set(MT_ERR_RUNTIME, "Found dtype %s but expected %s", mt_dtype_table[out->dtype].legacy,
                            mt_dtype_table[p->result].legacy);
    return 0;
}

/* What a given output must be whatever the dtypes: PyTorch complains of memory, then of shapes, then of dtypes. */
static int check_output_memory(const mt_pointwise_plan *p, const mt_tensor *out)
{
    if (mt_assert_no_internal_overlap(out) < 0)
        return -1;
    for (int i = 0; i < p->n_in; i++)
        if (p->in[i] && mt_assert_no_partial_overlap(out, p->in[i]) < 0)
            return -1;
    return 0;
}

int mt_pointwise_plan_make(mt_pointwise_plan *p, const mt_call *call)
{
    const mt_tensor *out = call->out[0];

    if (gather_operands(p, call) < 0 || (out && check_output_memory(p, out) < 0) || find_device(p) < 0 ||
        find_shape(p) < 0)
        return -1;
    if (call->variant == MT_VARIANT_INPLACE &&
        mt_out_refuse(call, 0, (mt_dtype)out->dtype, p->shape.ndim, p->shape.size, p->device) < 0)
        return -1;
    if (find_dtypes(p, call) < 0)
        return -1;
    return check_output_dtype(p, call);
}

/* --- output --- */

int mt_pointwise_plan_output(mt_call *call, const mt_pointwise_plan *p, bool cast_in_loop)
{
    int64_t stride[MT_MAX_DIM];
    mt_dtype dtype = p->result;
    const mt_tensor *out = call->out[0];
    /* angle: the real results of complex operands are contiguous too */
    bool is_row_major = (call->op->flags & MT_OPF_ROW_MAJOR) ||
                        (call->op->pointwise->promote == MT_PROMOTE_FLOAT_REAL && mt_dtype_is_complex(p->row));
    bool is_ordered = !is_row_major && mt_meta_output_strides(stride, p->in, p->n_in, p->shape.ndim, p->shape.size);

    if (out && cast_in_loop && mt_dtype_can_cast(dtype, (mt_dtype)out->dtype))
        dtype = (mt_dtype)out->dtype;
    return mt_out_prepare(call, 0, dtype, p->shape.ndim, p->shape.size, is_ordered ? stride : NULL, p->device, true);
}

int mt_meta_pointwise(mt_call *call)
{
    mt_pointwise_plan p;

    if (mt_pointwise_plan_make(&p, call) < 0)
        return -1;
    return mt_pointwise_plan_output(call, &p, false);
}

/* --- numbers of the loop --- */

static mt_scalar absent_value(mt_absent kind, mt_dtype row)
{
    static const double greatest[MT_DTYPE_COUNT] = {
        [MT_DTYPE_f16] = 65504.0, [MT_DTYPE_bf16] = 0x1.fep127, [MT_DTYPE_f32] = FLT_MAX,
        [MT_DTYPE_f64] = DBL_MAX, [MT_DTYPE_c64] = FLT_MAX,     [MT_DTYPE_c128] = DBL_MAX,
    };
    int bits = (int)mt_dtype_size(row) * 8;
    bool is_low = kind == MT_ABSENT_LOWEST || kind == MT_ABSENT_NEG_INF;
    int64_t high;

    if (kind == MT_ABSENT_ZERO || kind == MT_ABSENT_MINUS_ONE)
        return mt_scalar_from_int(kind == MT_ABSENT_ZERO ? 0 : -1);
    if (mt_dtype_category(row) >= MT_CAT_FLOAT) {
        double d = kind == MT_ABSENT_NEG_INF || kind == MT_ABSENT_INF ? HUGE_VAL : greatest[row];

        return mt_scalar_from_double(is_low ? -d : d);
    }
    if (row == MT_DTYPE_b8)
        return mt_scalar_from_bool(!is_low);
    high = row == MT_DTYPE_u8 ? 255 : (int64_t)(UINT64_MAX >> (65 - bits));
    return mt_scalar_from_int(!is_low ? high : row == MT_DTYPE_u8 ? 0 : -high - 1);
}

static mt_scalar number_of(const mt_value *v, mt_absent absent, mt_dtype row)
{
    switch ((mt_arg_kind)v->kind) {
    case MT_ARG_SCALAR:
        return v->v.scalar;
    case MT_ARG_INT:
        return mt_scalar_from_int(v->v.i);
    case MT_ARG_FLOAT:
        return mt_scalar_from_double(v->v.d);
    case MT_ARG_BOOL:
        return mt_scalar_from_bool(v->v.b);
    default:
        return absent_value(absent, row);
    }
}

static int check_fit(mt_fit fit, mt_scalar s, mt_dtype compute, mt_dtype element)
{
    return fit == MT_FIT_ANY ? 0 : mt_scalar_check(fit == MT_FIT_ELEMENT ? element : compute, s);
}

int mt_pointwise_params(mt_loop_params *out, const mt_op *op, const mt_value *args, mt_dtype row, mt_dtype element)
{
    const mt_pointwise_spec *spec = op->pointwise;
    mt_dtype compute = mt_compute_dtype(row);
    size_t size = mt_dtype_size(compute);

    for (int k = 0; k < spec->n_params; k++) {
        const mt_value *v = args ? &args[spec->param[k]] : &op->args[spec->param[k]].dflt;

        mt_scalar s = number_of(v, (mt_absent)spec->absent[k], row);

        if (args && v->kind != MT_ARG_NONE && check_fit((mt_fit)spec->fit[k], s, compute, element) < 0)
            return -1;
        mt_scalar_store(out->bytes + (size_t)k * size, compute, s);
    }
    return 0;
}

bool mt_pointwise_keeps_number(const mt_op *op)
{
    static const char *const names[] = {"add", "sub", "mul", "div", "floor_divide", "_div_floor", "_div_trunc"};

    for (size_t i = 0; i < MT_COUNTOF(names); i++)
        if (strcmp(op->name, names[i]) == 0)
            return true;
    return false;
}
