/* SPDX-License-Identifier: BSD-3-Clause */
/* Advanced indexing, masks and nonzero: what depends on the data is settled here, before any memory of a result exists.
   Masks become integer indices, and integer indices go to the kernels index and index_put. Tensors of other devices take
   the long way through the processor where the shape of a result depends on values. */
#include "core/index_plan.h"

#include <string.h>

#include "base/strbuf.h"
#include "core/frame.h"
#include "cpu/assign.h"
#include "cpu/mask.h"
#include "ops.h"
#include "ops/meta.h"

/* --- nonzero --- */

static int nonzero_cpu(mt_tensor **out, mt_tensor *self)
{
    mt_tensor *mask = NULL;
    int64_t total, size[2], stride[2], *columns;
    mt_mask_plan plan = {.n = 0};
    int rc = -1;

    MT_TRY(mt_mask_of(&mask, self));
    MT_TRY(mt_mask_plan_make(&plan, (const uint8_t *)mt_tensor_const_data(mask), mask->numel));
    total = plan.total;
    size[0] = total;
    size[1] = self->ndim;
    stride[0] = 1;
    stride[1] = total;
    MT_TRY(mt_tensor_new_strided(out, MT_DTYPE_i64, 2, size, stride, self->device));
    if (self->ndim > 0 && total > 0) {
        columns = (int64_t *)(void *)mt_tensor_mutable_data(*out);
        mt_mask_positions(&plan, columns + (self->ndim - 1) * total);
        mt_mask_coordinates(columns, total, self->ndim, self->size);
    }
    rc = 0;
fail:
    mt_mask_plan_free(&plan);
    mt_tensor_clear(&mask);
    if (rc < 0)
        mt_tensor_clear(out);
    return rc;
}

/* A copy on the processor, bits resolved; NULL when self is there already. */
static int to_host(mt_tensor **host, mt_tensor *self)
{
    *host = NULL;
    if (self->device.type == MT_DEVICE_CPU && !(self->flags & (MT_FLAG_CONJ | MT_FLAG_NEG)))
        return mt_tensor_check_bounds(self);
    if (mt_tensor_new(host, (mt_dtype)self->dtype, self->ndim, self->size, MT_CPU) < 0)
        return -1;
    return mt_tensor_assign(*host, self);
}

/* *t moves to a device. */
static int move_to(mt_tensor **t, mt_device device)
{
    mt_tensor *there = NULL;

    if (mt_device_equal((*t)->device, device))
        return 0;
    if (mt_tensor_new_like(&there, *t, (mt_dtype)(*t)->dtype) < 0)
        return -1;
    mt_tensor_clear(&there);
    if (mt_tensor_new_strided(&there, (mt_dtype)(*t)->dtype, (*t)->ndim, (*t)->size, (*t)->stride, device) < 0 ||
        mt_tensor_assign(there, *t) < 0) {
        mt_tensor_clear(&there);
        return -1;
    }
    mt_tensor_unref(*t);
    *t = there;
    return 0;
}

int mt_impl_nonzero(mt_tensor **out, mt_tensor *self)
{
    mt_tensor *host = NULL;
    int rc = -1;

    *out = NULL;
    MT_TRY(to_host(&host, self));
    MT_TRY(nonzero_cpu(out, host ? host : self));
    MT_TRY(move_to(out, self->device));
    rc = 0;
fail:
    mt_tensor_clear(&host);
    if (rc < 0)
        mt_tensor_clear(out);
    return rc;
}

int mt_impl_nonzero_static(mt_tensor **out, mt_tensor *self, int64_t size, int64_t fill_value)
{
    mt_tensor *all = NULL, *from = NULL, *to = NULL;
    int64_t zero = 0, n;
    int rc = -1;

    *out = NULL;
    MT_REQUIRE(size >= 0, MT_ERR_RUNTIME, "nonzero_static: 'size' must be an non-negative integer");
    MT_TRY(mt_impl_nonzero(&all, self));
    n = all->size[0] < size ? all->size[0] : size;
    MT_TRY(mt_full(out, (mt_ints){(const int64_t[]){size, self->ndim}, 2}, mt_scalar_from_int(fill_value), MT_DTYPE_i64,
                   -1, self->device, NULL));
    MT_TRY(mt_view_slice(&from, all, 0, &zero, &n, 1));
    MT_TRY(mt_view_slice(&to, *out, 0, &zero, &n, 1));
    MT_TRY(mt_impl_copy_inplace(to, from, false));
    rc = 0;
fail:
    mt_tensor_clear(&all);
    mt_tensor_clear(&from);
    mt_tensor_clear(&to);
    if (rc < 0)
        mt_tensor_clear(out);
    return rc;
}

/* --- from masks to indices --- */

typedef struct index_list {
    mt_tensor *data[MT_MAX_DIM];
    bool is_owned[MT_MAX_DIM];
    int n;
} index_list;

static void index_list_clear(index_list *list)
{
    for (int i = 0; i < list->n; i++)
        if (list->is_owned[i])
            mt_tensor_unref(list->data[i]);
    list->n = 0;
}

static int append(index_list *list, mt_tensor *t, bool is_owned, const mt_tensor *self)
{
    if (list->n == MT_MAX_DIM) {
        if (is_owned)
            mt_tensor_unref(t);
        return mt_error_set(MT_ERR_INDEX, "too many indices for tensor of dimension %d (got %d)", self->ndim,
                            list->n + 1);
    }
    list->data[list->n] = t;
    list->is_owned[list->n++] = is_owned;
    return 0;
}

static int check_mask(const mt_tensor *mask, const mt_tensor *self, int first)
{
    mt_shape_text a, b;

    for (int i = 0; i < mask->ndim; i++)
        if (first + i >= self->ndim || mask->size[i] != self->size[first + i])
            return mt_error_set(
                MT_ERR_INDEX,
                "The shape of the mask %s at index %d does not match the shape of the indexed tensor %s at "
                "index %d",
                mt_shape_format(&a, mask->size, mask->ndim), i, mt_shape_format(&b, self->size, self->ndim), first + i);
    return 0;
}

static int append_mask(index_list *list, mt_tensor *mask, const mt_tensor *self)
{
    mt_tensor *places = NULL, *column = NULL;
    int rc = -1;

    MT_TRY(check_mask(mask, self, list->n));
    MT_TRY(mt_impl_nonzero(&places, mask));
    for (int i = 0; i < mask->ndim; i++) {
        MT_TRY(mt_view_select(&column, places, 1, i));
        MT_TRY(append(list, column, true, self));
        column = NULL;
    }
    rc = 0;
fail:
    mt_tensor_clear(&places);
    return rc;
}

static bool is_mask(const mt_tensor *t)
{
    return t->dtype == MT_DTYPE_b8 || t->dtype == MT_DTYPE_u8;
}

static int resolve(index_list *list, const mt_tensor *self, mt_tensors indices)
{
    list->n = 0;
    for (int i = 0; i < indices.n; i++) {
        mt_tensor *t = indices.data[i];

        if (t && is_mask(t)) {
            if (t->dtype == MT_DTYPE_u8 &&
                mt_warn(MT_WARN_USER,
                        "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
                        "instead.") < 0)
                return -1;
            if (append_mask(list, t, self) < 0)
                return -1;
            continue;
        }
        if (t && t->dtype != MT_DTYPE_i64 && t->dtype != MT_DTYPE_i32)
            return mt_error_set(MT_ERR_INDEX, "tensors used as indices must be long, int, byte or bool tensors");
        if (append(list, t, false, self) < 0)
            return -1;
    }
    return 0;
}

static mt_tensors as_tensors(const index_list *list)
{
    return (mt_tensors){list->data, list->n};
}

/* Indices may wait on the processor for a tensor of another device. */
static int bring_indices(index_list *list, mt_device device)
{
    for (int i = 0; i < list->n; i++) {
        mt_tensor *t = list->data[i];

        if (!t || mt_device_equal(t->device, device))
            continue;
        if (t->device.type != MT_DEVICE_CPU || device.type == MT_DEVICE_META)
            return mt_meta_device_error(device, t->device);
        if (!list->is_owned[i])
            mt_tensor_ref(t);
        list->is_owned[i] = true;
        if (move_to(&list->data[i], device) < 0)
            return -1;
    }
    return 0;
}

/* One mask that covers all of self. */
static bool is_whole_mask(const mt_tensor *self, mt_tensors indices)
{
    return indices.n == 1 && indices.data[0] && indices.data[0]->dtype == MT_DTYPE_b8 && self->ndim > 0 &&
           mt_shape_equal(indices.data[0]->ndim, indices.data[0]->size, self->ndim, self->size);
}

/* --- index --- */

enum { MAX_ORDERING = 4 };

/* Strides of the result by the memory order of self and the indices; false: row major. */
static bool result_strides(int64_t *stride, const mt_index_plan *p, const mt_tensor *self)
{
    int64_t room[MAX_ORDERING][MT_MAX_DIM];
    const int64_t *pointers[MAX_ORDERING + 1] = {p->stride};
    bool is_plain = mt_tensor_has_plain_strides(self);
    uint8_t order[MT_MAX_DIM];
    int n = p->n_index < MAX_ORDERING ? p->n_index : MAX_ORDERING;

    for (int k = 0; k < n; k++)
        is_plain &= mt_tensor_has_plain_strides(p->index[k]);
    if (is_plain)
        return false;
    for (int k = 0; k < n; k++) {
        mt_index_plan_strides(room[k], p, k);
        pointers[k + 1] = room[k];
    }
    mt_shape_order(order, p->ndim, p->size, n + 1, pointers);
    mt_shape_ordered_strides(stride, p->ndim, p->size, order);
    return true;
}

/* The meta rule of the kernel: (self, indices) with integer indices. */
int mt_meta_index_tensor(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]);
    int64_t stride[MT_MAX_DIM];
    mt_index_plan plan;
    bool ordered;

    if (mt_index_plan_make(&plan, self, mt_arg_tensors(&call->arg[1])) < 0)
        return -1;
    ordered = result_strides(stride, &plan, self);
    return mt_out_prepare(call, 0, (mt_dtype)self->dtype, plan.ndim, plan.size, ordered ? stride : NULL, self->device,
                          false);
}

/* The same below the dispatcher, for the processor. */
static int index_cpu(mt_tensor **out, mt_tensor *self, mt_tensors indices)
{
    int64_t stride[MT_MAX_DIM];
    mt_index_plan plan;

    if (mt_index_plan_make(&plan, self, indices) < 0)
        return -1;
    if (result_strides(stride, &plan, self)) {
        if (mt_tensor_new_strided(out, (mt_dtype)self->dtype, plan.ndim, plan.size, stride, self->device) < 0)
            return -1;
    } else if (mt_tensor_new(out, (mt_dtype)self->dtype, plan.ndim, plan.size, self->device) < 0) {
        return -1;
    }
    if (mt_cpu_index(*out, self, indices) < 0) {
        mt_tensor_clear(out);
        return -1;
    }
    return 0;
}

int mt_impl_index(mt_tensor **out, mt_tensor *self, mt_tensors indices)
{
    mt_tensor *host = NULL;
    index_list list = {.n = 0};
    bool any = false;
    int rc = -1;

    *out = NULL;
    MT_REQUIRE(indices.n > 0, MT_ERR_INDEX, "at least one index must be provided");
    MT_REQUIRE(self->dtype != MT_DTYPE_f4e2m1fnx2, MT_ERR_NOT_IMPLEMENTED, "\"index_cpu\" not implemented for '%s'",
               mt_dtype_table[self->dtype].legacy);
    if (is_whole_mask(self, indices))
        return mt_impl_masked_select(out, self, indices.data[0]);
    MT_TRY(resolve(&list, self, indices));
    for (int i = 0; i < list.n; i++)
        any |= list.data[i] != NULL;
    if (!any && list.n <= self->ndim) {
        MT_TRY(mt_impl_clone(out, self, -1));
    } else if (self->device.type == MT_DEVICE_CPU) {
        MT_TRY(bring_indices(&list, self->device));
        MT_TRY(to_host(&host, self));
        MT_TRY(index_cpu(out, host ? host : self, as_tensors(&list)));
    } else {
        MT_TRY(bring_indices(&list, self->device));
        MT_TRY(mt_index_tensor(out, self, as_tensors(&list)));
    }
    rc = 0;
fail:
    index_list_clear(&list);
    mt_tensor_clear(&host);
    return rc;
}

/* --- index_put_ --- */

static MT_COLD int wrong_values(const mt_tensor *values, const mt_index_plan *p)
{
    mt_shape_text a, b;

    return mt_error_set(MT_ERR_RUNTIME,
                        "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
                        mt_shape_format(&a, values->size, values->ndim), mt_shape_format(&b, p->size, p->ndim));
}

static int warn_expanded(const mt_tensor *self)
{
    if (mt_overlap_internal(self) != MT_OVERLAP_YES)
        return 0;
    return mt_warn(MT_WARN_USER,
                   "Use of index_put_ on expanded tensors is deprecated. Please clone() the tensor before "
                   "performing this operation. This also applies to advanced indexing e.g. tensor[indices] = "
                   "tensor");
}

static int check_put_dtype(const mt_tensor *self, const mt_tensor *values)
{
    if (self->dtype == values->dtype)
        return 0;
    return mt_error_set(MT_ERR_RUNTIME,
                        "Index put requires the source and destination dtypes match, got %s for the destination and "
                        "%s for the source.",
                        mt_dtype_table[self->dtype].legacy, mt_dtype_table[values->dtype].legacy);
}

/* A single value where one mask says so: no index is made. 1 when that was done. */
static int fill_by_mask(mt_tensor *self, mt_tensors indices, mt_tensor *values, bool accumulate)
{
    mt_tensor *mask = NULL, *view = NULL;
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    mt_scalar value;
    MT_ALIGNED(16) char element[16];
    int n = 0, first = -1, rc = -1;

    for (int i = 0; i < indices.n; i++) {
        if (!indices.data[i])
            continue;
        if (first >= 0 || !is_mask(indices.data[i]))
            return 0;
        first = i;
        mask = indices.data[i];
    }
    if (!mask || mask->ndim == 0 || accumulate || values->numel != 1 || self->device.type != MT_DEVICE_CPU ||
        mask->device.type != MT_DEVICE_CPU || (self->flags & (MT_FLAG_CONJ | MT_FLAG_NEG))) {
        return 0;
    }
    if (mask->dtype == MT_DTYPE_u8)
        return mt_error_set(MT_ERR_RUNTIME,
                            "masked_fill_ only supports boolean masks, but got mask with dtype unsigned "
                            "char");
    if (check_mask(mask, self, first) < 0 || mt_tensor_item(&value, values) < 0 ||
        mt_scalar_store_checked(element, (mt_dtype)self->dtype, value) < 0)
        return -1;
    for (int i = 0; i < self->ndim - first; i++) {
        size[n] = i < mask->ndim ? mask->size[i] : 1;
        stride[n++] = i < mask->ndim ? mask->stride[i] : 1;
    }
    MT_TRY(mt_tensor_new_view(&view, mask, n, size, stride, mask->offset));
    MT_TRY(mt_mask_fill(self, view, element));
    rc = 1;
fail:
    mt_tensor_clear(&view);
    return rc;
}

/* values may share memory with self in ways too hard to tell, or be broadcast from a number of the processor. */
static int put(mt_tensor *self, mt_tensors indices, mt_tensor *values, bool accumulate)
{
    mt_tensor *apart = NULL, *dense = NULL, *target = self;
    mt_index_plan plan;
    int rc = -1;

    MT_TRY(mt_index_plan_make(&plan, self, indices));
    if (!mt_shape_is_broadcastable(values->ndim, values->size, plan.ndim, plan.size)) {
        wrong_values(values, &plan);
        goto fail;
    }
    if (values->storage == self->storage || (values->flags & (MT_FLAG_CONJ | MT_FLAG_NEG))) {
        MT_TRY(mt_tensor_materialize(&apart, values));
        values = apart;
    }
    if (!mt_device_equal(values->device, self->device)) {
        MT_REQUIRE(values->ndim == 0 && values->device.type == MT_DEVICE_CPU, MT_ERR_RUNTIME,
                   "expected all tensors to be on the same device");
        if (!apart)
            apart = mt_tensor_ref(values);
        MT_TRY(move_to(&apart, self->device));
        values = apart;
    }
    if (self->flags & (MT_FLAG_CONJ | MT_FLAG_NEG)) {
        MT_TRY(mt_tensor_materialize(&dense, self));
        target = dense;
    }
    if (self->device.type == MT_DEVICE_CPU)
        MT_TRY(mt_cpu_index_put(target, indices, values, accumulate));
    else
        MT_TRY(mt_index_put_tensor_inplace(target, indices, values, accumulate));
    if (dense)
        MT_TRY(mt_tensor_assign(self, dense));
    rc = 0;
fail:
    mt_tensor_clear(&apart);
    mt_tensor_clear(&dense);
    return rc;
}

int mt_impl_index_put_inplace(mt_tensor *self, mt_tensors indices, mt_tensor *values, bool accumulate)
{
    index_list list = {.n = 0};
    bool any = false;
    int rc = -1;

    MT_TRY(mt_tensor_own(self));
    MT_TRY(warn_expanded(self));
    rc = fill_by_mask(self, indices, values, accumulate);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    rc = -1;
    MT_TRY(check_put_dtype(self, values));
    MT_TRY(mt_assert_no_overlap(self, values));
    for (int i = 0; i < indices.n; i++)
        if (indices.data[i])
            MT_TRY(mt_assert_no_overlap(self, indices.data[i]));
    MT_TRY(resolve(&list, self, indices));
    for (int i = 0; i < list.n; i++)
        any |= list.data[i] != NULL;
    MT_REQUIRE(any, MT_ERR_INDEX, "at least one index must be provided");
    MT_TRY(bring_indices(&list, self->device));
    MT_TRY(put(self, as_tensors(&list), values, accumulate));
    rc = 0;
fail:
    index_list_clear(&list);
    return rc;
}

/* --- masks --- */

/* Both operands broadcast to one shape, as contiguous memory of the processor. */
static int prepare_masked(mt_tensor **elements, mt_tensor **mask, mt_tensor *self, mt_tensor *given)
{
    mt_shape shape = {.ndim = 0};

    if (mt_shape_broadcast(&shape, given->ndim, given->size) < 0 ||
        mt_shape_broadcast(&shape, self->ndim, self->size) < 0)
        return -1;
    if ((self->flags & MT_FLAG_CONTIGUOUS) && self->device.type == MT_DEVICE_CPU &&
        !(self->flags & (MT_FLAG_CONJ | MT_FLAG_NEG)) &&
        mt_shape_equal(shape.ndim, shape.size, self->ndim, self->size)) {
        *elements = mt_tensor_ref(self);
    } else if (mt_tensor_new(elements, (mt_dtype)self->dtype, shape.ndim, shape.size, MT_CPU) < 0 ||
               mt_tensor_assign(*elements, self) < 0) {
        return -1;
    }
    if ((given->flags & MT_FLAG_CONTIGUOUS) && given->device.type == MT_DEVICE_CPU &&
        mt_shape_equal(shape.ndim, shape.size, given->ndim, given->size)) {
        *mask = mt_tensor_ref(given);
        return 0;
    }
    if (mt_tensor_new(mask, MT_DTYPE_b8, shape.ndim, shape.size, MT_CPU) < 0)
        return -1;
    return mt_tensor_assign(*mask, given);
}

int mt_impl_masked_select(mt_tensor **out, mt_tensor *self, mt_tensor *mask)
{
    mt_tensor *elements = NULL, *whole = NULL;
    mt_mask_plan plan = {.n = 0};
    int rc = -1;

    *out = NULL;
    MT_REQUIRE(mask->dtype == MT_DTYPE_b8, MT_ERR_RUNTIME, "masked_select: expected BoolTensor for mask");
    if (!mt_device_equal(self->device, mask->device) && mask->ndim > 0)
        return mt_meta_device_error(self->device, mask->device);
    MT_TRY(mt_tensor_check_bounds(self));
    MT_TRY(mt_tensor_check_bounds(mask));
    MT_TRY(prepare_masked(&elements, &whole, self, mask));
    MT_TRY(mt_mask_plan_make(&plan, (const uint8_t *)mt_tensor_const_data(whole), whole->numel));
    MT_TRY(mt_tensor_new(out, (mt_dtype)self->dtype, 1, &plan.total, MT_CPU));
    mt_mask_pack(&plan, mt_tensor_mutable_data(*out), mt_tensor_const_data(elements), (int)mt_tensor_itemsize(self));
    MT_TRY(move_to(out, self->device));
    rc = 0;
fail:
    mt_mask_plan_free(&plan);
    mt_tensor_clear(&elements);
    mt_tensor_clear(&whole);
    if (rc < 0)
        mt_tensor_clear(out);
    return rc;
}

int mt_meta_masked_scatter(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]), *mask = mt_arg_tensor(&call->arg[1]);
    mt_tensor *source = mt_arg_tensor(&call->arg[2]);
    mt_shape shape = {.ndim = 0};
    mt_shape_text a, b;

    if (mask->dtype != MT_DTYPE_b8)
        return mt_error_set(MT_ERR_RUNTIME, "masked_scatter_ only supports boolean masks, but got mask with dtype %s",
                            mt_dtype_table[mask->dtype].legacy);
    if (self->dtype != source->dtype)
        return mt_error_set(MT_ERR_RUNTIME,
                            "masked_scatter: expected self and source to have same dtypes but got%s and "
                            "%s",
                            mt_dtype_table[self->dtype].legacy, mt_dtype_table[source->dtype].legacy);
    if (call->variant == MT_VARIANT_INPLACE && mask->ndim > self->ndim)
        return mt_error_set(
            MT_ERR_RUNTIME,
            "expand(CPUBoolType{%s}, size=%s): the number of sizes provided (%d) must be greater or equal "
            "to the number of dimensions in the tensor (%d)",
            mt_shape_format(&a, mask->size, mask->ndim), mt_shape_format(&b, self->size, self->ndim), self->ndim,
            mask->ndim);
    if (mt_shape_broadcast(&shape, mask->ndim, mask->size) < 0 ||
        mt_shape_broadcast(&shape, self->ndim, self->size) < 0)
        return -1;
    return mt_out_prepare(call, 0, (mt_dtype)self->dtype, shape.ndim, shape.size, NULL, self->device, true);
}

int mt_impl_masked_scatter_backward(mt_tensor **out, mt_tensor *grad_output, mt_tensor *mask, mt_ints sizes)
{
    mt_tensor *taken = NULL, *rest = NULL, *flat = NULL;
    int64_t missing, numel;
    int rc = -1;

    *out = NULL;
    MT_TRY(mt_shape_numel(&numel, sizes.n, sizes.data, 1));
    MT_TRY(mt_masked_select(&taken, grad_output, mask));
    missing = numel - taken->numel;
    if (missing > 0) {
        MT_TRY(mt_new_zeros(&rest, taken, (mt_ints){&missing, 1}, MT_DTYPE_NONE, -1, MT_DEVICE_NONE, NULL));
        MT_TRY(mt_cat(&flat, (mt_tensors){(mt_tensor *const[]){taken, rest}, 2}, 0));
    } else {
        flat = mt_tensor_ref(taken);
    }
    MT_TRY(mt_reshape(out, flat, sizes));
    rc = 0;
fail:
    mt_tensor_clear(&taken);
    mt_tensor_clear(&rest);
    mt_tensor_clear(&flat);
    return rc;
}

/* --- gather for operands that broadcast --- */

/* dim NULL: both are flattened. */
static int flat_gather(mt_tensor **out, mt_tensor *self, mt_tensor *indices)
{
    mt_tensor *a = NULL, *b = NULL;
    int rc = -1;

    MT_TRY(mt_reshape(&a, self, (mt_ints){(const int64_t[]){-1}, 1}));
    MT_TRY(mt_reshape(&b, indices, (mt_ints){(const int64_t[]){-1}, 1}));
    MT_TRY(mt_gather(out, a, 0, b, false));
    rc = 0;
fail:
    mt_tensor_clear(&a);
    mt_tensor_clear(&b);
    return rc;
}

/* Counts negative indices from the end. */
static int wrap_negative(mt_tensor **out, mt_tensor *indices, int64_t size)
{
    mt_tensor *zero = NULL, *negative = NULL;
    int rc = -1;

    MT_TRY(mt_tensor_from_scalar(&zero, mt_scalar_from_int(0)));
    MT_TRY(mt_lt(&negative, indices, zero));
    MT_TRY(mt_add(out, indices, negative, mt_scalar_from_int(size)));
    rc = 0;
fail:
    mt_tensor_clear(&zero);
    mt_tensor_clear(&negative);
    return rc;
}

/* All dims but `dim` are broadcast. */
static int broadcast_gather(mt_tensor **out, mt_tensor *self, mt_tensor *indices, int64_t dim)
{
    mt_tensor *a = NULL, *b = NULL, *wrapped = NULL;
    mt_shape shape = {.ndim = self->ndim};
    int64_t own = self->size[dim];
    int rc = -1;

    memcpy(shape.size, self->size, self->ndim * sizeof(shape.size[0]));
    shape.size[dim] = indices->size[dim];
    MT_TRY(mt_shape_broadcast(&shape, indices->ndim, indices->size));
    MT_TRY(wrap_negative(&wrapped, indices, own));
    MT_TRY(mt_expand(&b, wrapped, (mt_ints){shape.size, shape.ndim}, false));
    shape.size[dim] = own;
    MT_TRY(mt_expand(&a, self, (mt_ints){shape.size, shape.ndim}, false));
    MT_TRY(mt_gather(out, a, dim, b, false));
    rc = 0;
fail:
    mt_tensor_clear(&a);
    mt_tensor_clear(&b);
    mt_tensor_clear(&wrapped);
    return rc;
}

int mt_impl_take_along_dim(mt_tensor **out, mt_tensor *self, mt_tensor *indices, const int64_t *dim)
{
    int64_t d;

    *out = NULL;
    if (indices->dtype != MT_DTYPE_i64)
        return mt_error_set(MT_ERR_RUNTIME, "torch.take_along_dim(): dtype of indices should be Long but got %s",
                            mt_dtype_table[indices->dtype].legacy);
    if (!dim)
        return flat_gather(out, self, indices);
    if (self->ndim != indices->ndim)
        return mt_error_set(
            MT_ERR_RUNTIME,
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            "%d dimensions for input, and %d dimensions for indices",
            self->ndim, indices->ndim);
    d = *dim;
    if (mt_dim_wrap(&d, self->ndim) < 0)
        return -1;
    return self->ndim == 0 ? mt_gather(out, self, 0, indices, false) : broadcast_gather(out, self, indices, d);
}

/* --- shapes of gradients of scatter --- */

/* Zeros behind what is there, up to the sizes. */
int mt_impl_pad_to(mt_tensor **out, mt_tensor *self, mt_ints sizes)
{
    int64_t pad[2 * MT_MAX_DIM];
    int n = self->ndim;

    *out = NULL;
    if (mt_shape_equal(n, self->size, sizes.n, sizes.data)) {
        *out = mt_tensor_ref(self);
        return 0;
    }
    if (n != sizes.n) {
        if (self->numel == 0)
            return mt_new_zeros(out, self, sizes, MT_DTYPE_NONE, -1, MT_DEVICE_NONE, NULL);
        return mt_reshape(out, self, sizes);
    }
    for (int i = 0; i < n; i++) {
        pad[2 * (n - 1 - i)] = 0;
        pad[2 * (n - 1 - i) + 1] = sizes.data[i] - self->size[i];
    }
    return mt_constant_pad_nd(out, self, (mt_ints){pad, 2 * n}, mt_scalar_from_int(0));
}

/* The front part of the sizes. */
int mt_impl_shrink_to(mt_tensor **out, mt_tensor *self, mt_ints sizes)
{
    mt_tensor *t = mt_tensor_ref(self), *part = NULL;
    int64_t zero = 0;
    int rc = -1;

    *out = NULL;
    for (int i = 0; i < sizes.n && i < self->ndim; i++) {
        if (sizes.data[i] >= t->size[i])
            continue;
        MT_TRY(mt_slice(&part, t, i, &zero, &sizes.data[i], 1));
        mt_tensor_unref(t);
        t = mt_tensor_move(&part);
    }
    *out = mt_tensor_move(&t);
    rc = 0;
fail:
    mt_tensor_clear(&t);
    return rc;
}
