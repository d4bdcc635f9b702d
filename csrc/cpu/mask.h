/* SPDX-License-Identifier: BSD-3-Clause */
/* Masks as contiguous bytes, non-zero meaning true: counting, positions, and packing or spreading of elements. */
#ifndef MT_CPU_MASK_H
#define MT_CPU_MASK_H

#include <stdint.h>

#include "core/tensor.h"

/* The mask of a tensor: its elements that are not zero, as contiguous bytes. A new reference, to t itself when it is one. */
int mt_mask_of(mt_tensor **out, mt_tensor *t);

int64_t mt_mask_count(const uint8_t *mask, int64_t n);

/* What is done with the true elements, in order; `total` is their number. */
/* out[k] = position of the k-th */
int mt_mask_positions(int64_t *out, const uint8_t *mask, int64_t n, int64_t total);
/* out[k] = in[position of the k-th] */
int mt_mask_pack(char *out, const char *in, const uint8_t *mask, int64_t n, int64_t total, int itemsize);
/* out[position of the k-th] = in[k] */
int mt_mask_spread(char *out, const char *in, const uint8_t *mask, int64_t n, int64_t total, int itemsize);

/* Coordinates in a shape of `total` row-major positions that stand in the last of ndim columns of `total` numbers. */
void mt_mask_coordinates(int64_t *columns, int64_t total, int ndim, const int64_t *size);

/* t[i] = *element where the mask, which broadcasts to t, is true. */
int mt_mask_fill(mt_tensor *t, const mt_tensor *mask, const void *element);

#endif
