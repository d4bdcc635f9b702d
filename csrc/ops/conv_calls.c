/* SPDX-License-Identifier: BSD-3-Clause */
/* What is made of convolution: conv1d to conv3d and their transposed forms, which take an input without batch dim as a batch
   of one, complex convolution as three real ones, padding by name, and the gradients of the gradients, which are convolutions again. */
#include <string.h>

#include "base/strbuf.h"
#include "core/formula.h"
#include "ops.h"

static const mt_ints no_padding = {(const int64_t[]){0, 0, 0}, 1};
static const mt_scalar one = {MT_CAT_INT, 0, {1}};

/* --- one call --- */

typedef struct call_args {
    mt_tensor *input, *weight, *bias;
    mt_ints stride, padding, dilation, output_padding;
    int64_t groups;
    bool transposed;
    int nd;
} call_args;

static int check_input(const call_args *c)
{
    mt_shape_text text;

    if (c->input->ndim == c->nd + 1 || c->input->ndim == c->nd + 2)
        return 0;
    return mt_error_set(MT_ERR_RUNTIME,
                        "Expected %dD (unbatched) or %dD (batched) input to conv%s%dd, but got input of size: %s",
                        c->nd + 1, c->nd + 2, c->transposed ? "_transpose" : "", c->nd,
                        mt_shape_format(&text, c->input->size, c->input->ndim));
}

static int run_real(mt_tensor **out, const call_args *c, mt_tensor *input, mt_tensor *weight, mt_tensor *bias)
{
    return mt_convolution(out, input, weight, bias, c->stride, c->padding, c->dilation, c->transposed,
                          c->output_padding, c->groups);
}

/* t (which may be NULL) as its real part, its imaginary part and the sum of both. */
static int take_parts(mt_tensor *part[3], mt_tensor *t)
{
    if (!t)
        return 0;
    if (mt_real(&part[0], t) < 0 || mt_imag(&part[1], t) < 0)
        return -1;
    return mt_add(&part[2], part[0], part[1], one);
}

/* Three real convolutions: of the real parts, of the imaginary parts, and of the sums, which holds the products across. */
static int run_complex(mt_tensor **out, const call_args *c, mt_tensor *input)
{
    mt_tensor *x[3] = {NULL, NULL, NULL}, *w[3] = {NULL, NULL, NULL}, *b[3] = {NULL, NULL, NULL};
    mt_tensor *y[3] = {NULL, NULL, NULL}, *re = NULL, *im = NULL, *rest = NULL;
    int rc = -1;

    MT_TRY(take_parts(x, input));
    MT_TRY(take_parts(w, c->weight));
    MT_TRY(take_parts(b, c->bias));
    MT_TRY(run_real(&y[0], c, x[0], w[0], b[0]));
    MT_TRY(run_real(&y[1], c, x[1], w[1], NULL));
    MT_TRY(run_real(&y[2], c, x[2], w[2], b[2]));
    MT_TRY(mt_sub(&re, y[0], y[1], one));
    MT_TRY(mt_sub(&rest, y[2], y[0], one));
    MT_TRY(mt_sub(&im, rest, y[1], one));
    MT_TRY(mt_complex(out, re, im));
    rc = 0;
fail:
    for (int i = 0; i < 3; i++) {
        mt_tensor_clear(&x[i]);
        mt_tensor_clear(&w[i]);
        mt_tensor_clear(&b[i]);
        mt_tensor_clear(&y[i]);
    }
    mt_tensor_clear(&re);
    mt_tensor_clear(&im);
    mt_tensor_clear(&rest);
    return rc;
}

static int convolve(mt_tensor **out, const call_args *c, mt_tensor *input)
{
    bool is_complex = mt_dtype_is_complex((mt_dtype)input->dtype) && c->weight->dtype == input->dtype &&
                      (!c->bias || c->bias->dtype == input->dtype);

    return is_complex ? run_complex(out, c, input) : run_real(out, c, input, c->weight, c->bias);
}

static int run(mt_tensor **out, const call_args *c)
{
    mt_tensor *batch = NULL, *result = NULL;
    int rc = -1;

    *out = NULL;
    MT_TRY(check_input(c));
    if (c->input->ndim == c->nd + 2)
        return convolve(out, c, c->input);
    MT_TRY(mt_unsqueeze(&batch, c->input, 0));
    MT_TRY(convolve(&result, c, batch));
    MT_TRY(mt_squeeze_dim(out, result, 0));
    rc = 0;
fail:
    mt_tensor_clear(&batch);
    mt_tensor_clear(&result);
    return rc;
}

/* --- padding by name --- */

static int64_t repeated(mt_ints list, int i)
{
    return list.data[list.n == 1 ? 0 : i];
}

/* Half of what a kernel takes off goes on either side; an odd element goes behind, through a padded copy. */
static int run_same(mt_tensor **out, call_args *c)
{
    int64_t before[3] = {0}, extra[6] = {0};
    mt_tensor *padded = NULL;
    bool is_odd = false;
    int rc = -1;

    *out = NULL;
    MT_TRY(check_input(c));
    MT_REQUIRE(c->weight->ndim == c->nd + 2, MT_ERR_RUNTIME,
               c->weight->ndim < 3 ? "weight should have at least three dimensions"
                                   : "the weight does not fit the convolution");
    MT_REQUIRE(c->dilation.n == 1 || c->dilation.n == c->nd, MT_ERR_RUNTIME,
               "expected dilation to be a single integer value or a list of %d values to match the convolution "
               "dimensions",
               c->nd);
    for (int i = 0; i < c->stride.n; i++)
        MT_REQUIRE(c->stride.data[i] == 1, MT_ERR_RUNTIME, "padding='same' is not supported for strided convolutions");
    for (int i = 0; i < c->nd; i++) {
        int64_t dilation = repeated(c->dilation, i), total;

        MT_REQUIRE(dilation >= 1 && dilation < (int64_t)1 << 31 && c->weight->size[2 + i] < (int64_t)1 << 31,
                   MT_ERR_RUNTIME, "dilation should be greater than zero, but got %lld", (long long)dilation);
        total = dilation * (c->weight->size[2 + i] - 1);
        before[i] = total > 0 ? total / 2 : 0;
        if (total % 2 == 1) {
            extra[2 * (c->nd - 1 - i) + 1] = 1;
            is_odd = true;
        }
    }
    c->padding = (mt_ints){before, c->nd};
    if (is_odd) {
        MT_TRY(mt_constant_pad_nd(&padded, c->input, (mt_ints){extra, 2 * c->nd}, mt_scalar_from_int(0)));
        c->input = padded;
    }
    rc = run(out, c);
fail:
    mt_tensor_clear(&padded);
    return rc;
}

static int run_named(mt_tensor **out, call_args *c, const char *padding)
{
    *out = NULL;
    if (strcmp(padding, "same") == 0)
        return run_same(out, c);
    if (strcmp(padding, "valid") == 0)
        return run(out, c);
    return mt_error_set(MT_ERR_RUNTIME, "Invalid padding string: '%s'", padding);
}

/* --- ops --- */

int mt_impl_conv1d(mt_tensor **out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias, mt_ints stride,
                   mt_ints padding, mt_ints dilation, int64_t groups)
{
    call_args c = {input, weight, bias, stride, padding, dilation, no_padding, groups, false, 1};

    return run(out, &c);
}

int mt_impl_conv2d(mt_tensor **out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias, mt_ints stride,
                   mt_ints padding, mt_ints dilation, int64_t groups)
{
    call_args c = {input, weight, bias, stride, padding, dilation, no_padding, groups, false, 2};

    return run(out, &c);
}

int mt_impl_conv3d(mt_tensor **out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias, mt_ints stride,
                   mt_ints padding, mt_ints dilation, int64_t groups)
{
    call_args c = {input, weight, bias, stride, padding, dilation, no_padding, groups, false, 3};

    return run(out, &c);
}

int mt_impl_conv1d_padding(mt_tensor **out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias, mt_ints stride,
                           const char *padding, mt_ints dilation, int64_t groups)
{
    call_args c = {input, weight, bias, stride, no_padding, dilation, no_padding, groups, false, 1};

    return run_named(out, &c, padding);
}

int mt_impl_conv2d_padding(mt_tensor **out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias, mt_ints stride,
                           const char *padding, mt_ints dilation, int64_t groups)
{
    call_args c = {input, weight, bias, stride, no_padding, dilation, no_padding, groups, false, 2};

    return run_named(out, &c, padding);
}

int mt_impl_conv3d_padding(mt_tensor **out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias, mt_ints stride,
                           const char *padding, mt_ints dilation, int64_t groups)
{
    call_args c = {input, weight, bias, stride, no_padding, dilation, no_padding, groups, false, 3};

    return run_named(out, &c, padding);
}

int mt_impl_conv_transpose1d(mt_tensor **out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias, mt_ints stride,
                             mt_ints padding, mt_ints output_padding, int64_t groups, mt_ints dilation)
{
    call_args c = {input, weight, bias, stride, padding, dilation, output_padding, groups, true, 1};

    return run(out, &c);
}

int mt_impl_conv_transpose2d(mt_tensor **out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias, mt_ints stride,
                             mt_ints padding, mt_ints output_padding, int64_t groups, mt_ints dilation)
{
    call_args c = {input, weight, bias, stride, padding, dilation, output_padding, groups, true, 2};

    return run(out, &c);
}

int mt_impl_conv_transpose3d(mt_tensor **out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias, mt_ints stride,
                             mt_ints padding, mt_ints output_padding, int64_t groups, mt_ints dilation)
{
    call_args c = {input, weight, bias, stride, padding, dilation, output_padding, groups, true, 3};

    return run(out, &c);
}

/* --- second derivatives --- */

/* *sum += term, which is consumed. */
static int accumulate(mt_tensor **sum, mt_tensor **term)
{
    mt_tensor *total = NULL;

    if (!*sum) {
        *sum = mt_tensor_move(term);
        return 0;
    }
    if (mt_add(&total, *sum, *term, one) < 0)
        return -1;
    mt_tensor_clear(term);
    mt_tensor_unref(*sum);
    *sum = total;
    return 0;
}

/* The convolution is linear in input, weight and bias: the directions gi, gw, gb give the direction of its result; with
   one of them in place of an operand, its backward gives the mixed derivatives. */
int mt_impl_convolution_double_backward(mt_tensor **out0, mt_tensor **out1, mt_tensor **out2, mt_tensor *grad_input,
                                        mt_tensor *grad_weight, mt_tensor *grad_bias, mt_tensor *grad_output,
                                        mt_tensor *input, mt_tensor *weight, mt_ints stride, mt_ints padding,
                                        mt_ints dilation, bool transposed, mt_ints output_padding, int64_t groups,
                                        mt_ints output_mask)
{
    static const int64_t first_only[3] = {1, 0, 0}, second_only[3] = {0, 1, 0};
    int64_t shape[MT_MAX_DIM];
    mt_tensor *term = NULL, *unused[2] = {NULL, NULL};
    int rc = -1;

    *out0 = *out1 = *out2 = NULL;
    if (output_mask.data[0] && grad_input) {
        MT_TRY(mt_convolution(&term, grad_input, weight, NULL, stride, padding, dilation, transposed, output_padding,
                              groups));
        MT_TRY(accumulate(out0, &term));
    }
    if (output_mask.data[0] && grad_weight) {
        MT_TRY(mt_convolution(&term, input, grad_weight, NULL, stride, padding, dilation, transposed, output_padding,
                              groups));
        MT_TRY(accumulate(out0, &term));
    }
    if (output_mask.data[0] && grad_bias) {
        mt_tensor *shaped = NULL;

        for (int i = 0; i < grad_output->ndim; i++)
            shape[i] = i == 1 ? -1 : 1;
        MT_TRY(mt_reshape(&shaped, grad_bias, (mt_ints){shape, grad_output->ndim}));
        rc = mt_expand(&term, shaped, mt_sizes_of(grad_output), false);
        mt_tensor_clear(&shaped);
        MT_TRY(rc);
        rc = -1;
        MT_TRY(accumulate(out0, &term));
    }
    if (output_mask.data[1] && grad_weight)
        MT_TRY(mt_convolution_backward(out1, &unused[0], &unused[1], grad_output, input, grad_weight,
                                       (mt_ints){NULL, -1}, stride, padding, dilation, transposed, output_padding,
                                       groups, (mt_ints){first_only, 3}));
    if (output_mask.data[2] && grad_input)
        MT_TRY(mt_convolution_backward(&unused[0], out2, &unused[1], grad_output, grad_input, weight,
                                       (mt_ints){NULL, -1}, stride, padding, dilation, transposed, output_padding,
                                       groups, (mt_ints){second_only, 3}));
    rc = 0;
fail:
    mt_tensor_clear(&term);
    mt_tensor_clear(&unused[0]);
    mt_tensor_clear(&unused[1]);
    if (rc < 0) {
        mt_tensor_clear(out0);
        mt_tensor_clear(out1);
        mt_tensor_clear(out2);
    }
    return rc;
}
