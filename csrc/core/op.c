/* SPDX-License-Identifier: BSD-3-Clause */
/* Call frames: owned outputs, lists, and the rules by which an output is allocated, checked or
   replaced by a temporary. An output that cannot be written directly (other dtype, memory shared
   with an input) stays in user_out while the kernel works on a temporary; mt_out_finish copies it
   over. The tables of loops live here too. */
#include "core/op.h"

#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "core/shape.h"

const mt_loop_row *mt_loop_tables[MT_DEVICE_TYPE_COUNT][MT_FAMILY_COUNT];
const mt_reduce_row *mt_reduce_tables[MT_DEVICE_TYPE_COUNT];
mt_reduce_runner *mt_reduce_runners[MT_DEVICE_TYPE_COUNT];

/* --- lists and frames --- */

int mt_tensor_list_new(mt_tensor_list *out, int n)
{
    void *p = NULL;

    out->data = NULL;
    out->n = 0;
    if (n > 0 && mt_calloc(&p, (size_t)n, sizeof(mt_tensor *)) < 0)
        return -1;
    out->data = p;
    out->n = n;
    return 0;
}

void mt_tensor_list_clear(mt_tensor_list *list)
{
    for (int i = 0; i < list->n; i++)
        mt_tensor_unref(list->data[i]);
    mt_free(list->data);
    list->data = NULL;
    list->n = 0;
}

int mt_each_check(const char *op, const int *lengths, int n_lists)
{
    if (lengths[0] == 0)
        return mt_error_set(MT_ERR_RUNTIME, "%s(): a list must have at least one element", op);
    for (int i = 1; i < n_lists; i++)
        if (lengths[i] != lengths[0])
            return mt_error_set(MT_ERR_RUNTIME, "%s(): lists must be of one length, got %d and %d", op, lengths[0],
                                lengths[i]);
    return 0;
}

int (*mt_inplace_check)(mt_tensor *t);

int mt_each_writable(mt_tensors list)
{
    for (int i = 0; i < list.n; i++)
        if (mt_assert_no_internal_overlap(list.data[i]) < 0 ||
            (mt_tensor_requires_grad(list.data[i]) && mt_inplace_check && mt_inplace_check(list.data[i]) < 0))
            return -1;
    return 0;
}

bool mt_each_alike(mt_tensor *const *first, mt_tensor *const *now, int n_lists)
{
    for (int k = 0; k < n_lists; k++)
        if (now[k]->dtype != first[k]->dtype || !mt_device_equal(now[k]->device, first[k]->device) ||
            !mt_shape_equal(now[k]->ndim, now[k]->size, now[0]->ndim, now[0]->size) ||
            !mt_shape_equal(first[k]->ndim, first[k]->size, first[0]->ndim, first[0]->size) ||
            mt_overlap_internal(now[k]) != MT_OVERLAP_NO)
            return false;
    return true;
}

int mt_each_shadows(mt_tensor **out, mt_tensor *const *now, int n_lists)
{
    mt_device meta = {MT_DEVICE_META, -1};

    for (int k = 0; k < n_lists; k++) {
        const mt_tensor *t = now[k];

        /* small ones with memory: only kernels know which dtypes they refuse */
        if (t->device.type == MT_DEVICE_CPU && t->numel <= 65536) {
            if (mt_tensor_new_zeroed(&out[k], (mt_dtype)t->dtype, t->ndim, t->size, MT_CPU) < 0)
                return -1;
        } else if (mt_tensor_new_strided(&out[k], (mt_dtype)t->dtype, t->ndim, t->size, t->stride, meta) < 0) {
            return -1;
        }
    }
    return 0;
}

int mt_call_set_list(mt_call *call, int n)
{
    void *p;

    if (n <= MT_MAX_OUTS) {
        memset(call->out_inline, 0, sizeof(call->out_inline));
        call->out = call->out_inline;
    } else {
        if (mt_calloc(&p, (size_t)n, sizeof(mt_tensor *)) < 0)
            return -1;
        call->out = p;
    }
    call->n_outs = n;
    return 0;
}

void mt_call_clear(mt_call *call)
{
    for (int i = 0; i < call->n_outs; i++)
        mt_tensor_unref(call->out[i]);
    for (int i = 0; i < call->op->n_outs; i++)
        mt_tensor_clear(&call->user_out[i]);
    if (call->out != call->out_inline)
        mt_free(call->out);
    call->out = call->out_inline;
    call->n_outs = 0;
}

/* --- outputs --- */

static MT_COLD int cannot_cast(mt_dtype from, mt_dtype to)
{
    return mt_error_set(MT_ERR_RUNTIME, "result type %s can't be cast to the desired output type %s",
                        mt_dtype_table[from].legacy, mt_dtype_table[to].legacy);
}

static MT_COLD int wrong_device(mt_device expected, mt_device got)
{
    char a[24], b[24];

    return mt_error_set(MT_ERR_RUNTIME, "Expected out tensor to have device %s, but got %s instead",
                        mt_device_format(a, expected), mt_device_format(b, got));
}

static MT_COLD int wrong_inplace_shape(const mt_tensor *out, int ndim, const int64_t *size)
{
    mt_shape_text a, b;

    return mt_error_set(MT_ERR_RUNTIME, "output with shape %s doesn't match the broadcast shape %s",
                        mt_shape_format(&a, out->size, out->ndim), mt_shape_format(&b, size, ndim));
}

/* Elements of `out` share memory with each other, or with an argument that is not `out` itself. */
static bool is_entangled(const mt_call *call, const mt_tensor *out)
{
    if (mt_overlap_internal(out) == MT_OVERLAP_YES)
        return true;
    for (int i = 0; i < call->n_args; i++)
        if (call->arg[i].kind == MT_ARG_TENSOR && mt_overlap_between(out, call->arg[i].v.tensor) == MT_OVERLAP_YES)
            return true;
    return false;
}

/* May the kernel write `out` while it reads the arguments? Errors for overlaps that are never
   right. */
static int overlaps_inputs(bool *must_copy, const mt_call *call, const mt_tensor *out, bool allow_alias)
{
    for (int i = 0; i < call->n_args; i++) {
        const mt_value *a = &call->arg[i];
        mt_tensor *const *list = a->kind == MT_ARG_TENSORS ? a->v.tensors.data : &a->v.tensor;
        int n = a->kind == MT_ARG_TENSORS ? a->v.tensors.n : a->kind == MT_ARG_TENSOR;

        for (int j = 0; j < n; j++) {
            const mt_tensor *in = list[j];

            if (!in || in->storage != out->storage)
                continue;
            if (!allow_alias && mt_overlap_between(out, in) != MT_OVERLAP_NO)
                *must_copy = true;
            else if (mt_assert_no_partial_overlap(out, in) < 0)
                return -1;
        }
    }
    return 0;
}

static int resize_out(mt_tensor *out, int ndim, const int64_t *size, const int64_t *stride)
{
    mt_shape_text a, b;
    int64_t kept[MT_MAX_DIM];

    if (out->numel > 0 &&
        mt_warn(MT_WARN_USER,
                "An output with one or more elements was resized since it had shape %s, which does not "
                "match the required output shape %s. This behavior is deprecated, and in a future "
                "PyTorch release outputs will not be resized unless they have zero elements. You can "
                "explicitly reuse an out tensor t by resizing "
                "it, inplace, to zero elements with t.resize_(0).",
                mt_shape_format(&a, out->size, out->ndim), mt_shape_format(&b, size, ndim)) < 0)
        return -1;
    for (int i = 0; i < ndim; i++) /* `size` may belong to the tensor */
        kept[i] = size[i];
    if (mt_tensor_resize(out, ndim, kept) < 0)
        return -1;
    return stride ? mt_tensor_set_geometry(out, ndim, kept, stride, out->offset) : 0;
}

/* The kernel gets a contiguous temporary, or one with the destination's order when the dtype
   agrees. */
static int use_temporary(mt_call *call, int k, mt_dtype dtype, mt_device device)
{
    mt_tensor *temporary, *out = call->out[k];

    if (mt_tensor_new(&temporary, dtype, out->ndim, out->size, device) < 0)
        return -1;
    call->user_out[k] = out;
    call->out[k] = temporary;
    return 0;
}

static bool is_argument(const mt_call *call, const mt_tensor *out)
{
    for (int i = 0; i < call->n_args; i++) {
        const mt_value *a = &call->arg[i];
        mt_tensor *const *list = a->kind == MT_ARG_TENSORS ? a->v.tensors.data : &a->v.tensor;
        int n = a->kind == MT_ARG_TENSORS ? a->v.tensors.n : a->kind == MT_ARG_TENSOR;

        for (int j = 0; j < n; j++)
            if (list[j] == out)
                return true;
    }
    return false;
}

/* An argument that is to be resized keeps its shape until the kernel has read it: mt_out_finish resizes. */
static int resize_later(mt_call *call, int k, mt_dtype dtype, int ndim, const int64_t *size, mt_device device)
{
    mt_tensor *temporary;

    if (mt_out_refuse(call, k, dtype, ndim, size, device) < 0 ||
        mt_tensor_new(&temporary, dtype, ndim, size, device) < 0)
        return -1;
    call->user_out[k] = call->out[k];
    call->out[k] = temporary;
    return 0;
}

int mt_out_refuse(const mt_call *call, int k, mt_dtype dtype, int ndim, const int64_t *size, mt_device device)
{
    const mt_tensor *out = call->out[k];

    if (call->variant == MT_VARIANT_INPLACE && !mt_shape_equal(ndim, size, out->ndim, out->size))
        return wrong_inplace_shape(out, ndim, size);
    if (!mt_device_equal(out->device, device))
        return wrong_device(device, out->device);
    if (!mt_dtype_can_cast(dtype, (mt_dtype)out->dtype) || !mt_cast_exists(dtype, (mt_dtype)out->dtype))
        return cannot_cast(dtype, (mt_dtype)out->dtype);
    return 0;
}

int mt_out_check(mt_call *call, int k, mt_dtype dtype, int ndim, const int64_t *size, const int64_t *stride,
                 mt_device device)
{
    mt_tensor *out = call->out[k];

    if (mt_out_refuse(call, k, dtype, ndim, size, device) < 0)
        return -1;
    if (mt_shape_equal(ndim, size, out->ndim, out->size))
        return 0;
    return resize_out(out, ndim, size, stride);
}

int mt_out_prepare(mt_call *call, int k, mt_dtype dtype, int ndim, const int64_t *size, const int64_t *stride,
                   mt_device device, bool allow_alias)
{
    mt_tensor *out = call->out[k];
    bool must_copy;

    if (MT_LIKELY(!out)) {
        if (stride)
            return mt_tensor_new_strided(&call->out[k], dtype, ndim, size, stride, device);
        return mt_tensor_new(&call->out[k], dtype, ndim, size, device);
    }
    if (MT_UNLIKELY(!mt_shape_equal(ndim, size, out->ndim, out->size)) && is_argument(call, out))
        return resize_later(call, k, dtype, ndim, size, device);
    if (mt_out_check(call, k, dtype, ndim, size, stride, device) < 0)
        return -1;
    must_copy = out->dtype != (uint8_t)dtype || (out->flags & (MT_FLAG_CONJ | MT_FLAG_NEG));
    if (mt_tensor_own(out) < 0)
        return -1;
    if ((call->op->flags & MT_OPF_ANY_MEMORY) && is_entangled(call, out))
        return use_temporary(call, k, dtype, device);
    if (mt_assert_no_internal_overlap(out) < 0 || overlaps_inputs(&must_copy, call, out, allow_alias) < 0)
        return -1;
    return must_copy ? use_temporary(call, k, dtype, device) : 0;
}

int mt_out_finish_given(mt_call *call)
{
    for (int k = 0; k < call->op->n_outs; k++) {
        mt_tensor *to = call->user_out[k];

        const mt_tensor *made = call->out[k];

        if (MT_LIKELY(!to))
            continue;
        if (!mt_shape_equal(made->ndim, made->size, to->ndim, to->size) &&
            resize_out(to, made->ndim, made->size, NULL) < 0)
            return -1;
        if (mt_tensor_assign(to, call->out[k]) < 0)
            return -1;
        mt_tensor_unref(call->out[k]);
        call->out[k] = to;
        call->user_out[k] = NULL;
    }
    return 0;
}

int mt_arg_contiguous(mt_tensor **out, mt_tensor *t)
{
    *out = NULL;
    if (!t)
        return 0;
    if ((t->flags & MT_FLAG_CONTIGUOUS) && !(t->flags & (MT_FLAG_CONJ | MT_FLAG_NEG))) {
        *out = mt_tensor_ref(t);
        return 0;
    }
    return mt_tensor_materialize(out, t);
}
