/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients of views: what a view shows gets the gradient, the rest zeros. Those with a derivative line of their own
   (select, slice, diagonal, unfold, as_strided) work below the dispatcher; those of list views join pieces with cat and
   stack, which record. */
#include "core/shape.h"
#include "ops.h"

/* Zeros of a shape with the dtype and device of grad. */
static int new_zeros(mt_tensor **out, const mt_tensor *grad, mt_ints size)
{
    return mt_tensor_new_zeroed(out, (mt_dtype)grad->dtype, size.n, size.data, grad->device);
}

/* *zeros, of which *part is a view, becomes the result once grad is copied into the part. */
static int place(mt_tensor **out, mt_tensor **zeros, mt_tensor **part, mt_tensor *grad)
{
    int rc = -1;

    MT_TRY(mt_impl_copy_inplace(*part, grad, false));
    mt_tensor_clear(part);
    *out = mt_tensor_move(zeros);
    rc = 0;
fail:
    return rc;
}

/* --- parts --- */

int mt_impl_select_backward(mt_tensor **out, mt_tensor *grad_output, mt_ints input_sizes, int64_t dim, int64_t index)
{
    mt_tensor *zeros = NULL, *part = NULL;
    int rc = -1;

    *out = NULL;
    MT_TRY(new_zeros(&zeros, grad_output, input_sizes));
    MT_TRY(mt_view_select(&part, zeros, dim, index));
    rc = place(out, &zeros, &part, grad_output);
fail:
    mt_tensor_clear(&zeros);
    mt_tensor_clear(&part);
    return rc;
}

int mt_impl_slice_backward_opt(mt_tensor **out, mt_tensor *grad_output, mt_ints input_sizes, int64_t dim,
                               const int64_t *start, const int64_t *end, int64_t step)
{
    mt_tensor *zeros = NULL, *part = NULL;
    int rc = -1;

    *out = NULL;
    MT_TRY(new_zeros(&zeros, grad_output, input_sizes));
    MT_TRY(mt_view_slice(&part, zeros, dim, start, end, step));
    rc = place(out, &zeros, &part, grad_output);
fail:
    mt_tensor_clear(&zeros);
    mt_tensor_clear(&part);
    return rc;
}

int mt_impl_diagonal_backward(mt_tensor **out, mt_tensor *grad_output, mt_ints input_sizes, int64_t offset,
                              int64_t dim1, int64_t dim2)
{
    mt_tensor *zeros = NULL, *part = NULL;
    int rc = -1;

    *out = NULL;
    MT_TRY(new_zeros(&zeros, grad_output, input_sizes));
    MT_TRY(mt_view_diagonal(&part, zeros, offset, dim1, dim2));
    rc = place(out, &zeros, &part, grad_output);
fail:
    mt_tensor_clear(&zeros);
    mt_tensor_clear(&part);
    return rc;
}

/* Windows that overlap are added one offset within the window at a time. */
static int add_windows(mt_tensor *zeros, mt_tensor *grad, int64_t dim, int64_t size, int64_t step)
{
    mt_tensor *part = NULL, *piece = NULL;
    int64_t n = grad->size[dim];
    int rc = -1;

    for (int64_t k = 0; k < size; k++) {
        int64_t end = k + (n - 1) * step + 1;

        MT_TRY(mt_view_slice(&part, zeros, dim, &k, &end, step));
        MT_TRY(mt_view_select(&piece, grad, -1, k));
        MT_TRY(mt_add_inplace(part, piece, mt_scalar_from_int(1)));
        mt_tensor_clear(&part);
        mt_tensor_clear(&piece);
    }
    rc = 0;
fail:
    mt_tensor_clear(&part);
    mt_tensor_clear(&piece);
    return rc;
}

int mt_impl_unfold_backward(mt_tensor **out, mt_tensor *grad_in, mt_ints input_sizes, int64_t dim, int64_t size,
                            int64_t step)
{
    mt_tensor *zeros = NULL, *part = NULL;
    int rc = -1;

    *out = NULL;
    MT_TRY(mt_dim_wrap(&dim, input_sizes.n));
    MT_TRY(new_zeros(&zeros, grad_in, input_sizes));
    if (size <= step || input_sizes.n == 0) {
        MT_TRY(mt_view_unfold(&part, zeros, dim, size, step));
        MT_TRY(place(out, &zeros, &part, grad_in));
    } else {
        MT_TRY(add_windows(zeros, grad_in, dim, size, step));
        *out = mt_tensor_move(&zeros);
    }
    rc = 0;
fail:
    mt_tensor_clear(&zeros);
    mt_tensor_clear(&part);
    return rc;
}

/* --- as_strided --- */

/* One side of as_strided: a geometry relative to the buffer that holds both sides. */
typedef struct side {
    mt_ints size, stride;
    int64_t offset;
    bool overlaps; /* several elements may share an address */
} side;

/* Exact when sorted strides cover what is below them, else a careful yes. */
static bool may_overlap(mt_ints size, mt_ints stride)
{
    uint8_t order[MT_MAX_DIM];
    int64_t reach = 0;

    for (int i = 0; i < size.n; i++)
        if (size.data[i] == 0)
            return false;
    mt_shape_order(order, size.n, size.data, 1, (const int64_t *const[]){stride.data});
    for (int i = 0; i < size.n; i++) {
        int d = order[i];

        if (size.data[d] == 1)
            continue;
        if (stride.data[d] <= reach)
            return true;
        reach += (size.data[d] - 1) * stride.data[d];
    }
    return false;
}

static int make_sides(side *input, side *output, int64_t *length, mt_ints input_sizes, mt_ints input_strides,
                      int64_t input_offset, mt_ints size, mt_ints stride, const int64_t *storage_offset)
{
    int64_t output_offset = storage_offset ? *storage_offset : input_offset;
    int64_t base = input_offset < output_offset ? input_offset : output_offset;
    size_t a, b;

    *input = (side){input_sizes, input_strides, input_offset - base, may_overlap(input_sizes, input_strides)};
    *output = (side){size, stride, output_offset - base, may_overlap(size, stride)};
    if (mt_shape_storage_bytes(&a, input_sizes.n, input_sizes.data, input_strides.data, input->offset, 1) < 0 ||
        mt_shape_storage_bytes(&b, size.n, size.data, stride.data, output->offset, 1) < 0)
        return -1;
    *length = (int64_t)(a > b ? a : b);
    return 0;
}

static int view_side(mt_tensor **out, mt_tensor *buffer, const side *s)
{
    return mt_view_as_strided(out, buffer, s->size, s->stride, &s->offset);
}

/* buffer[positions of the side] += values, which are flattened; values NULL: ones. */
static int add_at(mt_tensor *buffer, const side *s, mt_tensor *values)
{
    mt_tensor *positions = NULL, *shown = NULL, *index = NULL, *flat = NULL;
    int rc = -1;

    MT_TRY(mt_arange(&positions, mt_scalar_from_int(buffer->numel), MT_DTYPE_i64, -1, buffer->device, NULL));
    MT_TRY(view_side(&shown, positions, s));
    MT_TRY(mt_reshape(&index, shown, (mt_ints){(const int64_t[]){-1}, 1}));
    if (values)
        MT_TRY(mt_reshape(&flat, values, (mt_ints){(const int64_t[]){-1}, 1}));
    else
        MT_TRY(mt_ones(&flat, (mt_ints){&index->numel, 1}, (mt_dtype)buffer->dtype, -1, buffer->device, NULL));
    MT_TRY(mt_index_add_inplace(buffer, 0, index, flat, mt_scalar_from_int(1)));
    rc = 0;
fail:
    mt_tensor_clear(&positions);
    mt_tensor_clear(&shown);
    mt_tensor_clear(&index);
    mt_tensor_clear(&flat);
    return rc;
}

/* Where elements of the input share memory, the gradient of that memory is divided among them. */
static int share_among(mt_tensor *buffer, const side *input)
{
    mt_tensor *count = NULL;
    int rc = -1;

    MT_TRY(new_zeros(&count, buffer, (mt_ints){&buffer->numel, 1}));
    MT_TRY(add_at(count, input, NULL));
    MT_TRY(mt_div_Tensor_inplace(buffer, count));
    rc = 0;
fail:
    mt_tensor_clear(&count);
    return rc;
}

int mt_impl_as_strided_backward(mt_tensor **out, mt_tensor *grad, mt_ints input_sizes, mt_ints input_strides,
                                int64_t input_offset, mt_ints size, mt_ints stride, const int64_t *storage_offset)
{
    mt_tensor *buffer = NULL, *part = NULL;
    side input, output;
    int64_t length;
    int rc = -1;

    *out = NULL;
    MT_TRY(
        make_sides(&input, &output, &length, input_sizes, input_strides, input_offset, size, stride, storage_offset));
    MT_TRY(new_zeros(&buffer, grad, (mt_ints){&length, 1}));
    if (grad->numel > 0 && output.overlaps) {
        MT_TRY(add_at(buffer, &output, grad));
    } else if (grad->numel > 0) {
        MT_TRY(view_side(&part, buffer, &output));
        MT_TRY(mt_impl_copy_inplace(part, grad, false));
        mt_tensor_clear(&part);
    }
    if (input.overlaps)
        MT_TRY(share_among(buffer, &input));
    MT_TRY(view_side(&part, buffer, &input));
    MT_TRY(mt_impl_clone(out, part, MT_FORMAT_PRESERVE));
    rc = 0;
fail:
    mt_tensor_clear(&buffer);
    mt_tensor_clear(&part);
    return rc;
}

int mt_impl_as_strided_double_backward(mt_tensor **out, mt_tensor *grad, mt_ints input_sizes, mt_ints input_strides,
                                       int64_t input_offset, mt_ints size, mt_ints stride,
                                       const int64_t *storage_offset)
{
    mt_tensor *buffer = NULL, *part = NULL;
    side input, output;
    int64_t length;
    int rc = -1;

    *out = NULL;
    MT_TRY(
        make_sides(&input, &output, &length, input_sizes, input_strides, input_offset, size, stride, storage_offset));
    MT_TRY(new_zeros(&buffer, grad, (mt_ints){&length, 1}));
    if (input.overlaps) {
        MT_TRY(add_at(buffer, &input, grad));
        MT_TRY(share_among(buffer, &input));
    } else if (grad->numel > 0) {
        MT_TRY(view_side(&part, buffer, &input));
        MT_TRY(mt_impl_copy_inplace(part, grad, false));
        mt_tensor_clear(&part);
    }
    MT_TRY(view_side(&part, buffer, &output));
    MT_TRY(mt_impl_clone(out, part, MT_FORMAT_CONTIGUOUS));
    rc = 0;
fail:
    mt_tensor_clear(&buffer);
    mt_tensor_clear(&part);
    return rc;
}

/* --- lists --- */

/* Pieces of the given lengths along dim, zeros for those without a gradient, joined again. */
static int join_pieces(mt_tensor **out, mt_tensors grads, const int64_t *length, int64_t each, int64_t dim,
                       mt_ints sizes, mt_dtype dtype, mt_device device)
{
    mt_tensor_list pieces = {NULL, 0};
    int64_t size[MT_MAX_DIM], left;
    int rc = -1;

    *out = NULL;
    MT_TRY(mt_dim_wrap(&dim, sizes.n));
    for (int i = 0; i < sizes.n; i++)
        size[i] = sizes.data[i];
    left = size[dim];
    MT_TRY(mt_tensor_list_new(&pieces, grads.n));
    for (int i = 0; i < grads.n; i++) {
        size[dim] = length ? length[i] : each < left ? each : left;
        left -= size[dim];
        if (grads.data[i])
            pieces.data[i] = mt_tensor_ref(grads.data[i]);
        else
            MT_TRY(mt_zeros(&pieces.data[i], (mt_ints){size, sizes.n}, dtype, -1, device, NULL));
    }
    MT_TRY(mt_cat(out, (mt_tensors){pieces.data, pieces.n}, dim));
    rc = 0;
fail:
    mt_tensor_list_clear(&pieces);
    return rc;
}

int mt_impl_split_backward(mt_tensor **out, mt_tensors grads, int64_t split_size, int64_t dim, mt_ints sizes,
                           mt_dtype dtype, mt_device device)
{
    return join_pieces(out, grads, NULL, split_size, dim, sizes, dtype, device);
}

int mt_impl_split_with_sizes_backward(mt_tensor **out, mt_tensors grads, mt_ints split_sizes, int64_t dim,
                                      mt_ints sizes, mt_dtype dtype, mt_device device)
{
    return join_pieces(out, grads, split_sizes.data, 0, dim, sizes, dtype, device);
}

int mt_impl_unbind_backward(mt_tensor **out, mt_tensors grads, int64_t dim, mt_ints sizes, mt_dtype dtype,
                            mt_device device)
{
    mt_tensor_list pieces = {NULL, 0};
    int64_t size[MT_MAX_DIM];
    int n = 0, rc = -1;

    *out = NULL;
    MT_TRY(mt_dim_wrap(&dim, sizes.n));
    for (int i = 0; i < sizes.n; i++)
        if (i != dim)
            size[n++] = sizes.data[i];
    MT_TRY(mt_tensor_list_new(&pieces, grads.n));
    for (int i = 0; i < grads.n; i++) {
        if (grads.data[i])
            pieces.data[i] = mt_tensor_ref(grads.data[i]);
        else
            MT_TRY(mt_zeros(&pieces.data[i], (mt_ints){size, n}, dtype, -1, device, NULL));
    }
    MT_TRY(mt_stack(out, (mt_tensors){pieces.data, pieces.n}, dim));
    rc = 0;
fail:
    mt_tensor_list_clear(&pieces);
    return rc;
}
