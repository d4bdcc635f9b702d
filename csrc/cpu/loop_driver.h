/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a contiguous kernel over operands with any strides: block by block, inputs that are not
   contiguous are gathered into small buffers, outputs scattered from one. Outputs larger than half
   the last-level cache are written with streaming stores. Buffers stay in the first-level cache. */
#ifndef MT_CPU_LOOP_DRIVER_H
#define MT_CPU_LOOP_DRIVER_H

#include <stdint.h>

/* n elements of every operand, each contiguous; data[0] is the output. */
typedef void mt_kernel_fn(char *const *data, int64_t n, const void *params);

/* itemsize[k] is the size of operand k in bytes: 1, 2, 4, 8 or 16. */
void mt_cpu_drive(mt_kernel_fn *kernel, int n_operands, const uint8_t *itemsize, char *const *data,
                  const int64_t *stride, int64_t n, const void *params);

/* The same for large operands that are all contiguous: hardware reads ahead within a page of memory only, so
   every next page is touched while the block before it is computed. */
void mt_cpu_drive_pages(mt_kernel_fn *kernel, int n_operands, const uint8_t *itemsize, char *const *data, int64_t n,
                        const void *params);
#define MT_PAGED_BYTES 262144

/* Outputs of at least this many bytes are streamed past the caches. */
extern int64_t mt_cpu_stream_bytes;

#endif
