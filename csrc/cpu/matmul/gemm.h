/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products of float32 and float64 on raw memory: C = alpha A B + beta D. A and B have any strides. This is
   the entry for every kernel of cpu/ (products, convolutions, attention); it never fails and needs no scratch
   from the caller. The value of an element does not depend on the number of threads or on how the product is split. */
#ifndef MT_CPU_MATMUL_GEMM_H
#define MT_CPU_MATMUL_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/isa_pick.h"

/* Strides count elements. C must not overlap A or B. D is read when beta is not zero; it may be C itself, or have
   zero strides (a bias). A NaN or infinity of D does not survive a beta of zero. */
typedef struct mt_gemm {
    int64_t m, n, k;
    const void *a, *b, *d;
    void *c;
    int64_t a_row, a_col, b_row, b_col, c_row, c_col, d_row, d_col;
    double alpha, beta;
} mt_gemm;

void mt_gemm_f32(const mt_gemm *g);
void mt_gemm_f64(const mt_gemm *g);

/* n_batch products of one shape; the pointers advance by these strides (elements, 0 for a shared operand). */
typedef struct mt_gemm_batch {
    int64_t n_batch, a, b, c, d;
} mt_gemm_batch;
void mt_gemm_batched_f32(const mt_gemm *g, const mt_gemm_batch *batch);
void mt_gemm_batched_f64(const mt_gemm *g, const mt_gemm_batch *batch);

/* --- for gemm.c: the serial kernels of each ISA level --- */

typedef enum mt_gemm_path {
    MT_GEMM_AUTO,   /* a depth of zero: C = beta D */
    MT_GEMM_DOT,    /* rows of A and columns of B are contiguous (or B is narrow): dot products */
    MT_GEMM_STREAM, /* at most four rows of A, rows of B are contiguous: B is read once, row after row */
    MT_GEMM_DIRECT, /* rows of B are contiguous and are read where they are */
    MT_GEMM_PACKED  /* B in packed panels */
} mt_gemm_path;

/* Rows of C are contiguous for all paths but DOT. */
MT_ISA_DECLARE(void, mt_gemm_serial_f32, (const mt_gemm *g, mt_gemm_path path));
MT_ISA_DECLARE(void, mt_gemm_serial_f64, (const mt_gemm *g, mt_gemm_path path));

#endif
