/* SPDX-License-Identifier: BSD-3-Clause */
/* Normalisation: passes over contiguous runs and over columns that the ISA levels provide. A run is a row of layer_norm, a
   group of group_norm or a plane of batch_norm; columns are channels that lie side by side. Sums are taken in short
   blocks of the dtype, blocks are added in double. */
#ifndef MT_CPU_NORM_H
#define MT_CPU_NORM_H

#include <stdint.h>

#include "cpu/isa_pick.h"

/* Distances of rows count elements. Every function works on elements of one dtype (f32 or f64). */
typedef struct mt_norm_kernels {
    /* --- runs --- */
    double (*sum)(const void *x, int64_t n);
    double (*square_sum)(const void *x, int64_t n, double mean); /* of deviations */
    void (*pair_sum)(double out[2], const void *grad, const void *x, int64_t n, double mean); /* g, g (x - mean) */
    void (*scale)(void *y, const void *x, int64_t n, double mean, double a, double b); /* a (x - mean) + b */
    /* a g + b (x - mean) + c */
    void (*combine)(void *y, const void *grad, const void *x, int64_t n, double mean, double a, double b, double c);

    /* --- rows with a weight per element (weight, bias may be NULL: 1, 0) --- */
    void (*row)(void *y, const void *x, const void *weight, const void *bias, int64_t n, double mean, double rstd);
    /* sums of h and h xhat, h = grad weight, xhat = (x - mean) rstd */
    void (*row_sums)(double out[2], const void *grad, const void *x, const void *weight, int64_t n, double mean,
                     double rstd);
    /* dx = rstd (h - a - xhat b); d_weight += grad xhat; d_bias += grad. Each of the three may be NULL. */
    void (*row_gradient)(void *dx, void *d_weight, void *d_bias, const void *grad, const void *x, const void *weight,
                         int64_t n, double mean, double rstd, double a, double b);

    /* --- columns: `rows` rows of n elements --- */
    void (*column_sum)(double *sum, const void *x, int64_t rows, int64_t step, int64_t n);
    void (*column_square_sum)(double *sum, const void *x, int64_t rows, int64_t step, int64_t n, const double *mean);
    void (*column_pair_sum)(double *sum, double *product, const void *grad, int64_t grad_step, const void *x,
                            int64_t step, int64_t rows, int64_t n, const double *mean);
    void (*column_scale)(void *y, int64_t y_step, const void *x, int64_t step, int64_t rows, int64_t n, const double *mean,
                         const double *a, const double *b);
    void (*column_combine)(void *y, int64_t y_step, const void *grad, int64_t grad_step, const void *x, int64_t step,
                           int64_t rows, int64_t n, const double *mean, const double *a, const double *b, const double *c);
} mt_norm_kernels;

#if defined(__x86_64__)
extern const mt_norm_kernels mt_norm_f32_v2, mt_norm_f32_v3, mt_norm_f32_v4;
extern const mt_norm_kernels mt_norm_f64_v2, mt_norm_f64_v3, mt_norm_f64_v4;
#else
extern const mt_norm_kernels mt_norm_f32_v2, mt_norm_f64_v2;
#endif

enum { MT_NORM_COLUMNS = 64 }; /* columns that a call of a column function takes at most */

/* The kernels of this machine for f32 (itemsize 4) or f64. */
const mt_norm_kernels *mt_norm_choose(int itemsize);

#endif
