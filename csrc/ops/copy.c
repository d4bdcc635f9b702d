/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies and conversions: copy_, clone, contiguous, to and _to_copy, fill_ and zero_. The work is done by mt_cpu_assign on
   the processor and by mt_tensor_assign for other devices and for lazy bits; here is which result has which dtype, device
   and memory order, and what may not be copied. Changes of geometry (resize_, set_) are in resize.c. */
#include "base/parallel.h"
#include "base/strbuf.h"
#include "core/shape.h"
#include "cpu/assign.h"
#include "ops.h"
#include "ops/create.h"

enum { LAZY = MT_FLAG_CONJ | MT_FLAG_NEG };

/* --- elements --- */

static MT_COLD int no_cast(void)
{
    return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"copy_kernel\" not implemented for '%s'",
                        mt_dtype_table[MT_DTYPE_f4e2m1fnx2].legacy);
}

/* The operands do not overlap; src broadcasts to dst. */
static int assign(mt_tensor *dst, mt_tensor *src)
{
    if (MT_UNLIKELY(!mt_cast_exists((mt_dtype)src->dtype, (mt_dtype)dst->dtype)))
        return no_cast();
    if (MT_UNLIKELY(((dst->flags | src->flags) & LAZY) || dst->device.type != MT_DEVICE_CPU ||
                    src->device.type != MT_DEVICE_CPU))
        return mt_tensor_assign(dst, src);
    if (mt_tensor_own(dst) < 0 || mt_tensor_check_bounds(src) < 0)
        return -1;
    return mt_cpu_assign(dst, src);
}

static int warn_discard(const mt_tensor *dst, const mt_tensor *src)
{
    static bool done;

    if (MT_LIKELY(!mt_dtype_is_complex((mt_dtype)src->dtype) || mt_dtype_is_complex((mt_dtype)dst->dtype)))
        return 0;
    return mt_warn_once(&done, MT_WARN_USER, "Casting complex values to real discards the imaginary part");
}

/* --- copy_ --- */

static MT_COLD int cannot_broadcast(const mt_tensor *self, const mt_tensor *src)
{
    mt_shape shape = {.ndim = self->ndim};

    for (int i = 0; i < self->ndim; i++)
        shape.size[i] = self->size[i];
    if (mt_shape_broadcast(&shape, src->ndim, src->size) < 0)
        return -1;
    mt_shape_text a, b;

    return mt_error_set(MT_ERR_RUNTIME, "output with shape %s doesn't match the broadcast shape %s",
                        mt_shape_format(&a, self->size, self->ndim), mt_shape_format(&b, shape.size, shape.ndim));
}

/* Two tensors over one storage: *source is what to read instead of src, or NULL. */
static int copy_within_storage(mt_tensor **source, bool *nothing, mt_tensor *self, mt_tensor *src)
{
    mt_overlap overlap = mt_overlap_between(self, src);
    uint16_t bits = (self->flags ^ src->flags) & LAZY;

    *nothing = overlap == MT_OVERLAP_FULL && self->dtype == src->dtype && !bits;
    if (overlap == MT_OVERLAP_NO || *nothing)
        return 0;
    if (overlap == MT_OVERLAP_YES)
        return mt_assert_no_partial_overlap(self, src);
    return mt_tensor_materialize(source, src);
}

int mt_impl_copy_inplace(mt_tensor *self, mt_tensor *src, bool non_blocking)
{
    mt_tensor *source = NULL;
    bool nothing = false;
    int rc = -1;

    (void)non_blocking;
    if (self == src)
        return 0;
    if (MT_UNLIKELY(!mt_shape_is_broadcastable(src->ndim, src->size, self->ndim, self->size)))
        return cannot_broadcast(self, src);
    MT_TRY(mt_assert_no_internal_overlap(self));
    MT_TRY(warn_discard(self, src));
    if (self->storage == src->storage)
        MT_TRY(copy_within_storage(&source, &nothing, self, src));
    if (!nothing)
        MT_TRY(assign(self, source ? source : src));
    rc = 0;
fail:
    mt_tensor_clear(&source);
    return rc;
}

/* --- clone and contiguous --- */

static int new_copy(mt_tensor **out, mt_tensor *self, mt_dtype dtype, mt_device device, int memory_format)
{
    if (mt_tensor_new_like_format(out, self, dtype, memory_format, device) < 0)
        return -1;
    if (assign(*out, self) < 0) {
        mt_tensor_clear(out);
        return -1;
    }
    return 0;
}

int mt_impl_clone(mt_tensor **out, mt_tensor *self, int memory_format)
{
    return new_copy(out, self, (mt_dtype)self->dtype, self->device, memory_format);
}

int mt_impl_lazy_clone(mt_tensor **out, mt_tensor *self)
{
    mt_storage *shared = NULL;
    int rc = -1;

    *out = NULL;
    if (self->flags & LAZY)
        return mt_impl_clone(out, self, MT_FORMAT_PRESERVE);
    MT_TRY(mt_tensor_check_bounds(self));
    MT_TRY(mt_storage_lazy_clone(&shared, self->storage));
    MT_TRY(
        mt_tensor_from_storage(out, shared, (mt_dtype)self->dtype, self->ndim, self->size, self->stride, self->offset));
    rc = 0;
fail:
    mt_storage_clear(&shared);
    return rc;
}

static void own_inside(void *ctx, int64_t begin, int64_t end)
{
    mt_storage *s = ctx;

    (void)begin, (void)end;
    if (mt_storage_own(s) < 0)
        mt_error_clear(); /* the record of this thread */
}

int mt_impl_test_parallel_materialize(mt_tensor **out, mt_tensor *self, int64_t num_parallel, bool skip_first)
{
    *out = NULL;
    if (num_parallel > (skip_first ? 1 : 0)) {
        mt_parallel_for(num_parallel, 1.0, 1, own_inside, self->storage);
        if (self->storage->flags & MT_STORAGE_COW)
            return mt_error_set(MT_ERR_RUNTIME,
                                "_test_parallel_materialize(): Materializing a storage in a parallel region is not "
                                "allowed");
    }
    *out = mt_tensor_ref(self);
    return 0;
}

int mt_impl_contiguous(mt_tensor **out, mt_tensor *self, int memory_format)
{
    uint16_t flag = memory_format == MT_FORMAT_CHANNELS_LAST      ? MT_FLAG_CHANNELS_LAST
                    : memory_format == MT_FORMAT_CHANNELS_LAST_3D ? MT_FLAG_CHANNELS_LAST_3D
                                                                  : MT_FLAG_CONTIGUOUS;

    *out = NULL;
    if (self->flags & flag) {
        *out = mt_tensor_ref(self);
        return 0;
    }
    if (memory_format == MT_FORMAT_PRESERVE)
        return mt_error_set(MT_ERR_RUNTIME, "preserve memory format is unsupported by the contiguous operator");
    if (mt_check_format_rank(memory_format, self->ndim) < 0)
        return -1;
    return mt_clone(out, self, memory_format);
}

/* Bits of lazy views become values. */
int mt_impl_resolve_conj(mt_tensor **out, mt_tensor *self)
{
    *out = NULL;
    if (self->flags & MT_FLAG_CONJ)
        return mt_clone(out, self, -1);
    *out = mt_tensor_ref(self);
    return 0;
}

int mt_impl_resolve_neg(mt_tensor **out, mt_tensor *self)
{
    *out = NULL;
    if (self->flags & MT_FLAG_NEG)
        return mt_clone(out, self, -1);
    *out = mt_tensor_ref(self);
    return 0;
}

/* --- to --- */

/* Strides in the order of channels last (dims `order`, innermost first); false for what could be either. */
static bool strides_like(const mt_tensor *t, const int *order)
{
    int64_t least = 0;

    if (t->stride[1] == 0)
        return false;
    for (int i = 0; i < t->ndim; i++) {
        int d = order[i];

        if (t->size[d] == 0 || t->stride[d] < least || (d == 0 && least == t->stride[1]))
            return false;
        least = t->stride[d];
        if (t->size[d] > 1)
            least *= t->size[d];
    }
    return true;
}

int mt_suggest_format(const mt_tensor *t)
{
    static const int order_2d[4] = {1, 3, 2, 0}, order_3d[5] = {1, 4, 3, 2, 0};

    if (t->ndim == 4 && strides_like(t, order_2d))
        return MT_FORMAT_CHANNELS_LAST;
    if (t->ndim == 5 && strides_like(t, order_3d))
        return MT_FORMAT_CHANNELS_LAST_3D;
    return MT_FORMAT_CONTIGUOUS;
}

int mt_impl_to_copy(mt_tensor **out, mt_tensor *self, mt_dtype dtype, int layout, mt_device device,
                    const bool *pin_memory, bool non_blocking, int memory_format)
{
    (void)non_blocking;
    *out = NULL;
    if (dtype == MT_DTYPE_NONE)
        dtype = (mt_dtype)self->dtype;
    if (mt_factory_device(&device, device, self->device, layout, pin_memory) < 0 ||
        mt_tensor_new_like_format(out, self, dtype, memory_format, device) < 0)
        return -1;
    if (warn_discard(*out, self) < 0 || assign(*out, self) < 0) {
        mt_tensor_clear(out);
        return -1;
    }
    return 0;
}

int mt_impl_to_dtype_layout(mt_tensor **out, mt_tensor *self, mt_dtype dtype, int layout, mt_device device,
                            const bool *pin_memory, bool non_blocking, bool copy, int memory_format)
{
    *out = NULL;
    if (dtype == MT_DTYPE_NONE)
        dtype = (mt_dtype)self->dtype;
    if (mt_factory_device(&device, device, self->device, layout, pin_memory) < 0)
        return -1;
    if (!copy && dtype == (mt_dtype)self->dtype && mt_device_equal(device, self->device) &&
        (memory_format < 0 || memory_format == MT_FORMAT_PRESERVE || mt_suggest_format(self) == memory_format)) {
        *out = mt_tensor_ref(self);
        return 0;
    }
    return mt_to_copy(out, self, dtype, layout, device, pin_memory, non_blocking, memory_format);
}

int mt_impl_to_device(mt_tensor **out, mt_tensor *self, mt_device device, mt_dtype dtype, bool non_blocking, bool copy,
                      int memory_format)
{
    return mt_impl_to_dtype_layout(out, self, dtype, -1, device, NULL, non_blocking, copy, memory_format);
}

int mt_impl_to_dtype(mt_tensor **out, mt_tensor *self, mt_dtype dtype, bool non_blocking, bool copy, int memory_format)
{
    return mt_impl_to_dtype_layout(out, self, dtype, -1, MT_DEVICE_NONE, NULL, non_blocking, copy, memory_format);
}

/* --- fill --- */

/* fill_ and zero_ write any memory, expanded too; bits need a temporary. */
int mt_meta_fill(mt_call *call)
{
    mt_tensor *out = call->out[0];

    if (mt_tensor_own(out) < 0)
        return -1;
    if (!(out->flags & LAZY))
        return 0;
    return mt_out_prepare(call, 0, (mt_dtype)out->dtype, out->ndim, out->size, NULL, out->device, true);
}

int mt_impl_fill_inplace_tensor(mt_tensor *self, mt_tensor *value)
{
    mt_tensor *apart = NULL;
    int rc = -1;

    MT_REQUIRE(value->ndim == 0, MT_ERR_RUNTIME,
               "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.", value->ndim);
    MT_TRY(warn_discard(self, value));
    if (self->numel && self->device.type != MT_DEVICE_META)
        MT_TRY(mt_assert_no_internal_overlap(self));
    if (value->storage == self->storage)
        MT_TRY(mt_tensor_materialize(&apart, value));
    MT_TRY(assign(self, apart ? apart : value));
    rc = 0;
fail:
    mt_tensor_clear(&apart);
    return rc;
}

/* One run of a diagonal, as a recorded write through a view. */
static int fill_run(mt_tensor *self, int64_t length, int64_t step, int64_t offset, mt_scalar value)
{
    mt_tensor *run = NULL;
    int rc = -1;

    MT_TRY(mt_as_strided(&run, self, (mt_ints){&length, 1}, (mt_ints){&step, 1}, &offset));
    MT_TRY(mt_fill_inplace_Scalar(run, value));
    rc = 0;
fail:
    mt_tensor_clear(&run);
    return rc;
}

/* With wrap the diagonal of a tall matrix begins again after a row that stays free. */
int mt_impl_fill_diagonal_inplace(mt_tensor *self, mt_scalar fill_value, bool wrap)
{
    int64_t length = INT64_MAX, step = 0;
    int n = self->ndim;

    if (n < 2)
        return mt_error_set(MT_ERR_RUNTIME, "dimensions must larger than 1");
    for (int i = 0; i < n; i++) {
        if (n > 2 && self->size[i] != self->size[0])
            return mt_error_set(MT_ERR_RUNTIME, "all dimensions of input must be of equal length");
        length = self->size[i] < length ? self->size[i] : length;
        step += self->stride[i];
    }
    if (fill_run(self, length, step, self->offset, fill_value) < 0)
        return -1;
    for (int64_t row = length + 1; wrap && n == 2 && self->size[0] > row; row += length + 1) {
        int64_t left = self->size[0] - row;

        if (fill_run(self, left < length ? left : length, step, self->offset + row * self->stride[0], fill_value) < 0)
            return -1;
    }
    return 0;
}

/* --- numbers --- */

int mt_impl_item(mt_scalar *out, mt_tensor *self)
{
    return mt_tensor_item(out, self);
}

int mt_impl_is_nonzero(bool *out, mt_tensor *self)
{
    mt_scalar value;

    if (self->numel == 0)
        return mt_error_set(MT_ERR_RUNTIME, "Boolean value of Tensor with no values is ambiguous");
    if (self->numel > 1)
        return mt_error_set(MT_ERR_RUNTIME, "Boolean value of Tensor with more than one value is ambiguous");
    if (mt_tensor_item(&value, self) < 0)
        return -1;
    *out = mt_scalar_is_true(value);
    return 0;
}

int mt_impl_is_conj(bool *out, mt_tensor *self)
{
    *out = (self->flags & MT_FLAG_CONJ) != 0;
    return 0;
}

int mt_impl_is_neg(bool *out, mt_tensor *self)
{
    *out = (self->flags & MT_FLAG_NEG) != 0;
    return 0;
}

int mt_impl_is_signed(bool *out, mt_tensor *self)
{
    *out = mt_dtype_table[self->dtype].is_signed;
    return 0;
}

int mt_impl_is_inference(bool *out, mt_tensor *self)
{
    *out = (self->flags & MT_FLAG_INFERENCE) != 0;
    return 0;
}

int mt_impl_get_device(int64_t *out, mt_tensor *self)
{
    *out = self->device.index;
    return 0;
}

int mt_impl_result_type(mt_dtype *out, mt_tensor *tensor, mt_tensor *other)
{
    mt_promotion p = MT_PROMOTION_INIT;

    mt_promotion_add(&p, (mt_dtype)tensor->dtype, tensor->ndim, mt_tensor_is_wrapped_number(tensor));
    mt_promotion_add(&p, (mt_dtype)other->dtype, other->ndim, mt_tensor_is_wrapped_number(other));
    return mt_promotion_result(out, &p);
}

int mt_impl_can_cast(bool *out, mt_dtype from_, mt_dtype to)
{
    *out = mt_dtype_can_cast(from_, to);
    return 0;
}

int mt_impl_promote_types(mt_dtype *out, mt_dtype type1, mt_dtype type2)
{
    *out = mt_dtype_promote(type1, type2);
    return *out == MT_DTYPE_NONE ? mt_dtype_refuse_promotion(type1, type2) : 0;
}

int mt_impl_to_cpu(mt_tensor **out, mt_tensor *self, int memory_format)
{
    return mt_impl_to_dtype_layout(out, self, MT_DTYPE_NONE, -1, MT_CPU, NULL, false, false, memory_format);
}

int mt_impl_to_cuda(mt_tensor **out, mt_tensor *self, mt_device device, bool non_blocking, int memory_format)
{
    *out = NULL;
    if (mt_device_is_none(device))
        device = (mt_device){MT_DEVICE_CUDA, -1};
    if (device.type != MT_DEVICE_CUDA)
        return mt_error_set(MT_ERR_RUNTIME, "Invalid device, must be cuda device");
    return mt_impl_to_dtype_layout(out, self, MT_DTYPE_NONE, -1, device, NULL, non_blocking, false, memory_format);
}
