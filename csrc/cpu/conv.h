/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolution kernels: what the ISA levels provide, and the geometry that forward and backward share.

   Everything is one primitive, the gather product: row i of the result is the sum over k of source[row[i] + offset[k]]
   times row k of a packed panel. Forward: rows are output pixels, k runs over channels and taps, panels hold weights.
   Gradient of the input: the same with the roles of the channels exchanged, for each phase of the stride. Gradient of the
   weight: rows are channels and taps, k runs over pixels, panels hold output gradients. */
#ifndef MT_CPU_CONV_H
#define MT_CPU_CONV_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/isa_pick.h"

/* One panel of a gather product. Offsets count elements. */
typedef struct mt_gather {
    int64_t n_rows, depth, width; /* width: columns of the panel in use */
    int64_t pitch;                /* elements of a row of the panel: one or two vectors */
    const void *source;
    const int64_t *row, *offset; /* of n_rows and depth elements */
    const void *panel;           /* depth x pitch, the rest of a row is zero */
    const void *bias;            /* one per column, or NULL */
    void *out;
    const int64_t *out_row;    /* where each row goes; NULL: row i at i * out_step */
    int64_t out_step, out_col; /* distance of columns */
    bool accumulate;           /* needs out_col 1 */
} mt_gather;

/* Elements of a row of the panels for that many columns. */
MT_ISA_DECLARE(int64_t, mt_conv_panel_width_f32, (int64_t columns));
MT_ISA_DECLARE(int64_t, mt_conv_panel_width_f64, (int64_t columns));
MT_ISA_DECLARE(void, mt_conv_gather_f32, (const mt_gather *g));
MT_ISA_DECLARE(void, mt_conv_gather_f64, (const mt_gather *g));

/* dst[c][r] = src[r * row + c * col], c < cols, r < rows; rows of dst are `pitch` apart and filled up to it with zeros. */
MT_ISA_DECLARE(void, mt_conv_pack_f32,
               (float *dst, int64_t pitch, const float *src, int64_t row, int64_t col, int64_t rows, int64_t cols));
MT_ISA_DECLARE(void, mt_conv_pack_f64,
               (double *dst, int64_t pitch, const double *src, int64_t row, int64_t col, int64_t rows, int64_t cols));

/* Pixels in vectors: for stride 1 along the last dim. out[o][x] = bias[o] + sum over k of weight[o][k] *
   source[offset[k] + x] for each line; the source may be read up to one vector beyond a line. */
typedef struct mt_sweep {
    int64_t n_channels, depth, n_lines, length;
    const void *source, *weight, *bias;
    int64_t weight_row;           /* elements between the weights of two channels */
    const int64_t *offset, *line; /* of depth and n_lines elements */
    void *out;
    const int64_t *out_line;
    int64_t out_channel;
} mt_sweep;
MT_ISA_DECLARE(void, mt_conv_sweep_f32, (const mt_sweep *s));
MT_ISA_DECLARE(void, mt_conv_sweep_f64, (const mt_sweep *s));

/* The sum over lines and x < length of a[line_a + x] * b[line_b + x]. */
MT_ISA_DECLARE(double, mt_conv_dot_f32,
               (const float *a, const int64_t *line_a, const float *b, const int64_t *line_b, int64_t n_lines,
                int64_t length));
MT_ISA_DECLARE(double, mt_conv_dot_f64,
               (const double *a, const int64_t *line_a, const double *b, const int64_t *line_b, int64_t n_lines,
                int64_t length));

enum { MT_CONV_SLACK = 64 }; /* elements that a source has behind its end for the sweep */

#endif
