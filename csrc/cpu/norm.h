/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernels of normalisation share: loops over rows and over columns of channels, once per ISA level
   (norm_isa.c), and access to operands. Loops work in float32 or float64; half types are converted by the kernels.
   Sums are taken in lanes of that type inside blocks and in double across them. */
#ifndef MT_CPU_NORM_H
#define MT_CPU_NORM_H

#include "core/tensor.h"
#include "cpu/isa_pick.h"

/* Pointers are to elements of the loop's type unless they say double. */
typedef struct mt_norm_loops {
    /* One row: y = (x - mean) * rstd * w + b, w and b may be NULL; gives mean and 1 / sqrt(variance + eps). */
    void (*layer)(void *y, const void *x, const void *w, const void *b, int64_t n, double eps, double stat[2]);
    /* One row backwards: dx (may be NULL); g * normalised x is added to dw, g to db (each may be NULL). */
    void (*layer_grad)(void *dx, void *dw, void *db, const void *g, const void *x, const void *w, int64_t n,
                       const double stat[2]);
    /* Of a row: the sum; sums of d and d * d, d = x - mean; sums of g and g * d. Added to `out`. */
    void (*sum)(double *out, const void *x, int64_t n);
    void (*spread)(double out[2], const void *x, int64_t n, double mean);
    void (*dot)(double out[2], const void *g, const void *x, int64_t n, double mean);
    /* y = (x - k[0]) * k[1] + k[2]; dx = g * k[1] + (x - k[0]) * k[2] + k[3] */
    void (*affine)(void *y, const void *x, int64_t n, const double k[3]);
    void (*combine)(void *dx, const void *g, const void *x, int64_t n, const double k[4]);
    /* The same for `rows` rows of c channels, each channel with numbers of its own: k has one array of c after the
       other, and so has `out`. */
    void (*sums)(double *out, const void *x, int64_t rows, int64_t c);
    void (*spreads)(double *out, const void *x, int64_t rows, int64_t c, const double *mean);
    void (*dots)(double *out, const void *g, const void *x, int64_t rows, int64_t c, const double *mean);
    void (*affines)(void *y, const void *x, int64_t rows, int64_t c, const double *k);
    void (*combines)(void *dx, const void *g, const void *x, int64_t rows, int64_t c, const double *k);
} mt_norm_loops;

MT_ISA_DECLARE(const mt_norm_loops *, mt_norm_loops_of, (mt_dtype dtype));

/* float32 for half types, else the dtype itself. */
mt_dtype mt_norm_dtype(const mt_tensor *t);
/* t itself, or a dense copy of that dtype: contiguous, or in channels last order. NULL for NULL. */
int mt_norm_dense(mt_tensor **out, mt_tensor *t, mt_dtype dtype, bool channels_last);
/* The tensor that a kernel fills in place of `out`: itself, or a temporary that mt_norm_finish copies into it. */
int mt_norm_target(mt_tensor **target, mt_tensor *out, mt_dtype dtype, bool channels_last);
int mt_norm_finish(mt_tensor *out, mt_tensor *target);
/* Doubles for the duration of a kernel, zeroed. */
int mt_norm_scratch(mt_tensor **owner, double **out, int64_t n);
/* The elements of a 1-D parameter as doubles (`missing` for NULL), and back into a tensor of any dtype. */
void mt_norm_load(double *dst, const mt_tensor *t, int64_t n, double missing);
void mt_norm_store(mt_tensor *t, const double *src, int64_t n);
void mt_norm_pin(mt_tensor *const *t, int n, bool on);

#endif
