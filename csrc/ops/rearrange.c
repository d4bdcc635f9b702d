/* SPDX-License-Identifier: BSD-3-Clause */
/* Rearrangements by reshape and permute: pixels between channels and space, channels between groups; combinations of
   elements and the powers of a Vandermonde matrix. */
#include <string.h>

#include "base/checked.h"
#include "base/strbuf.h"
#include "core/shape.h"
#include "ops.h"
#include "ops/create.h"

/* reshape, permute, reshape; never a view of self, and in its memory format */
static int rearrange(mt_tensor **out, mt_tensor *self, mt_ints split, mt_ints order, mt_ints joined)
{
    mt_tensor *apart = NULL, *moved = NULL;
    int rc = -1, format = mt_suggest_format(self);

    MT_TRY(mt_reshape(&apart, self, split));
    MT_TRY(mt_permute(&moved, apart, order));
    MT_TRY(mt_reshape(out, moved, joined));
    if ((*out)->storage == self->storage || format != MT_FORMAT_CONTIGUOUS) {
        mt_tensor_clear(&moved);
        moved = *out;
        *out = NULL;
        MT_TRY(mt_clone(out, moved, format));
    }
    rc = 0;
fail:
    mt_tensor_clear(&apart);
    mt_tensor_clear(&moved);
    return rc;
}

static int check_pixels(const mt_tensor *self, const char *op, const char *factor_name, int64_t factor)
{
    if (self->ndim < 3)
        return mt_error_set(MT_ERR_RUNTIME,
                            "%s expects input to have at least 3 dimensions, but got input with %d dimension(s)", op,
                            self->ndim);
    if (factor <= 0)
        return mt_error_set(MT_ERR_RUNTIME, "%s expects a positive %s, but got %lld", op, factor_name,
                            (long long)factor);
    if (self->ndim + 2 > MT_MAX_DIM)
        return mt_error_set(MT_ERR_RUNTIME, "tensors with more than %d dims are not supported, got %d", MT_MAX_DIM,
                            self->ndim + 2);
    return 0;
}

/* (..., c * r * r, h, w) to (..., c, h * r, w * r) */
int mt_impl_pixel_shuffle(mt_tensor **out, mt_tensor *self, int64_t upscale_factor)
{
    int64_t split[MT_MAX_DIM], order[MT_MAX_DIM], joined[MT_MAX_DIM], r = upscale_factor, c, h, w;
    int n = self->ndim - 3;

    *out = NULL;
    if (check_pixels(self, "pixel_shuffle", "upscale_factor", r) < 0)
        return -1;
    c = self->size[n];
    h = self->size[n + 1];
    w = self->size[n + 2];
    if (r > INT32_MAX || c % (r * r) != 0)
        return mt_error_set(MT_ERR_RUNTIME,
                            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                            "upscale_factor, but input.size(-3)=%lld is not divisible by %lld",
                            (long long)c, r > INT32_MAX ? (long long)r : (long long)(r * r));
    for (int i = 0; i < n; i++) {
        split[i] = joined[i] = self->size[i];
        order[i] = i;
    }
    memcpy(split + n, (const int64_t[]){c / (r * r), r, r, h, w}, 5 * sizeof(split[0]));
    memcpy(order + n, (const int64_t[]){n, n + 3, n + 1, n + 4, n + 2}, 5 * sizeof(order[0]));
    memcpy(joined + n, (const int64_t[]){c / (r * r), h * r, w * r}, 3 * sizeof(joined[0]));
    return rearrange(out, self, (mt_ints){split, n + 5}, (mt_ints){order, n + 5}, (mt_ints){joined, n + 3});
}

/* The way back. */
int mt_impl_pixel_unshuffle(mt_tensor **out, mt_tensor *self, int64_t downscale_factor)
{
    int64_t split[MT_MAX_DIM], order[MT_MAX_DIM], joined[MT_MAX_DIM], r = downscale_factor, c, h, w, channels;
    int n = self->ndim - 3;

    *out = NULL;
    if (check_pixels(self, "pixel_unshuffle", "downscale_factor", r) < 0)
        return -1;
    c = self->size[n];
    h = self->size[n + 1];
    w = self->size[n + 2];
    if (h % r != 0 || w % r != 0)
        return mt_error_set(
            MT_ERR_RUNTIME,
            "pixel_unshuffle expects %s to be divisible by downscale_factor, but input.size(%d)=%lld is "
            "not divisible by %lld",
            h % r ? "height" : "width", h % r ? -2 : -1, (long long)(h % r ? h : w), (long long)r);
    if (mt_mul_overflow(c, r, &channels) || mt_mul_overflow(channels, r, &channels))
        return mt_error_set(MT_ERR_RUNTIME, "numel: integer multiplication overflow");
    for (int i = 0; i < n; i++) {
        split[i] = joined[i] = self->size[i];
        order[i] = i;
    }
    memcpy(split + n, (const int64_t[]){c, h / r, r, w / r, r}, 5 * sizeof(split[0]));
    memcpy(order + n, (const int64_t[]){n, n + 2, n + 4, n + 1, n + 3}, 5 * sizeof(order[0]));
    memcpy(joined + n, (const int64_t[]){channels, h / r, w / r}, 3 * sizeof(joined[0]));
    return rearrange(out, self, (mt_ints){split, n + 5}, (mt_ints){order, n + 5}, (mt_ints){joined, n + 3});
}

/* (n, groups * k, ...) with the two parts of the channels exchanged */
int mt_impl_channel_shuffle(mt_tensor **out, mt_tensor *self, int64_t groups)
{
    int64_t split[MT_MAX_DIM + 1], order[MT_MAX_DIM + 1];
    mt_shape_text text;
    int n = self->ndim;

    *out = NULL;
    if (n <= 2)
        return mt_error_set(MT_ERR_RUNTIME, "channel_shuffle expects input with > 2 dims, but got input with sizes %s",
                            mt_shape_format(&text, self->size, n));
    if (groups <= 0)
        return mt_error_set(MT_ERR_RUNTIME,
                            "Number of groups to divide channels in must be positive. Value of groups:%lld",
                            (long long)groups);
    if (self->size[1] % groups != 0)
        return mt_error_set(MT_ERR_RUNTIME,
                            "Number of channels must be divisible by groups. Got %lld channels and %lld groups.",
                            (long long)self->size[1], (long long)groups);
    split[0] = self->size[0];
    split[1] = groups;
    split[2] = self->size[1] / groups;
    memcpy(split + 3, self->size + 2, (size_t)(n - 2) * sizeof(split[0]));
    for (int i = 0; i <= n; i++)
        order[i] = i == 1 ? 2 : i == 2 ? 1 : i;
    return rearrange(out, self, (mt_ints){split, n + 1}, (mt_ints){order, n + 1}, (mt_ints){self->size, n});
}

/* --- combinations --- */

/* Where positions along r equal dims rise (or do not fall). */
static int rising_mask(mt_tensor **out, int64_t n, int r, bool with_replacement, mt_device device)
{
    mt_tensor *line = NULL, *mask = NULL, *pair = NULL, *both = NULL;
    mt_tensor_list grids = {NULL, 0};
    mt_tensor *same[MT_MAX_DIM];
    int rc = -1;

    MT_TRY(mt_arange(&line, mt_scalar_from_int(n), MT_DTYPE_i64, -1, device, NULL));
    for (int i = 0; i < r; i++)
        same[i] = line;
    MT_TRY(mt_meshgrid_indexing(&grids, (mt_tensors){same, r}, "ij"));
    MT_TRY(mt_ones(&mask, (mt_ints){grids.data[0]->size, r}, MT_DTYPE_b8, -1, device, NULL));
    for (int i = 0; i + 1 < r; i++) {
        if (with_replacement)
            MT_TRY(mt_le(&pair, grids.data[i], grids.data[i + 1]));
        else
            MT_TRY(mt_lt(&pair, grids.data[i], grids.data[i + 1]));
        MT_TRY(mt_logical_and(&both, mask, pair));
        mt_tensor_clear(&pair);
        mt_tensor_unref(mask);
        mask = mt_tensor_move(&both);
    }
    *out = mt_tensor_move(&mask);
    rc = 0;
fail:
    mt_tensor_clear(&line);
    mt_tensor_clear(&mask);
    mt_tensor_clear(&pair);
    mt_tensor_list_clear(&grids);
    return rc;
}

int mt_impl_combinations(mt_tensor **out, mt_tensor *self, int64_t r, bool with_replacement)
{
    mt_tensor_list grids = {NULL, 0};
    mt_tensor *same[MT_MAX_DIM], *mask = NULL, *taken = NULL;
    mt_shape_text text;
    int rc = -1;

    *out = NULL;
    MT_REQUIRE(self->ndim == 1, MT_ERR_RUNTIME, "Expect a 1D vector, but got shape %s",
               mt_shape_format(&text, self->size, self->ndim));
    MT_REQUIRE(r >= 0, MT_ERR_RUNTIME, "Expect a non-negative number, but got %lld", (long long)r);
    MT_REQUIRE(r <= MT_MAX_DIM, MT_ERR_RUNTIME, "tensors with more than %d dims are not supported, got %lld",
               MT_MAX_DIM, (long long)r);
    if (r == 0)
        return mt_new_empty(out, self, (mt_ints){(const int64_t[]){0}, 1}, MT_DTYPE_NONE, -1, MT_DEVICE_NONE, NULL);
    MT_TRY(rising_mask(&mask, self->numel, (int)r, with_replacement, self->device));
    for (int i = 0; i < r; i++)
        same[i] = self;
    MT_TRY(mt_meshgrid_indexing(&grids, (mt_tensors){same, (int)r}, "ij"));
    for (int i = 0; i < r; i++) {
        MT_TRY(mt_masked_select(&taken, grids.data[i], mask));
        mt_tensor_unref(grids.data[i]);
        grids.data[i] = mt_tensor_move(&taken);
    }
    MT_TRY(mt_stack(out, (mt_tensors){grids.data, grids.n}, 1));
    rc = 0;
fail:
    mt_tensor_clear(&mask);
    mt_tensor_clear(&taken);
    mt_tensor_list_clear(&grids);
    return rc;
}

int mt_impl_cartesian_prod(mt_tensor **out, mt_tensors tensors)
{
    mt_tensor_list grids = {NULL, 0};
    mt_tensor *flat = NULL;
    mt_shape_text text;
    int rc = -1;

    *out = NULL;
    for (int i = 0; i < tensors.n; i++)
        MT_REQUIRE(tensors.data[i]->ndim == 1, MT_ERR_RUNTIME, "Expect a 1D vector, but got shape %s",
                   mt_shape_format(&text, tensors.data[i]->size, tensors.data[i]->ndim));
    if (tensors.n == 1) {
        *out = mt_tensor_ref(tensors.data[0]);
        return 0;
    }
    MT_TRY(mt_meshgrid_indexing(&grids, tensors, "ij"));
    for (int i = 0; i < grids.n; i++) {
        MT_TRY(mt_flatten(&flat, grids.data[i], 0, -1));
        mt_tensor_unref(grids.data[i]);
        grids.data[i] = mt_tensor_move(&flat);
    }
    MT_TRY(mt_stack(out, (mt_tensors){grids.data, grids.n}, 1));
    rc = 0;
fail:
    mt_tensor_list_clear(&grids);
    return rc;
}
