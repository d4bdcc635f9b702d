/* SPDX-License-Identifier: BSD-3-Clause */
/* A catalog in miniature: records with gradient formulas as the generator writes them, kernels that
   go element by element. Complex views are left out; they answer with an error. */
#include <math.h>

#include "autograd/autograd.h"
#include "check.h"
#include "core/frame.h"
#include "ops.h"

/* --- kernels --- */

static int prepare(mt_call *call, int ndim, const int64_t *size)
{
    return mt_out_prepare(call, 0, (mt_dtype)call->arg[0].v.tensor->dtype, ndim, size, NULL, MT_CPU, true);
}

static int64_t position(const mt_tensor *t, const mt_tensor *like, int64_t flat)
{
    int64_t at = 0;

    for (int d = like->ndim - 1; d >= 0; d--) {
        int own = d - (like->ndim - t->ndim);

        if (own >= 0 && t->size[own] > 1)
            at += flat % like->size[d] * t->stride[own];
        flat /= like->size[d];
    }
    return at;
}

static double get(const mt_tensor *t, int64_t at)
{
    return mt_scalar_to_double(
        mt_scalar_load(mt_tensor_const_data(t) + at * (int64_t)mt_tensor_itemsize(t), (mt_dtype)t->dtype));
}

static int binary(mt_call *call, double (*f)(double a, double b, double alpha), double alpha)
{
    mt_tensor *a = call->arg[0].v.tensor, *b = call->arg[1].v.tensor, *out;
    mt_shape shape = {0, {0}};

    if (a->dtype == MT_DTYPE_f32 && b->dtype == MT_DTYPE_f32 && a->numel == 1 && b->numel == 1 && a->ndim == b->ndim) {
        if (prepare(call, a->ndim, a->size) < 0)
            return -1;
        *(float *)mt_tensor_mutable_data(call->out[0]) =
            (float)f(*(const float *)mt_tensor_const_data(a), *(const float *)mt_tensor_const_data(b), alpha);
        return 0;
    }
    if (mt_shape_broadcast(&shape, a->ndim, a->size) < 0 || mt_shape_broadcast(&shape, b->ndim, b->size) < 0 ||
        prepare(call, shape.ndim, shape.size) < 0)
        return -1;
    out = call->out[0];
    for (int64_t i = 0; i < out->numel; i++)
        set_number(out, position(out, out, i), f(get(a, position(a, out, i)), get(b, position(b, out, i)), alpha));
    return mt_out_finish(call);
}

static double add_numbers(double a, double b, double alpha)
{
    return a + alpha * b;
}

static double mul_numbers(double a, double b, double alpha)
{
    (void)alpha;
    return a * b;
}

static int add_kernel(mt_call *call)
{
    return binary(call, add_numbers, mt_scalar_to_double(call->arg[2].v.scalar));
}

static int mul_kernel(mt_call *call)
{
    return binary(call, mul_numbers, 1);
}

static int exp_kernel(mt_call *call)
{
    mt_tensor *a = call->arg[0].v.tensor, *out;

    if (prepare(call, a->ndim, a->size) < 0)
        return -1;
    out = call->out[0];
    for (int64_t i = 0; i < out->numel; i++)
        set_number(out, position(out, out, i), exp(get(a, position(a, out, i))));
    return mt_out_finish(call);
}

static int clone_kernel(mt_call *call)
{
    mt_tensor *a = call->arg[0].v.tensor;

    if (prepare(call, a->ndim, a->size) < 0)
        return -1;
    return mt_tensor_assign(call->out[0], a);
}

static int copy_kernel(mt_call *call)
{
    return mt_tensor_assign(call->arg[0].v.tensor, call->arg[1].v.tensor);
}

static int zero_kernel(mt_call *call)
{
    mt_tensor *t = call->arg[0].v.tensor;

    for (int64_t i = 0; i < t->numel; i++)
        set_number(t, position(t, t, i), 0);
    return 0;
}

static int as_strided_kernel(mt_call *call)
{
    mt_ints size = call->arg[1].v.ints, stride = call->arg[2].v.ints;

    return mt_tensor_new_view(&call->out[0], call->arg[0].v.tensor, size.n, size.data, stride.data, call->arg[3].v.i);
}

static int view_kernel(mt_call *call)
{
    mt_ints size = call->arg[1].v.ints;
    int64_t stride[MT_MAX_DIM];

    mt_shape_contiguous_strides(stride, size.n, size.data);
    return mt_tensor_new_view(&call->out[0], call->arg[0].v.tensor, size.n, size.data, stride,
                              call->arg[0].v.tensor->offset);
}

static int sum_kernel(mt_call *call)
{
    mt_tensor *a = call->arg[0].v.tensor, *out;
    mt_ints dims = call->arg[1].v.ints;
    int64_t size[MT_MAX_DIM];

    for (int d = 0; d < a->ndim; d++)
        size[d] = a->size[d];
    for (int i = 0; i < dims.n; i++)
        size[dims.data[i]] = 1;
    if (prepare(call, a->ndim, size) < 0)
        return -1;
    out = call->out[0];
    for (int64_t i = 0; i < out->numel; i++)
        set_number(out, i, 0);
    for (int64_t i = 0; i < a->numel; i++) {
        int64_t at = position(out, a, i);

        set_number(out, at, get(out, at) + get(a, position(a, a, i)));
    }
    return 0;
}

static int unbind_kernel(mt_call *call)
{
    mt_tensor *a = call->arg[0].v.tensor;

    if (mt_call_set_list(call, (int)a->size[0]) < 0)
        return -1;
    for (int i = 0; i < call->n_outs; i++)
        if (mt_tensor_new_view(&call->out[i], a, a->ndim - 1, a->size + 1, a->stride + 1,
                               a->offset + i * a->stride[0]) < 0)
            return -1;
    return 0;
}

static int stack_kernel(mt_call *call)
{
    mt_tensors list = call->arg[0].v.tensors;
    int64_t size[MT_MAX_DIM] = {list.n};
    mt_tensor *first = list.data[0];

    for (int d = 0; d < first->ndim; d++)
        size[d + 1] = first->size[d];
    if (mt_out_prepare(call, 0, (mt_dtype)first->dtype, first->ndim + 1, size, NULL, MT_CPU, false) < 0)
        return -1;
    for (int k = 0; k < list.n; k++)
        for (int64_t i = 0; i < first->numel; i++)
            set_number(call->out[0], k * first->numel + i, number_at(list.data[k], i));
    return 0;
}

static int cast_kernel(mt_call *call)
{
    mt_tensor *a = call->arg[0].v.tensor;

    if (mt_out_prepare(call, 0, mt_arg_dtype(&call->arg[1]), a->ndim, a->size, NULL, MT_CPU, false) < 0)
        return -1;
    return mt_tensor_assign(call->out[0], a);
}

/* --- formulas --- */

static int add_backward(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    mt_tensor *alpha = NULL;
    int rc = -1;

    if (mt_node_needs(n, 0))
        out[0] = mt_tensor_ref(grads[0]);
    if (mt_node_needs(n, 1)) {
        if (mt_scalar_equals_int(n->saved[0].value.v.scalar, 1)) {
            out[1] = mt_tensor_ref(grads[0]);
        } else {
            MT_TRY(mt_tensor_full_0d(&alpha, n->saved[0].value.v.scalar, (mt_dtype)grads[0]->dtype, MT_CPU));
            MT_TRY(mt_mul(&out[1], grads[0], alpha));
        }
    }
    rc = 0;
fail:
    mt_tensor_clear(&alpha);
    return rc;
}

static int mul_backward(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    mt_tensor *self = NULL, *other = NULL;
    int rc = -1;

    if (mt_node_needs(n, 0)) {
        MT_TRY(mt_saved_tensor(&other, n, 1));
        MT_TRY(mt_mul(&out[0], grads[0], other));
    }
    if (mt_node_needs(n, 1)) {
        MT_TRY(mt_saved_tensor(&self, n, 0));
        MT_TRY(mt_mul(&out[1], grads[0], self));
    }
    rc = 0;
fail:
    mt_tensor_clear(&self);
    mt_tensor_clear(&other);
    return rc;
}

static int exp_backward(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    mt_tensor *result = NULL;
    int rc = -1;

    MT_TRY(mt_saved_tensor(&result, n, 0));
    MT_TRY(mt_mul(&out[0], grads[0], result));
    rc = 0;
fail:
    mt_tensor_clear(&result);
    return rc;
}

static int same_backward(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    (void)n;
    out[0] = mt_tensor_ref(grads[0]);
    return 0;
}

static int copy_backward(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    if (mt_node_needs(n, 0) && mt_node_zeros(&out[0], n, 0) < 0)
        return -1;
    if (mt_node_needs(n, 1))
        out[1] = mt_tensor_ref(grads[0]);
    return 0;
}

static int zero_backward(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    (void)grads;
    return mt_node_zeros(&out[0], n, 0);
}

/* The base is taken to be contiguous and at offset 0. */
static int as_strided_backward(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    mt_ints size = n->saved[0].value.v.ints;
    mt_tensor *whole = NULL, *part = NULL;
    int rc = -1;

    MT_TRY(mt_tensor_new_zeroed(&whole, (mt_dtype)grads[0]->dtype, size.n, size.data, MT_CPU));
    MT_TRY(mt_as_strided(&part, whole, n->saved[1].value.v.ints, n->saved[2].value.v.ints, &n->saved[3].value.v.i));
    MT_TRY(mt_copy_inplace(part, grads[0], false));
    out[0] = mt_tensor_move(&whole);
    rc = 0;
fail:
    mt_tensor_clear(&whole);
    mt_tensor_clear(&part);
    return rc;
}

static int view_backward(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    return mt_view(&out[0], grads[0], n->saved[0].value.v.ints);
}

static int sum_backward(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    mt_ints size = n->saved[0].value.v.ints;
    int64_t stride[MT_MAX_DIM] = {0};

    for (int d = 0; d < size.n; d++)
        stride[d] = grads[0]->size[d] == 1 ? 0 : grads[0]->stride[d];
    return mt_as_strided(&out[0], grads[0], size, (mt_ints){stride, size.n}, &grads[0]->offset);
}

static int unbind_backward(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    mt_tensor_list all = {NULL, 0};
    int rc = -1;

    MT_TRY(mt_tensor_list_new(&all, n->n_inputs));
    for (int i = 0; i < n->n_inputs; i++) {
        if (grads[i])
            all.data[i] = mt_tensor_ref(grads[i]);
        else
            MT_TRY(mt_node_zeros(&all.data[i], n, i));
    }
    MT_TRY(mt_stack_first(&out[0], (mt_tensors){all.data, all.n}));
    rc = 0;
fail:
    mt_tensor_list_clear(&all);
    return rc;
}

static int stack_backward(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    mt_tensor_list parts = {NULL, 0};
    int rc = -1;

    MT_TRY(mt_unbind_first(&parts, grads[0]));
    for (int i = 0; i < n->n_edges; i++)
        if (mt_node_needs(n, i))
            out[i] = mt_tensor_move(&parts.data[i]);
    rc = 0;
fail:
    mt_tensor_list_clear(&parts);
    return rc;
}

/* --- records --- */

static const uint8_t first[] = {0}, both[] = {0, 1};

#define SAVED(name, ...) static const mt_saved_spec name##_saved[] = {__VA_ARGS__}
SAVED(add, {MT_SAVE_ARG, 2, "alpha", 2});
SAVED(mul, {MT_SAVE_ARG, 0, "self", 2}, {MT_SAVE_ARG, 1, "other", 1});
SAVED(exp, {MT_SAVE_RESULT, 0, "result", 1});
SAVED(as_strided, {MT_SAVE_SIZES, 0, "self_sym_sizes", 1}, {MT_SAVE_ARG, 1, "size", 1}, {MT_SAVE_ARG, 2, "stride", 1},
      {MT_SAVE_ARG, 3, "storage_offset", 1});
SAVED(view, {MT_SAVE_SIZES, 0, "self_sym_sizes", 1});
SAVED(sum, {MT_SAVE_SIZES, 0, "self_sym_sizes", 1}, {MT_SAVE_ARG, 1, "dim", 1});

#define GRAD(name, text, n_inputs, inputs, saved)                                                          \
    static const mt_grad name##_grad = {text, MT_COUNTOF(saved), n_inputs, saved, inputs, name##_backward, \
                                        0,    MT_JVP_TRANSPOSE,  true,     true}
#define GRAD_PLAIN(name, text, n_inputs, inputs, backward) \
    static const mt_grad name##_grad = {text, 0, n_inputs, NULL, inputs, backward, 0, MT_JVP_TRANSPOSE, true, true}
GRAD(add, "AddBackward0", 2, both, add_saved);
GRAD(mul, "MulBackward0", 2, both, mul_saved);
GRAD(exp, "ExpBackward0", 1, first, exp_saved);
GRAD(as_strided, "AsStridedBackward0", 1, first, as_strided_saved);
GRAD(view, "ViewBackward0", 1, first, view_saved);
GRAD(sum, "SumBackward1", 1, first, sum_saved);
GRAD_PLAIN(clone, "CloneBackward0", 1, first, same_backward);
GRAD_PLAIN(copy, "CopyBackwards", 2, both, copy_backward);
GRAD_PLAIN(zero, "ZeroBackward0", 1, first, zero_backward);
GRAD_PLAIN(unbind, "UnbindBackward0", 1, first, unbind_backward);
GRAD_PLAIN(stack, "StackBackward0", 1, first, stack_backward);
GRAD_PLAIN(cast, "ToCopyBackward0", 1, first, same_backward);
GRAD_PLAIN(none, "NotImplemented", 1, first, NULL);

#define OP(name_, text, n_args_, flags_, grad_, kernel_)                                        \
    static const mt_op name_##_op = {.name = text,                                              \
                                     .overload = "",                                            \
                                     .n_args = n_args_,                                         \
                                     .n_outs = 1,                                               \
                                     .flags = flags_,                                           \
                                     .grad = grad_,                                             \
                                     .kernel = {[MT_KEY_CPU] = kernel_,                         \
                                                [MT_KEY_VIEW_INPLACE] = mt_view_inplace_kernel, \
                                                [MT_KEY_AUTOGRAD] = mt_autograd_kernel}}
OP(add, "add", 3, MT_OPF_INPLACE_OK | MT_OPF_OUT_OK, &add_grad, add_kernel);
OP(mul, "mul", 2, MT_OPF_INPLACE_OK, &mul_grad, mul_kernel);
OP(exp, "exp", 1, MT_OPF_INPLACE_OK, &exp_grad, exp_kernel);
OP(clone, "clone", 1, 0, &clone_grad, clone_kernel);
OP(copy, "copy_", 2, MT_OPF_MUTATES_SELF, &copy_grad, copy_kernel);
OP(zero, "zero_", 1, MT_OPF_MUTATES_SELF, &zero_grad, zero_kernel);
OP(as_strided, "as_strided", 4, MT_OPF_VIEW, &as_strided_grad, as_strided_kernel);
OP(view, "view", 2, MT_OPF_VIEW, &view_grad, view_kernel);
OP(sum, "sum", 2, 0, &sum_grad, sum_kernel);
OP(unbind, "unbind", 1, MT_OPF_VIEW | MT_OPF_LIST_OUT, &unbind_grad, unbind_kernel);
OP(stack, "stack", 1, 0, &stack_grad, stack_kernel);
OP(cast, "_to_copy", 2, 0, &cast_grad, cast_kernel);
OP(none, "no_formula", 1, 0, &none_grad, clone_kernel);

const mt_op mt_op_table[] = {{.name = "add", .overload = ""}}; /* for the short road, which is closed here */
const int mt_op_count = 1;

/* --- the typed interface --- */

static int run_function(mt_tensor **out, mt_call *call)
{
    int rc = mt_dispatch(call);

    *out = rc == 0 ? mt_tensor_move(&call->out[0]) : NULL;
    mt_call_clear(call);
    return rc;
}

static int run_written(mt_call *call, mt_tensor *written)
{
    int rc;

    if (call->variant != MT_VARIANT_FUNCTION)
        call->out[0] = mt_tensor_ref(written);
    else
        call->n_outs = 0;
    rc = mt_dispatch(call);
    mt_call_clear(call);
    return rc;
}

static void fill(mt_call *call, const mt_op *op, mt_variant variant, mt_tensor *self)
{
    mt_call_init(call, op, variant);
    mt_arg_set_tensor(&call->arg[0], self);
}

int mt_add(mt_tensor **out, mt_tensor *self, mt_tensor *other, mt_scalar alpha)
{
    mt_call call;

    fill(&call, &add_op, MT_VARIANT_FUNCTION, self);
    mt_arg_set_tensor(&call.arg[1], other);
    mt_arg_set_scalar(&call.arg[2], alpha);
    return run_function(out, &call);
}

int mt_add_inplace(mt_tensor *self, mt_tensor *other, mt_scalar alpha)
{
    mt_call call;

    fill(&call, &add_op, MT_VARIANT_INPLACE, self);
    mt_arg_set_tensor(&call.arg[1], other);
    mt_arg_set_scalar(&call.arg[2], alpha);
    return run_written(&call, self);
}

int mt_add_out(mt_tensor *out, mt_tensor *self, mt_tensor *other, mt_scalar alpha)
{
    mt_call call;

    fill(&call, &add_op, MT_VARIANT_OUT, self);
    mt_arg_set_tensor(&call.arg[1], other);
    mt_arg_set_scalar(&call.arg[2], alpha);
    return run_written(&call, out);
}

int mt_mul(mt_tensor **out, mt_tensor *self, mt_tensor *other)
{
    mt_call call;

    fill(&call, &mul_op, MT_VARIANT_FUNCTION, self);
    mt_arg_set_tensor(&call.arg[1], other);
    return run_function(out, &call);
}

int mt_mul_inplace(mt_tensor *self, mt_tensor *other)
{
    mt_call call;

    fill(&call, &mul_op, MT_VARIANT_INPLACE, self);
    mt_arg_set_tensor(&call.arg[1], other);
    return run_written(&call, self);
}

static int unary(mt_tensor **out, const mt_op *op, mt_tensor *self)
{
    mt_call call;

    fill(&call, op, MT_VARIANT_FUNCTION, self);
    return run_function(out, &call);
}

int mt_exp(mt_tensor **out, mt_tensor *self)
{
    return unary(out, &exp_op, self);
}

int mt_exp_inplace(mt_tensor *self)
{
    mt_call call;

    fill(&call, &exp_op, MT_VARIANT_INPLACE, self);
    return run_written(&call, self);
}

int mt_clone(mt_tensor **out, mt_tensor *self, int memory_format)
{
    (void)memory_format;
    return unary(out, &clone_op, self);
}

int mt_no_formula(mt_tensor **out, mt_tensor *self)
{
    return unary(out, &none_op, self);
}

int mt_copy_inplace(mt_tensor *self, mt_tensor *src, bool non_blocking)
{
    mt_call call;

    (void)non_blocking;
    fill(&call, &copy_op, MT_VARIANT_INPLACE, self);
    mt_arg_set_tensor(&call.arg[1], src);
    return run_written(&call, self);
}

int mt_zero_inplace(mt_tensor *self)
{
    mt_call call;

    fill(&call, &zero_op, MT_VARIANT_INPLACE, self);
    return run_written(&call, self);
}

int mt_as_strided(mt_tensor **out, mt_tensor *self, mt_ints size, mt_ints stride, const int64_t *storage_offset)
{
    mt_call call;

    fill(&call, &as_strided_op, MT_VARIANT_FUNCTION, self);
    mt_arg_set_ints(&call.arg[1], size);
    mt_arg_set_ints(&call.arg[2], stride);
    mt_arg_set_int(&call.arg[3], *storage_offset);
    return run_function(out, &call);
}

int mt_view(mt_tensor **out, mt_tensor *self, mt_ints size)
{
    mt_call call;

    fill(&call, &view_op, MT_VARIANT_FUNCTION, self);
    mt_arg_set_ints(&call.arg[1], size);
    return run_function(out, &call);
}

int mt_sum_dim_IntList(mt_tensor **out, mt_tensor *self, mt_ints dim, bool keepdim, mt_dtype dtype)
{
    mt_call call;

    (void)keepdim;
    (void)dtype;
    fill(&call, &sum_op, MT_VARIANT_FUNCTION, self);
    mt_arg_set_ints(&call.arg[1], dim);
    return run_function(out, &call);
}

int mt_sum(mt_tensor **out, mt_tensor *self, mt_dtype dtype)
{
    int64_t dims[MT_MAX_DIM];
    mt_tensor *kept = NULL;
    int rc;

    for (int i = 0; i < self->ndim; i++)
        dims[i] = i;
    if (mt_sum_dim_IntList(&kept, self, (mt_ints){dims, self->ndim}, true, dtype) < 0)
        return -1;
    rc = mt_view(out, kept, (mt_ints){NULL, 0});
    mt_tensor_unref(kept);
    return rc;
}

int mt_unbind_first(mt_tensor_list *out, mt_tensor *self)
{
    mt_call call;
    int rc = -1;

    fill(&call, &unbind_op, MT_VARIANT_FUNCTION, self);
    MT_TRY(mt_dispatch(&call));
    MT_TRY(mt_tensor_list_new(out, call.n_outs));
    for (int i = 0; i < call.n_outs; i++)
        out->data[i] = mt_tensor_move(&call.out[i]);
    rc = 0;
fail:
    mt_call_clear(&call);
    return rc;
}

int mt_stack_first(mt_tensor **out, mt_tensors list)
{
    mt_call call;

    mt_call_init(&call, &stack_op, MT_VARIANT_FUNCTION);
    mt_arg_set_tensors(&call.arg[0], list);
    return run_function(out, &call);
}

int mt_to_copy(mt_tensor **out, mt_tensor *self, mt_dtype dtype, int layout, mt_device device, const bool *pin_memory,
               bool non_blocking, int memory_format)
{
    mt_call call;

    (void)layout, (void)device, (void)pin_memory, (void)non_blocking, (void)memory_format;
    fill(&call, &cast_op, MT_VARIANT_FUNCTION, self);
    mt_arg_set_dtype(&call.arg[1], dtype);
    return run_function(out, &call);
}

/* --- left out --- */

int mt_fast_binary(mt_tensor **out, const mt_op *op, mt_tensor *a, mt_tensor *b)
{
    (void)out, (void)op, (void)a, (void)b;
    return 0;
}

int mt_fast_binary_scalar(mt_tensor **out, const mt_op *op, mt_tensor *a, mt_scalar b, bool scalar_first)
{
    (void)out, (void)op, (void)a, (void)b, (void)scalar_first;
    return 0;
}

int mt_fast_unary(mt_tensor **out, const mt_op *op, mt_tensor *a)
{
    (void)out, (void)op, (void)a;
    return 0;
}

int mt_fast_call(mt_call *call)
{
    (void)call;
    return 0;
}

static int missing(mt_tensor **out)
{
    *out = NULL;
    return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "not part of this catalog");
}

int mt_view_as_real(mt_tensor **out, mt_tensor *self)
{
    (void)self;
    return missing(out);
}

int mt_view_as_complex(mt_tensor **out, mt_tensor *self)
{
    (void)self;
    return missing(out);
}

int mt_conj(mt_tensor **out, mt_tensor *self)
{
    (void)self;
    return missing(out);
}

int mt_neg_view(mt_tensor **out, mt_tensor *self)
{
    (void)self;
    return missing(out);
}

int mt_real(mt_tensor **out, mt_tensor *self)
{
    (void)self;
    return missing(out);
}

int mt_narrow(mt_tensor **out, mt_tensor *self, int64_t dim, int64_t start, int64_t length)
{
    (void)self, (void)dim, (void)start, (void)length;
    return missing(out);
}

int mt_equal(bool *out, mt_tensor *self, mt_tensor *other)
{
    (void)self, (void)other;
    *out = false;
    return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "not part of this catalog");
}

int mt_fill_inplace_Scalar(mt_tensor *self, mt_scalar value)
{
    mt_tensor *number = NULL;
    int rc = -1;

    MT_TRY(mt_tensor_full_0d(&number, value, (mt_dtype)self->dtype, self->device));
    rc = mt_copy_inplace(self, number, false);
fail:
    mt_tensor_clear(&number);
    return rc;
}

int mt_expand(mt_tensor **out, mt_tensor *self, mt_ints size, bool implicit)
{
    int64_t stride[MT_MAX_DIM];
    int extra = size.n - self->ndim;

    (void)implicit;
    for (int i = 0; i < size.n; i++)
        stride[i] = i < extra || self->size[i - extra] != size.data[i] ? 0 : self->stride[i - extra];
    return mt_as_strided(out, self, size, (mt_ints){stride, size.n}, &self->offset);
}
