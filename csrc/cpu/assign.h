/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between tensors on the processor, with casts. */
#ifndef MT_CPU_ASSIGN_H
#define MT_CPU_ASSIGN_H

#include "core/tensor.h"

/* dst's elements become src's, which broadcasts to it. Both on the processor, without lazy bits; the memory does not
   overlap, except that both may be the same elements. */
int mt_cpu_assign(mt_tensor *dst, const mt_tensor *src);

#endif
