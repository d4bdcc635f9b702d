/* SPDX-License-Identifier: BSD-3-Clause */
/* Masks as contiguous bytes, non-zero meaning true: counting, positions, and packing or spreading of
   elements. */
#ifndef MT_CPU_MASK_H
#define MT_CPU_MASK_H

#include <stdint.h>

#include "core/tensor.h"
#include "cpu/isa_pick.h"

/* The mask of a tensor: its elements that are not zero, as contiguous bytes. A new reference, to t
   itself when it is one. */
int mt_mask_of(mt_tensor **out, mt_tensor *t);

#define MT_MASK_CHUNK 32768 /* elements */
#define MT_MASK_ROOM 33

/* A mask, counted. Must not be copied. */
typedef struct mt_mask_plan {
    const uint8_t *mask;
    int64_t n, total; /* elements, true elements */
    int64_t *first;   /* chunks + 1: how many true elements come before each chunk */
    int64_t room[MT_MASK_ROOM];
} mt_mask_plan;

int mt_mask_plan_make(mt_mask_plan *plan, const uint8_t *mask, int64_t n);
void mt_mask_plan_free(mt_mask_plan *plan); /* zeroed plans, and those whose making failed, too */

/* What is done with the true elements, in order. */
/* out[k] = position of the k-th */
void mt_mask_positions(const mt_mask_plan *plan, int64_t *out);
/* out[k] = in[position of the k-th] */
void mt_mask_pack(const mt_mask_plan *plan, char *out, const char *in, int itemsize);
/* out[position of the k-th] = in[k] */
void mt_mask_spread(const mt_mask_plan *plan, char *out, const char *in, int itemsize);

/* Coordinates in a shape of `total` row-major positions that stand in the last of ndim columns of
   `total` numbers. */
void mt_mask_coordinates(int64_t *columns, int64_t total, int ndim, const int64_t *size);

/* t[i] = *element where the mask, which broadcasts to t, is true. */
int mt_mask_fill(mt_tensor *t, const mt_tensor *mask, const void *element);

/* Of one chunk with `count` true elements (mask_isa.c). Nothing is written behind the results. */
MT_ISA_DECLARE(int64_t, mt_mask_run_count, (const uint8_t *mask, int64_t n));
MT_ISA_DECLARE(void, mt_mask_run_positions,
               (int64_t *out, const uint8_t *mask, int64_t n, int64_t count, int64_t base));
MT_ISA_DECLARE(void, mt_mask_run_pack,
               (char *out, const char *in, const uint8_t *mask, int64_t n, int64_t count, int itemsize));
MT_ISA_DECLARE(void, mt_mask_run_spread,
               (char *out, const char *in, const uint8_t *mask, int64_t n, int64_t count, int itemsize));
MT_ISA_DECLARE(void, mt_mask_run_fill, (char *data, const uint8_t *mask, int64_t n, const void *element, int itemsize));

#endif
