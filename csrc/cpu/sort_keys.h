/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorting through keys: every value becomes an unsigned integer whose order is PyTorch's (NaN last, -0 equal to 0), and
   (key, index) pairs are sorted stably. */
#ifndef MT_CPU_SORT_KEYS_H
#define MT_CPU_SORT_KEYS_H

#include "core/tensor.h"

typedef struct mt_sort_pair {
    uint64_t key;
    int64_t index;
} mt_sort_pair;

/* Keys of n values `step` bytes apart; indices 0, 1, ... descending: complemented keys. Not for complex dtypes. */
void mt_sort_make_keys(mt_sort_pair *pairs, const char *data, int64_t step, int64_t n, mt_dtype dtype, bool descending);
/* Sorts by key, equal keys in their order. scratch: room for n pairs. */
void mt_sort_pairs(mt_sort_pair *pairs, mt_sort_pair *scratch, int64_t n);

#endif
