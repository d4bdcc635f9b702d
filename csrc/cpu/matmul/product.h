/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of matrices of every number dtype: C = alpha A B + beta D, for batches, with any strides. Half types are
   computed in float32 and rounded once; integers wrap around. */
#ifndef MT_CPU_MATMUL_PRODUCT_H
#define MT_CPU_MATMUL_PRODUCT_H

#include "core/scalar.h"
#include "cpu/isa_pick.h"

/* A matrix of a batch: strides count elements, 0 for what is broadcast. */
typedef struct mt_operand {
    char *data;
    int64_t batch, row, col;
} mt_operand;

/* C must not overlap A or B; D is read unless beta is 0 and may be C itself. */
typedef struct mt_product {
    mt_dtype dtype; /* not bool */
    int64_t n_batch, m, n, k;
    mt_operand a, b, c, d;
    mt_scalar alpha, beta;
    bool sum_batch;   /* C is one matrix, the sum over the batch */
    bool conjugate_b; /* complex dtypes */
} mt_product;

/* Fails only for want of memory. */
int mt_cpu_product(const mt_product *p);

/* --- what the files of products share --- */

/* A contiguous scratch matrix, n_batch x rows x cols. */
int mt_product_new_matrix(mt_operand *out, int64_t n_batch, int64_t rows, int64_t cols, size_t itemsize);
void mt_product_free_matrix(mt_operand *m, int64_t n_batch, int64_t rows, int64_t cols, size_t itemsize);
/* Rows or columns of C are contiguous. */
int mt_product_complex(const mt_product *p);

/* --- integers: 32 and 64 bits, one product --- */

typedef struct mt_int_product {
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t a_row, a_col, b_row, b_col, c_row, c_col;
    uint64_t alpha;
} mt_int_product;

/* C += alpha A B. */
MT_ISA_DECLARE(void, mt_int_product_u32, (const mt_int_product *p));
MT_ISA_DECLARE(void, mt_int_product_u64, (const mt_int_product *p));

#endif
