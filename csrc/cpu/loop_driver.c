/* SPDX-License-Identifier: BSD-3-Clause */
/* The block driver of pointwise loops; see loop_driver.h. Inputs are gathered before the kernel of
   a block runs and the output is scattered after it, so an output may be the same memory as an
   input of the same stride. A broadcast operand is copied into its buffer once. */
#include "cpu/loop_driver.h"

#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "cpu/cpu_internal.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#define MAX_OPERANDS 5
#define BUFFER_BYTES 8192
#define STREAM_BYTES 1024 /* short blocks, so that reads of the next one and writes of the last overlap */

int64_t mt_cpu_stream_bytes = INT64_MAX;

/* dst is 16-byte aligned, nbytes a multiple of 16. */
static void stream(char *dst, const char *src, int64_t nbytes)
{
#if defined(__x86_64__)
    for (int64_t i = 0; i < nbytes; i += 16)
        _mm_stream_si128((__m128i *)(void *)(dst + i), _mm_load_si128((const __m128i *)(const void *)(src + i)));
#else
    memcpy(dst, src, (size_t)nbytes);
#endif
}

/* Fills the buffer with one item, as far as n elements need it. */
static void repeat(char *buffer, const char *item, size_t itemsize, int64_t n)
{
    size_t need = n < BUFFER_BYTES / 16 ? (size_t)n * itemsize : BUFFER_BYTES, have = itemsize;

    memcpy(buffer, item, itemsize);
    while (have < need) {
        size_t more = have < need - have ? have : need - have;

        memcpy(buffer + have, buffer, more);
        have += more;
    }
}

static bool overlaps_output(int n_operands, const uint8_t *itemsize, char *const *data, const int64_t *stride,
                            int64_t n)
{
    uintptr_t begin = (uintptr_t)data[0], end = begin + (uintptr_t)(n * itemsize[0]);

    for (int k = 1; k < n_operands; k++) {
        int64_t reach = stride[k] * (n - 1);
        uintptr_t low = (uintptr_t)data[k] + (uintptr_t)(reach < 0 ? reach : 0);
        uintptr_t high = (uintptr_t)data[k] + (uintptr_t)(reach > 0 ? reach : 0) + itemsize[k];

        if (low < end && begin < high)
            return true;
    }
    return false;
}

void mt_cpu_drive_pages(mt_kernel_fn *kernel, int n_operands, const uint8_t *itemsize, char *const *data, int64_t n,
                        const void *params)
{
    char *p[MAX_OPERANDS];
    int64_t block = MT_PAGE;

    for (int k = 0; k < n_operands; k++) {
        p[k] = data[k];
        block = MT_PAGE / itemsize[k] < block ? MT_PAGE / itemsize[k] : block;
    }
    for (int64_t done = 0; done < n; done += block) {
        int64_t m = n - done < block ? n - done : block;

        for (int k = 0; k < n_operands && m == block; k++)
            mt_cpu_touch_page(p[k], block * itemsize[k], k == 0);
        kernel(p, m, params);
        for (int k = 0; k < n_operands; k++)
            p[k] += m * itemsize[k];
    }
}

void mt_cpu_drive(mt_kernel_fn *kernel, int n_operands, const uint8_t *itemsize, char *const *data,
                  const int64_t *stride, int64_t n, const void *params)
{
    MT_ALIGNED(64) char buffer[MAX_OPERANDS][BUFFER_BYTES];
    char *p[MAX_OPERANDS];
    bool direct[MAX_OPERANDS], streaming = false;
    int64_t block, head, done = 0;
    int widest = 1;

    if (n == 1) { /* strides do not matter */
        kernel(data, 1, params);
        return;
    }
    for (int k = 0; k < n_operands; k++) {
        widest = itemsize[k] > widest ? itemsize[k] : widest;
        direct[k] = stride[k] == itemsize[k];
        if (stride[k] == 0 && k > 0) {
            repeat(buffer[k], data[k], itemsize[k], n);
        }
    }
    block = BUFFER_BYTES / widest;
    if (direct[0] && n * itemsize[0] >= mt_cpu_stream_bytes && !overlaps_output(n_operands, itemsize, data, stride, n))
        streaming = true;
    if (streaming)
        block = STREAM_BYTES / widest;
    /* streamed blocks start at an aligned address */
    head = streaming ? (int64_t)(-(uintptr_t)data[0] & 63) / itemsize[0] : 0;
    while (done < n) {
        int64_t m = done == 0 && head > 0 ? head : (n - done < block ? n - done : block);

        for (int k = 0; k < n_operands; k++) {
            char *at = data[k] + done * stride[k];

            p[k] = direct[k] ? at : buffer[k];
            if (k > 0 && !direct[k] && stride[k] != 0)
                mt_cpu_collect(buffer[k], at, stride[k], m, itemsize[k]);
        }
        if (streaming && done >= head && m * itemsize[0] % 16 == 0) {
            char *at = p[0];

            p[0] = buffer[0];
            kernel(p, m, params);
            stream(at, buffer[0], m * itemsize[0]);
        } else {
            kernel(p, m, params);
            if (!direct[0])
                mt_cpu_spread(data[0] + done * stride[0], stride[0], buffer[0], m, itemsize[0]);
        }
        done += m;
    }
#if defined(__x86_64__)
    if (streaming)
        _mm_sfence();
#endif
}
