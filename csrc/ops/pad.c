/* SPDX-License-Identifier: BSD-3-Clause */
/* Padding. constant_pad_nd has a kernel; the other modes copy the middle into the result and then, one dim after the
   other, the edges from inside the result. For circular padding these copies are its history, as in PyTorch; the
   gradients of reflection and replication add back by index vectors. Widths come in pairs from the last dim on. */
#include <string.h>

#include "base/checked.h"
#include "base/strbuf.h"
#include "core/frame.h"
#include "core/shape.h"
#include "ops.h"
#include "ops/create.h"

/* --- constant --- */

int mt_meta_constant_pad_nd(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]);
    mt_ints pad = mt_arg_ints(&call->arg[1]);
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    mt_tensor *rest = NULL;
    int pairs = pad.n / 2, format;
    bool grows = false, ordered = false;

    if (pad.n % 2 != 0)
        return mt_error_set(MT_ERR_RUNTIME, "Length of pad must be even but instead it equals %d", pad.n);
    if (pairs > self->ndim)
        return mt_error_set(
            MT_ERR_RUNTIME,
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length "
            "is %d while the input has %d dimensions.",
            pad.n, self->ndim);
    for (int d = 0; d < self->ndim; d++) {
        int k = self->ndim - 1 - d;
        int64_t left = k < pairs ? pad.data[2 * k] : 0, right = k < pairs ? pad.data[2 * k + 1] : 0, cut;

        grows |= left > 0 || right > 0;
        cut = (left < 0 ? left : 0);
        if (mt_add_overflow(cut, right < 0 ? right : 0, &cut) || self->size[d] + cut < 0)
            return mt_error_set(MT_ERR_RUNTIME, "narrow(): length must be non-negative.");
        if (mt_add_overflow(self->size[d] + cut, left > 0 ? left : 0, &size[d]) ||
            mt_add_overflow(size[d], right > 0 ? right : 0, &size[d]))
            return mt_error_set(MT_ERR_RUNTIME, "numel: integer multiplication overflow");
    }
    format = mt_suggest_format(self);
    if (!grows) { /* nothing but cuts: a copy that keeps the order of what is left */
        if (mt_tensor_new_view(&rest, self, self->ndim, size, self->stride, self->offset) < 0)
            return -1;
        ordered = !mt_tensor_has_plain_strides(rest);
        mt_shape_strides_like(stride, rest);
        mt_tensor_clear(&rest);
    } else if (format != MT_FORMAT_CONTIGUOUS) {
        if (mt_shape_channels_last_strides(stride, self->ndim, size) < 0)
            return -1;
        ordered = true;
    }
    return mt_out_prepare(call, 0, (mt_dtype)self->dtype, self->ndim, size, ordered ? stride : NULL, self->device,
                          false);
}

int mt_impl_constant_pad_nd_backward(mt_tensor **out, mt_tensor *grad, mt_ints pad)
{
    int64_t back[2 * MT_MAX_DIM];

    *out = NULL;
    for (int i = 0; i < pad.n; i++)
        back[i] = (int64_t)(0 - (uint64_t)pad.data[i]);
    return mt_constant_pad_nd(out, grad, (mt_ints){back, pad.n}, mt_scalar_from_int(0));
}

/* --- edges from inside the result --- */

typedef enum pad_mode { PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR } pad_mode;

/* t becomes its part from `start` to `end`. */
static int narrow_in_place(mt_tensor **t, int64_t dim, int64_t start, int64_t end)
{
    mt_tensor *part = NULL;

    if (mt_slice(&part, *t, dim, &start, &end, 1) < 0)
        return -1;
    mt_tensor_unref(*t);
    *t = part;
    return 0;
}

/* `width` places of out from `to` on become those from `from` on: the same, mirrored, or one repeated. */
static int fill_edge(mt_tensor *out, int64_t dim, int64_t to, int64_t from, int64_t width, pad_mode mode)
{
    mt_tensor *dst = mt_tensor_ref(out), *src = mt_tensor_ref(out), *mirrored = NULL;
    int rc = -1;

    MT_TRY(narrow_in_place(&dst, dim, to, to + width));
    MT_TRY(narrow_in_place(&src, dim, from, from + (mode == PAD_REPLICATE ? 1 : width)));
    if (mode == PAD_REFLECT)
        MT_TRY(mt_flip(&mirrored, src, (mt_ints){&dim, 1}));
    MT_TRY(mt_copy_inplace(dst, mirrored ? mirrored : src, false));
    rc = 0;
fail:
    mt_tensor_clear(&dst);
    mt_tensor_clear(&src);
    mt_tensor_clear(&mirrored);
    return rc;
}

/* out has the padded sizes. */
static int fill_padded(mt_tensor *out, mt_tensor *self, mt_ints pad, pad_mode mode)
{
    mt_tensor *center = mt_tensor_ref(out), *source = mt_tensor_ref(self);
    int rc = -1;

    for (int k = 0; k < pad.n / 2; k++) {
        int dim = self->ndim - 1 - k;
        int64_t left = pad.data[2 * k], right = pad.data[2 * k + 1];

        MT_TRY(narrow_in_place(&center, dim, left > 0 ? left : 0, out->size[dim] - (right > 0 ? right : 0)));
        MT_TRY(narrow_in_place(&source, dim, left < 0 ? -left : 0, self->size[dim] + (right < 0 ? right : 0)));
    }
    MT_TRY(mt_copy_inplace(center, source, false));
    for (int k = 0; k < pad.n / 2; k++) {
        int dim = self->ndim - 1 - k;
        int64_t left = pad.data[2 * k] > 0 ? pad.data[2 * k] : 0,
                right = pad.data[2 * k + 1] > 0 ? pad.data[2 * k + 1] : 0;
        int64_t end = out->size[dim] - right; /* of the middle */
        int64_t from_left = mode == PAD_REFLECT ? left + 1 : mode == PAD_REPLICATE ? left : end - left;
        int64_t from_right = mode == PAD_REFLECT ? end - 1 - right : mode == PAD_REPLICATE ? end - 1 : left;

        if (left > 0)
            MT_TRY(fill_edge(out, dim, 0, from_left, left, mode));
        if (right > 0)
            MT_TRY(fill_edge(out, dim, end, from_right, right, mode));
    }
    rc = 0;
fail:
    mt_tensor_clear(&center);
    mt_tensor_clear(&source);
    return rc;
}

/* --- reflection and replication --- */

/* PyTorch numbers the arguments of the C function: widths of later pairs come two further on. */
static int check_reflection(const mt_tensor *self, int64_t left, int64_t right, int dim)
{
    mt_shape_text text;

    if (left < self->size[dim] && right < self->size[dim])
        return 0;
    return mt_error_set(
        MT_ERR_RUNTIME,
        "Argument #%d: Padding size should be less than the corresponding input dimension, but got: padding "
        "(%lld, %lld) at dimension %d of input %s",
        4 + 2 * (self->ndim - 1 - dim), (long long)left, (long long)right, dim,
        mt_shape_format(&text, self->size, self->ndim));
}

/* Where each place of the padded dim takes its element from. */
static int index_of_dim(mt_tensor **out, int64_t n, int64_t left, int64_t right, pad_mode mode, mt_device device)
{
    mt_tensor *host = NULL;
    int64_t total = n + left + right, *at;
    int rc = -1;

    MT_TRY(mt_tensor_new(&host, MT_DTYPE_i64, 1, &total, MT_CPU));
    at = (int64_t *)(void *)mt_tensor_mutable_data(host);
    for (int64_t i = 0; i < total; i++) {
        int64_t j = i - left;

        if (mode == PAD_REPLICATE)
            j = j < 0 ? 0 : j >= n ? n - 1 : j;
        else
            j = j < 0 ? -j : j >= n ? 2 * (n - 1) - j : j;
        at[i] = j;
    }
    MT_TRY(mt_to_device(out, host, device, MT_DTYPE_i64, false, false, -1));
    rc = 0;
fail:
    mt_tensor_clear(&host);
    return rc;
}

static int check_indexed_pad(const mt_tensor *self, mt_ints padding, pad_mode mode)
{
    for (int k = 0; k < padding.n / 2; k++) {
        int dim = self->ndim - 1 - k;
        int64_t left = padding.data[2 * k], right = padding.data[2 * k + 1], total;

        if (dim < 0)
            return mt_error_set(MT_ERR_RUNTIME, "padding of %d dims of a tensor with %d", padding.n / 2, self->ndim);
        if (mode == PAD_REFLECT && check_reflection(self, left, right, dim) < 0)
            return -1;
        if (mt_add_overflow(self->size[dim], left, &total) || mt_add_overflow(total, right, &total) || total < 1 ||
            self->size[dim] == 0)
            return mt_error_set(MT_ERR_RUNTIME,
                                "input (size: %lld at dimension %d) is too small. Calculated output size: %lld",
                                (long long)self->size[dim], dim, (long long)total);
    }
    return 0;
}

/* Negative widths may cut what the other edge needs. */
static int pad_by_index(mt_tensor **out, mt_tensor *self, mt_ints padding, pad_mode mode)
{
    mt_tensor *t = NULL, *index = NULL, *next = NULL;
    int rc = -1;

    *out = NULL;
    t = mt_tensor_ref(self);
    for (int k = 0; k < padding.n / 2; k++) {
        int dim = self->ndim - 1 - k;

        MT_TRY(index_of_dim(&index, self->size[dim], padding.data[2 * k], padding.data[2 * k + 1], mode, self->device));
        MT_TRY(mt_index_select(&next, t, dim, index));
        mt_tensor_clear(&index);
        mt_tensor_unref(t);
        t = mt_tensor_move(&next);
    }
    MT_TRY(mt_contiguous(out, t, mt_suggest_format(self)));
    rc = 0;
fail:
    mt_tensor_clear(&t);
    mt_tensor_clear(&index);
    return rc;
}

static int pad_edges(mt_tensor **out, mt_tensor *self, mt_ints padding, pad_mode mode)
{
    int64_t size[MT_MAX_DIM];
    bool cuts = false;

    *out = NULL;
    if (check_indexed_pad(self, padding, mode) < 0)
        return -1;
    memcpy(size, self->size, self->ndim * sizeof(size[0]));
    for (int i = 0; i < padding.n; i++) {
        size[self->ndim - 1 - i / 2] += padding.data[i];
        cuts |= padding.data[i] < 0;
    }
    if (cuts)
        return pad_by_index(out, self, padding, mode);
    if (mt_tensor_new_format(out, (mt_dtype)self->dtype, self->ndim, size, mt_suggest_format(self), self->device) ==
            0 &&
        fill_padded(*out, self, padding, mode) == 0)
        return 0;
    mt_tensor_clear(out);
    return -1;
}

static int unpad_by_index(mt_tensor **out, mt_tensor *grad, mt_ints sizes, mt_ints padding, pad_mode mode)
{
    mt_tensor *t = mt_tensor_ref(grad), *index = NULL, *zeros = NULL, *next = NULL;
    int64_t size[MT_MAX_DIM];
    int rc = -1;

    *out = NULL;
    memcpy(size, grad->size, grad->ndim * sizeof(size[0]));
    for (int k = padding.n / 2 - 1; k >= 0; k--) {
        int dim = grad->ndim - 1 - k;

        size[dim] = sizes.data[dim];
        MT_TRY(index_of_dim(&index, sizes.data[dim], padding.data[2 * k], padding.data[2 * k + 1], mode, grad->device));
        MT_TRY(mt_new_zeros(&zeros, t, (mt_ints){size, grad->ndim}, MT_DTYPE_NONE, -1, MT_DEVICE_NONE, NULL));
        MT_TRY(mt_index_add(&next, zeros, dim, index, t, mt_scalar_from_int(1)));
        mt_tensor_clear(&index);
        mt_tensor_clear(&zeros);
        mt_tensor_unref(t);
        t = mt_tensor_move(&next);
    }
    *out = mt_tensor_move(&t);
    rc = 0;
fail:
    mt_tensor_clear(&t);
    mt_tensor_clear(&index);
    mt_tensor_clear(&zeros);
    return rc;
}

int mt_impl_reflection_pad(mt_tensor **out, mt_tensor *self, mt_ints padding)
{
    return pad_edges(out, self, padding, PAD_REFLECT);
}

int mt_impl_replication_pad(mt_tensor **out, mt_tensor *self, mt_ints padding)
{
    return pad_edges(out, self, padding, PAD_REPLICATE);
}

int mt_impl_reflection_pad_backward(mt_tensor **out, mt_tensor *grad, mt_ints sizes, mt_ints padding)
{
    return unpad_by_index(out, grad, sizes, padding, PAD_REFLECT);
}

int mt_impl_replication_pad_backward(mt_tensor **out, mt_tensor *grad, mt_ints sizes, mt_ints padding)
{
    return unpad_by_index(out, grad, sizes, padding, PAD_REPLICATE);
}

/* --- circular --- */

static int circular_size(int64_t *out, int64_t n, int64_t left, int64_t right)
{
    if (left > n || right > n)
        return mt_error_set(MT_ERR_RUNTIME, "Padding value causes wrapping around more than once.");
    if (left < -n || right < -n || n + left + right < 0)
        return mt_error_set(MT_ERR_RUNTIME, "Negative padding value is resulting in an empty dimension.");
    *out = n + left + right;
    return 0;
}

int mt_impl_pad_circular(mt_tensor **out, mt_tensor *self, mt_ints pad)
{
    int64_t size[MT_MAX_DIM];

    *out = NULL;
    memcpy(size, self->size, self->ndim * sizeof(size[0]));
    for (int k = 0; k < pad.n / 2 && k < self->ndim; k++)
        if (circular_size(&size[self->ndim - 1 - k], self->size[self->ndim - 1 - k], pad.data[2 * k],
                          pad.data[2 * k + 1]) < 0)
            return -1;
    if (mt_new_empty(out, self, (mt_ints){size, self->ndim}, MT_DTYPE_NONE, -1, MT_DEVICE_NONE, NULL) == 0 &&
        fill_padded(*out, self, pad, PAD_CIRCULAR) == 0)
        return 0;
    mt_tensor_clear(out);
    return -1;
}

/* --- by mode --- */

int mt_impl_pad(mt_tensor **out, mt_tensor *self, mt_ints pad, const char *mode, const double *value)
{
    int pairs = pad.n / 2;
    bool fits = (pairs == 1 || pairs == 2 || pairs == 3) && (self->ndim == pairs + 1 || self->ndim == pairs + 2);

    *out = NULL;
    if (pad.n % 2 != 0)
        return mt_error_set(MT_ERR_RUNTIME, "Padding length must be divisible by 2");
    if (pairs > self->ndim)
        return mt_error_set(
            MT_ERR_RUNTIME,
            "Padding length should be less than or equal to two times the input dimension but got padding "
            "length %d and input of dimension %d",
            pad.n, self->ndim);
    if (strcmp(mode, "constant") == 0)
        return mt_constant_pad_nd(out, self, pad, mt_scalar_from_double(value ? *value : 0.0));
    if (strcmp(mode, "reflect") != 0 && strcmp(mode, "replicate") != 0 && strcmp(mode, "circular") != 0)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "Unrecognised padding mode %s", mode);
    if (value && *value != 0)
        return mt_error_set(MT_ERR_RUNTIME, "Padding mode \"%s\" doesn't take in value argument", mode);
    if (!fits)
        return mt_error_set(
            MT_ERR_NOT_IMPLEMENTED,
            "Padding size %d is not supported for %dD input tensor.\nSupported combinations for "
            "non-constant padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n  - 3D or "
            "4D input: padding size = 4 (pads last 2 dimensions)\n  - 4D or 5D input: padding size = 6 "
            "(pads last 3 dimensions)",
            pad.n, self->ndim);
    if (mode[0] == 'c')
        return mt_pad_circular(out, self, pad);
    if (mode[2] == 'f')
        return pairs == 1   ? mt_reflection_pad1d(out, self, pad)
               : pairs == 2 ? mt_reflection_pad2d(out, self, pad)
                            : mt_reflection_pad3d(out, self, pad);
    return pairs == 1   ? mt_replication_pad1d(out, self, pad)
           : pairs == 2 ? mt_replication_pad2d(out, self, pad)
                        : mt_replication_pad3d(out, self, pad);
}

/* reflection_pad2d and its like: two numbers for each dimension that the name counts. */
int mt_check_pad_length(mt_call *call)
{
    const char *name = call->op->name;
    int given = mt_arg_ints(&call->arg[1]).n, expected = 2 * (name[strlen(name) - 2] - '0');

    if (given == expected)
        return 0;
    if (strncmp(name, "reflection", 10) == 0)
        return mt_error_set(MT_ERR_RUNTIME, "padding size is expected to be %d, but got: %d", expected, given);
    return mt_error_set(MT_ERR_RUNTIME, "padding size is expected to be %d", expected);
}
