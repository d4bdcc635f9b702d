/* SPDX-License-Identifier: BSD-3-Clause */
/* Composites of views: the names for transposed matrices, broadcasting of several tensors, grids, and the sums that undo
   broadcasting. They run catalog ops, so that gradients follow by themselves. */
#include <string.h>

#include "base/strbuf.h"
#include "core/shape.h"
#include "ops.h"

/* --- transposes --- */

int mt_impl_transpose_inplace(mt_tensor *self, int64_t axis0, int64_t axis1)
{
    return mt_transpose_inplace(self, axis0, axis1);
}

static int reverse_dims(mt_tensor **out, mt_tensor *self)
{
    int64_t dims[MT_MAX_DIM];

    for (int i = 0; i < self->ndim; i++)
        dims[i] = self->ndim - 1 - i;
    return mt_permute(out, self, (mt_ints){dims, self->ndim});
}

int mt_impl_numpy_T(mt_tensor **out, mt_tensor *self)
{
    static bool warned_0d, warned_nd;
    int rc = 0;

    *out = NULL;
    if (self->ndim == 0)
        rc = mt_warn_once(&warned_0d, MT_WARN_USER,
                          "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.");
    else if (self->ndim > 2)
        rc = mt_warn_once(&warned_nd, MT_WARN_USER,
                          "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated "
                          "and it will throw an error in a future release. Consider `x.mT` to transpose batches of "
                          "matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a "
                          "tensor.");
    return rc < 0 ? -1 : reverse_dims(out, self);
}

/* Exchanges the last two dims; `rule` names the attribute. 0-d tensors pass with a warning. */
static int matrix_transpose(mt_tensor **out, mt_tensor *self, const char *rule, bool *warned, const char *warning)
{
    *out = NULL;
    if (self->ndim == 0)
        return mt_warn_once(warned, MT_WARN_USER, warning) < 0 ? -1 : mt_alias(out, self);
    if (self->ndim == 1)
        return mt_error_set(MT_ERR_RUNTIME,
                            "tensor.%s is only supported on matrices or batches of matrices. Got %d-D "
                            "tensor.",
                            rule, self->ndim);
    return mt_transpose(out, self, -2, -1);
}

int mt_impl_mT(mt_tensor **out, mt_tensor *self)
{
    static bool warned;

    return matrix_transpose(out, self, "mT", &warned,
                            "Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.");
}

/* The same and the conjugate, for complex tensors. */
static int conjugate_transpose(mt_tensor **out, mt_tensor *self, const char *rule, bool *warned, const char *warning)
{
    mt_tensor *t = NULL;
    int rc = -1;

    *out = NULL;
    MT_TRY(matrix_transpose(&t, self, rule, warned, warning));
    if (mt_dtype_is_complex((mt_dtype)self->dtype))
        MT_TRY(mt_conj(out, t));
    else
        *out = mt_tensor_move(&t);
    rc = 0;
fail:
    mt_tensor_clear(&t);
    return rc;
}

int mt_impl_mH(mt_tensor **out, mt_tensor *self)
{
    static bool warned;

    return conjugate_transpose(out, self, "mH", &warned,
                               "Tensor.mH is deprecated on 0-D tensors. Consider using x.conj().");
}

int mt_impl_adjoint(mt_tensor **out, mt_tensor *self)
{
    static bool warned;

    return conjugate_transpose(out, self, "adjoint()", &warned,
                               "adjoint() is deprecated on 0-D tensors. Consider using x.conj().");
}

int mt_impl_matrix_H(mt_tensor **out, mt_tensor *self)
{
    static bool warned;

    *out = NULL;
    if (self->ndim != 0 && self->ndim != 2)
        return mt_error_set(MT_ERR_RUNTIME, "tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor.%s",
                            self->ndim, self->ndim > 2 ? " For batches of matrices, consider using tensor.mH" : "");
    return conjugate_transpose(out, self, "H", &warned,
                               "Tensor.H is deprecated on 0-D tensors. Consider using x.conj().");
}

int mt_impl_permute_backward(mt_tensor **out, mt_tensor *grad, mt_ints dims)
{
    int64_t inverse[MT_MAX_DIM];

    *out = NULL;
    for (int i = 0; i < dims.n; i++) {
        int64_t d = dims.data[i];

        if (mt_dim_wrap(&d, dims.n) < 0)
            return -1;
        inverse[d] = i;
    }
    return mt_permute(out, grad, (mt_ints){inverse, dims.n});
}

/* --- several tensors --- */

int mt_impl_broadcast_tensors(mt_tensor_list *out, mt_tensors tensors)
{
    mt_shape shape = {.ndim = 0};

    *out = (mt_tensor_list){NULL, 0};
    for (int i = 0; i < tensors.n; i++)
        MT_TRY(mt_shape_broadcast(&shape, tensors.data[i]->ndim, tensors.data[i]->size));
    MT_TRY(mt_tensor_list_new(out, tensors.n));
    for (int i = 0; i < tensors.n; i++) {
        mt_tensor *t = tensors.data[i];

        if (mt_shape_equal(t->ndim, t->size, shape.ndim, shape.size))
            out->data[i] = mt_tensor_ref(t);
        else
            MT_TRY(mt_expand(&out->data[i], t, (mt_ints){shape.size, shape.ndim}, false));
    }
    return 0;
fail:
    mt_tensor_list_clear(out);
    return -1;
}

static int check_grid(int64_t *size, mt_tensors tensors)
{
    mt_shape_text text;

    if (tensors.n <= 0)
        return mt_error_set(MT_ERR_RUNTIME, "meshgrid expects a non-empty TensorList");
    if (tensors.n > MT_MAX_DIM)
        return mt_error_set(MT_ERR_RUNTIME, "tensors with more than %d dims are not supported, got %d", MT_MAX_DIM,
                            tensors.n);
    for (int i = 0; i < tensors.n; i++) {
        const mt_tensor *t = tensors.data[i];

        if (t->dtype != tensors.data[0]->dtype)
            return mt_error_set(MT_ERR_RUNTIME, "meshgrid expects all tensors to have the same dtype");
        if (!mt_device_equal(t->device, tensors.data[0]->device))
            return mt_error_set(MT_ERR_RUNTIME, "meshgrid expects all tensors to have the same device");
        if (t->ndim > 1)
            return mt_error_set(MT_ERR_RUNTIME,
                                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: %s",
                                mt_shape_format(&text, t->size, t->ndim));
        size[i] = t->numel;
    }
    return 0;
}

static int grid(mt_tensor_list *out, mt_tensors tensors)
{
    int64_t size[MT_MAX_DIM], shape[MT_MAX_DIM];
    mt_tensor *line = NULL;
    int rc = -1;

    *out = (mt_tensor_list){NULL, 0};
    MT_TRY(check_grid(size, tensors));
    MT_TRY(mt_tensor_list_new(out, tensors.n));
    for (int i = 0; i < tensors.n; i++) {
        for (int j = 0; j < tensors.n; j++)
            shape[j] = i == j ? size[i] : 1;
        MT_TRY(mt_view(&line, tensors.data[i], (mt_ints){shape, tensors.n}));
        MT_TRY(mt_expand(&out->data[i], line, (mt_ints){size, tensors.n}, false));
        mt_tensor_clear(&line);
    }
    rc = 0;
fail:
    mt_tensor_clear(&line);
    if (rc < 0)
        mt_tensor_list_clear(out);
    return rc;
}

int mt_impl_meshgrid(mt_tensor_list *out, mt_tensors tensors)
{
    static bool warned;

    *out = (mt_tensor_list){NULL, 0};
    if (mt_warn_once(&warned, MT_WARN_USER,
                     "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.") < 0)
        return -1;
    return grid(out, tensors);
}

/* xy: the first two inputs change places before, and their grids change places after. */
int mt_impl_meshgrid_indexing(mt_tensor_list *out, mt_tensors tensors, const char *indexing)
{
    mt_tensor *order[MT_MAX_DIM], *first;
    bool is_xy = strcmp(indexing, "xy") == 0;

    *out = (mt_tensor_list){NULL, 0};
    if (!is_xy && strcmp(indexing, "ij") != 0)
        return mt_error_set(MT_ERR_RUNTIME,
                            "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: %s", indexing);
    if (!is_xy || tensors.n < 2 || tensors.n > MT_MAX_DIM)
        return grid(out, tensors);
    memcpy(order, tensors.data, (size_t)tensors.n * sizeof(order[0]));
    order[0] = tensors.data[1];
    order[1] = tensors.data[0];
    if (grid(out, (mt_tensors){order, tensors.n}) < 0)
        return -1;
    first = out->data[0];
    out->data[0] = out->data[1];
    out->data[1] = first;
    return 0;
}

/* --- undoing broadcasts and reductions --- */

int mt_impl_sum_to_size(mt_tensor **out, mt_tensor *self, mt_ints size)
{
    int64_t dims[MT_MAX_DIM];
    int lead = self->ndim - size.n, n = 0;
    mt_shape_text a, b;
    mt_tensor *sum = NULL;
    int rc = -1;

    *out = NULL;
    MT_REQUIRE(mt_shape_is_broadcastable(size.n, size.data, self->ndim, self->size), MT_ERR_RUNTIME,
               "size {%s} is not expandable to size {%s}.", mt_shape_format(&a, size.data, size.n),
               mt_shape_format(&b, self->size, self->ndim));
    for (int i = 0; i < self->ndim; i++)
        if (i < lead || (size.data[i - lead] == 1 && self->size[i] != 1))
            dims[n++] = i;
    if (n == 0) {
        *out = mt_tensor_ref(self);
        return 0;
    }
    MT_TRY(mt_sum_dim_IntList(&sum, self, (mt_ints){dims, n}, true, MT_DTYPE_NONE));
    if (lead > 0)
        MT_TRY(mt_view(out, sum, size));
    else
        *out = mt_tensor_move(&sum);
    rc = 0;
fail:
    mt_tensor_clear(&sum);
    return rc;
}

int mt_impl_restore_reduced_dims(mt_tensor **out, mt_tensor *self, mt_ints dim, int64_t ndim, bool keepdim)
{
    int64_t size[MT_MAX_DIM];
    bool reduced[MT_MAX_DIM] = {false};
    int from = 0;

    *out = NULL;
    if (keepdim || ndim == 0) {
        *out = mt_tensor_ref(self);
        return 0;
    }
    for (int i = 0; i < dim.n; i++) {
        int64_t d = dim.data[i];

        if (mt_dim_wrap(&d, (int)ndim) < 0)
            return -1;
        reduced[d] = true;
    }
    for (int i = 0; i < ndim; i++)
        size[i] = dim.n <= 0 || reduced[i] || from >= self->ndim ? 1 : self->size[from++];
    return mt_reshape(out, self, (mt_ints){size, (int)ndim});
}
