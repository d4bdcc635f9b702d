/* SPDX-License-Identifier: BSD-3-Clause */
/* The few ops that the graph programs of this folder need, with the names and types of the
   generated ops.h. They work on doubles through the ordinary dispatcher; see ops.c. */
#ifndef MT_TESTS_AUTOGRAD_OPS_H
#define MT_TESTS_AUTOGRAD_OPS_H

#include "core/op.h"

enum { MT_OP_add };

int mt_add(mt_tensor **out, mt_tensor *self, mt_tensor *other, mt_scalar alpha);
int mt_add_inplace(mt_tensor *self, mt_tensor *other, mt_scalar alpha);
int mt_mul(mt_tensor **out, mt_tensor *self, mt_tensor *other);
int mt_mul_inplace(mt_tensor *self, mt_tensor *other);
int mt_exp(mt_tensor **out, mt_tensor *self);
int mt_exp_inplace(mt_tensor *self);
int mt_add_out(mt_tensor *out, mt_tensor *self, mt_tensor *other, mt_scalar alpha);
int mt_unbind_first(mt_tensor_list *out, mt_tensor *self);
int mt_stack_first(mt_tensor **out, mt_tensors list);
int mt_no_formula(mt_tensor **out, mt_tensor *self);
int mt_clone(mt_tensor **out, mt_tensor *self, int memory_format);
int mt_copy_inplace(mt_tensor *self, mt_tensor *src, bool non_blocking);
int mt_zero_inplace(mt_tensor *self);
int mt_fill_inplace_Scalar(mt_tensor *self, mt_scalar value);
int mt_expand(mt_tensor **out, mt_tensor *self, mt_ints size, bool implicit);
int mt_as_strided(mt_tensor **out, mt_tensor *self, mt_ints size, mt_ints stride, const int64_t *storage_offset);
int mt_view(mt_tensor **out, mt_tensor *self, mt_ints size);
int mt_sum(mt_tensor **out, mt_tensor *self, mt_dtype dtype);
int mt_sum_dim_IntList(mt_tensor **out, mt_tensor *self, mt_ints dim, bool keepdim, mt_dtype dtype);
int mt_to_copy(mt_tensor **out, mt_tensor *self, mt_dtype dtype, int layout, mt_device device, const bool *pin_memory,
               bool non_blocking, int memory_format);
int mt_view_as_real(mt_tensor **out, mt_tensor *self);
int mt_view_as_complex(mt_tensor **out, mt_tensor *self);
int mt_conj(mt_tensor **out, mt_tensor *self);
int mt_neg_view(mt_tensor **out, mt_tensor *self);
int mt_real(mt_tensor **out, mt_tensor *self);
int mt_narrow(mt_tensor **out, mt_tensor *self, int64_t dim, int64_t start, int64_t length);
int mt_equal(bool *out, mt_tensor *self, mt_tensor *other);

#endif
