/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic on sizes and strides. All checks of overflow and range live here. */
#ifndef MT_CORE_SHAPE_H
#define MT_CORE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/tensor.h"

typedef struct mt_shape {
    int ndim;
    int64_t size[MT_MAX_DIM];
} mt_shape;

/* Product of sizes. RuntimeError: negative size ("Trying to create tensor with negative dimension
   -1: [-1]") or overflow of numel * itemsize ("Storage size calculation overflowed with
   sizes=[...]"). */
int mt_shape_numel(int64_t *out, int ndim, const int64_t *size, size_t itemsize);
void mt_shape_contiguous_strides(int64_t *stride, int ndim, const int64_t *size);
/* The order of dimensions in memory as PyTorch chooses it: order[0] is the innermost. The operands
   (strides in any unit, NULL: none) are asked in turn, the first with a preference wins; dims that
   are broadcast (stride 0) have none. */
void mt_shape_order(uint8_t *order, int ndim, const int64_t *size, int n_operands, const int64_t *const *stride);
/* Dense strides for dimensions in that order. */
void mt_shape_ordered_strides(int64_t *stride, int ndim, const int64_t *size, const uint8_t *order);
/* Strides of a dense tensor in the memory order of `like` (same sizes). */
void mt_shape_strides_like(int64_t *stride, const mt_tensor *like);
/* Strides of a memory format: channels_last needs 4 dims, channels_last_3d 5. */
int mt_shape_channels_last_strides(int64_t *stride, int ndim, const int64_t *size);
bool mt_shape_equal(int ndim, const int64_t *a, int ndim_b, const int64_t *b);

/* inout becomes the broadcast of itself and (ndim, size). RuntimeError: "The size of tensor a (2)
   must match the size of tensor b (3) at non-singleton dimension 0". */
int mt_shape_broadcast(mt_shape *inout, int ndim, const int64_t *size);
bool mt_shape_is_broadcastable(int ndim, const int64_t *size, int target_ndim, const int64_t *target);

/* Wraps a dim index into [0, ndim); ndim 0 counts as 1. IndexError: "Dimension out of range
   (expected to be in range of [-1, 0], but got 3)". */
int mt_dim_wrap(int64_t *inout, int ndim);
/* dims as a bit mask, for at most 64 dims; n 0 or dims NULL means all. RuntimeError on duplicates:
   "dim 0 appears multiple times in the list of dims". */
int mt_dims_mask(uint64_t *out, const int64_t *dims, int n, int ndim, bool empty_means_all);

/* Fills in a -1 and checks against numel. RuntimeError "shape '[2, 3]' is invalid for input of size
   5". */
int mt_shape_infer(int64_t *out, const int64_t *size, int ndim, int64_t numel);
/* Strides for viewing `t` with new sizes, false when that needs a copy. */
bool mt_shape_view_strides(int64_t *stride, const mt_tensor *t, int ndim, const int64_t *size);

/* Bytes that a geometry reaches from the start of the storage (0 when it has no element); overflow
   is an error. */
int mt_shape_storage_bytes(size_t *out, int ndim, const int64_t *size, const int64_t *stride, int64_t offset,
                           size_t itemsize);

/* Several elements on one address (expanded memory)? Exact for sorted strides, else conservative as
   PyTorch is. */
typedef enum mt_overlap { MT_OVERLAP_NO, MT_OVERLAP_YES, MT_OVERLAP_TOO_HARD, MT_OVERLAP_FULL } mt_overlap;
mt_overlap mt_overlap_internal(const mt_tensor *t);
/* NO, FULL (the same elements in the same order), YES (partly), TOO_HARD. */
mt_overlap mt_overlap_between(const mt_tensor *a, const mt_tensor *b);
/* RuntimeErrors with PyTorch's words ("unsupported operation: more than one element of the
   written-to tensor refers to a single memory location. Please clone() the tensor before performing
   the operation."). */
int mt_assert_no_internal_overlap(const mt_tensor *t);
int mt_assert_no_partial_overlap(const mt_tensor *out, const mt_tensor *in);
int mt_assert_no_overlap(const mt_tensor *out, const mt_tensor *in); /* nor the very same memory */

#endif
