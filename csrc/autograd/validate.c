/* SPDX-License-Identifier: BSD-3-Clause */
/* The one place where a gradient is made to look like the value it belongs to: summed over
   broadcast dimensions, its real part taken, cast. Formulas therefore never mention broadcasting or
   dtypes. A gradient of a Python function is held to stricter rules than that of a formula. */
#include "autograd/autograd_internal.h"

#include "base/strbuf.h"
#include "core/shape.h"
#include "ops.h"

int mt_node_zeros(mt_tensor **out, mt_node *n, int k)
{
    const mt_input_meta *m = &n->input[k];

    *out = NULL;
    if (m->dtype == MT_DTYPE_NONE)
        return 0;
    return mt_tensor_new_zeroed(out, (mt_dtype)m->dtype, m->ndim, m->size, m->device);
}

int mt_gradient_cast(mt_tensor **grad, mt_dtype dtype)
{
    mt_tensor *cast = NULL;

    if (mt_autograd_op_cast(&cast, *grad, dtype, MT_DEVICE_NONE) < 0)
        return -1;
    mt_tensor_unref(*grad);
    *grad = cast;
    return 0;
}

/* Sum over the dimensions that broadcasting added or stretched. */
static int sum_to(mt_tensor **grad, const mt_input_meta *want)
{
    mt_tensor *g = *grad, *sum = NULL, *view = NULL;
    int64_t dims[MT_MAX_DIM];
    int n = 0, extra = g->ndim - want->ndim;
    int rc = -1;

    if (want->ndim == 0) { /* g has dimensions, of whatever size */
        MT_TRY(mt_sum(&sum, g, MT_DTYPE_NONE));
        mt_tensor_unref(g);
        *grad = sum;
        return 0;
    }
    for (int i = 0; i < g->ndim; i++)
        if (i < extra || (want->size[i - extra] == 1 && g->size[i] != 1))
            dims[n++] = i;
    if (n)
        MT_TRY(mt_autograd_op_sum(&sum, g, (mt_ints){dims, n}));
    else
        sum = mt_tensor_ref(g);
    if (extra) {
        MT_TRY(mt_view(&view, sum, (mt_ints){want->size, want->ndim}));
        mt_tensor_unref(sum);
        sum = mt_tensor_move(&view);
    }
    mt_tensor_unref(*grad);
    *grad = mt_tensor_move(&sum);
    rc = 0;
fail:
    mt_tensor_clear(&sum);
    return rc;
}

/* `from` is NULL for a gradient that backward() was given. */
MT_COLD static int raise_misfit(const mt_node *from, int index, const char *got, const char *expected)
{
    return mt_error_set(
        MT_ERR_RUNTIME, "%s%s%snvalid gradient at index %d - got %s but expected shape compatible with %s",
        from ? "Function " : "", from ? mt_node_name(from) : "", from ? " returned an i" : "i", index, got, expected);
}

static int fit_shape(mt_tensor **grad, const mt_node *from, int index, const mt_input_meta *want)
{
    const mt_tensor *g = *grad;
    mt_shape_text got, expected;

    if (mt_shape_equal(g->ndim, g->size, want->ndim, want->size))
        return 0;
    if (mt_shape_is_broadcastable(want->ndim, want->size, g->ndim, g->size))
        return sum_to(grad, want);
    return raise_misfit(from, index, mt_shape_format(&got, g->size, g->ndim),
                        mt_shape_format(&expected, want->size, want->ndim));
}

static int fit_dtype(mt_tensor **grad, const mt_node *from, const mt_input_meta *want)
{
    mt_dtype have = (mt_dtype)(*grad)->dtype;

    if (want->dtype == MT_DTYPE_NONE || have == want->dtype)
        return 0;
    if (mt_dtype_is_complex(have) && !mt_dtype_is_complex((mt_dtype)want->dtype)) {
        mt_tensor *real = NULL;

        if (!from || (from->flags & MT_NODE_CUSTOM))
            return mt_error_set(MT_ERR_RUNTIME,
                                "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == "
                                "grad_is_complex) to be true, but got false.  (Could this error message be "
                                "improved?  If so, please report an enhancement request to PyTorch.)");
        if (mt_real(&real, *grad) < 0)
            return -1;
        mt_tensor_unref(*grad);
        *grad = real;
        if (real->dtype == want->dtype)
            return 0;
    }
    return mt_gradient_cast(grad, (mt_dtype)want->dtype);
}

static int fit_device(mt_tensor **grad, const mt_node *from, int index, const mt_input_meta *want)
{
    mt_tensor *moved = NULL;
    char got[24], expected[24];

    if (mt_device_equal((*grad)->device, want->device))
        return 0;
    if ((*grad)->ndim == 0) {
        if (mt_autograd_op_cast(&moved, *grad, (mt_dtype)(*grad)->dtype, want->device) < 0)
            return -1;
        mt_tensor_unref(*grad);
        *grad = moved;
        return 0;
    }
    return mt_error_set(MT_ERR_RUNTIME, "%s%s%snvalid gradient at index %d - expected device %s but got %s",
                        from ? "Function " : "", from ? mt_node_name(from) : "", from ? " returned an i" : "i", index,
                        mt_device_format(expected, want->device), mt_device_format(got, (*grad)->device));
}

int mt_gradient_fit(mt_tensor **grad, const mt_node *from, int index, const mt_input_meta *want)
{
    if (!want->takes_grad)
        return 0;
    if (fit_shape(grad, from, index, want) < 0 || fit_dtype(grad, from, want) < 0)
        return -1;
    return fit_device(grad, from, index, want);
}
