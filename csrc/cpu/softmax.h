/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of softmax and log_softmax and their gradients, contiguous, float and double. out may be an input. */
#ifndef MT_CPU_SOFTMAX_H
#define MT_CPU_SOFTMAX_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/isa_pick.h"

/* n_rows rows of n elements, one behind the other. */
MT_ISA_DECLARE(void, mt_softmax_rows_f32, (float *out, const float *x, int64_t n_rows, int64_t n, bool is_log));
MT_ISA_DECLARE(void, mt_softmax_rows_f64, (double *out, const double *x, int64_t n_rows, int64_t n, bool is_log));
/* y: the result of the forward rows; g: the gradient of it. */
MT_ISA_DECLARE(void, mt_softmax_back_rows_f32,
               (float *out, const float *g, const float *y, int64_t n_rows, int64_t n, bool is_log));
MT_ISA_DECLARE(void, mt_softmax_back_rows_f64,
               (double *out, const double *g, const double *y, int64_t n_rows, int64_t n, bool is_log));

/* Attention, a block of n_rows queries against n keys: scores in, weights out; the weights again; slopes of the scores. */
MT_ISA_DECLARE(void, mt_attention_queries_f32,
               (float *to, const float *q, int64_t row, int64_t n_rows, int64_t n, float scale));
MT_ISA_DECLARE(void, mt_attention_hide_f32, (float *x, int64_t n_rows, int64_t n, int64_t seen));
MT_ISA_DECLARE(void, mt_attention_delta_f32,
               (float *delta, const float *o, int64_t o_row, const float *g, int64_t g_row, int64_t n_rows, int64_t n));
MT_ISA_DECLARE(void, mt_attention_queries_f64,
               (double *to, const double *q, int64_t row, int64_t n_rows, int64_t n, double scale));
MT_ISA_DECLARE(void, mt_attention_hide_f64, (double *x, int64_t n_rows, int64_t n, int64_t seen));
MT_ISA_DECLARE(void, mt_attention_delta_f64,
               (double *delta, const double *o, int64_t o_row, const double *g, int64_t g_row, int64_t n_rows,
                int64_t n));
MT_ISA_DECLARE(void, mt_attention_weights_f32, (float *x, int64_t n_rows, int64_t n, float *lse));
MT_ISA_DECLARE(void, mt_attention_weights_f64, (double *x, int64_t n_rows, int64_t n, double *lse));
MT_ISA_DECLARE(void, mt_attention_again_f32, (float *x, int64_t n_rows, int64_t n, const float *lse));
MT_ISA_DECLARE(void, mt_attention_again_f64, (double *x, int64_t n_rows, int64_t n, const double *lse));
MT_ISA_DECLARE(void, mt_attention_slopes_f32,
               (float *g, const float *p, int64_t n_rows, int64_t n, const float *delta, float scale));
MT_ISA_DECLARE(void, mt_attention_slopes_f64,
               (double *g, const double *p, int64_t n_rows, int64_t n, const double *delta, double scale));

#endif
