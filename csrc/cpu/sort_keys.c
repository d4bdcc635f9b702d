/* SPDX-License-Identifier: BSD-3-Clause */
/* See sort_keys.h. Short lists use insertion and merging, long ones a least-significant-digit radix sort that skips digits
   in which all keys agree. */
#include "cpu/sort_keys.h"

#include <string.h>

#include "math/scalar.h"

static inline uint64_t key_f64(double d)
{
    uint64_t u;

    if (d != d)
        return UINT64_MAX;
    d += 0.0; /* -0 becomes +0 */
    memcpy(&u, &d, 8);
    return u >> 63 ? ~u : u | UINT64_C(1) << 63;
}

static inline uint64_t key_f32(float f)
{
    uint32_t u;

    if (f != f)
        return UINT32_MAX;
    f += 0.0f;
    memcpy(&u, &f, 4);
    return u >> 31 ? (uint32_t)~u : u | UINT32_C(1) << 31;
}

#define KEYS(type, expression)                  \
    for (int64_t i = 0; i < n; i++) {           \
        type x;                                 \
                                                \
        memcpy(&x, data + i * step, sizeof(x)); \
        pairs[i].key = (expression) ^ flip;     \
        pairs[i].index = i;                     \
    }                                           \
    break

void mt_sort_make_keys(mt_sort_pair *pairs, const char *data, int64_t step, int64_t n, mt_dtype dtype, bool descending)
{
    uint64_t flip = 0;

    if (descending)
        flip = mt_dtype_size(dtype) == 8                                              ? UINT64_MAX
               : dtype == MT_DTYPE_b8 || dtype == MT_DTYPE_u8 || dtype == MT_DTYPE_i8 ? 0xff
               : mt_dtype_is_integral(dtype, false) && mt_dtype_size(dtype) == 2      ? 0xffff
                                                                                      : 0xffffffff;
    switch (dtype) {
    case MT_DTYPE_b8:
        KEYS(uint8_t, (uint64_t)(x != 0));
    case MT_DTYPE_u8:
        KEYS(uint8_t, (uint64_t)x);
    case MT_DTYPE_i8:
        KEYS(int8_t, (uint64_t)(uint8_t)(x ^ INT8_MIN));
    case MT_DTYPE_i16:
        KEYS(int16_t, (uint64_t)(uint16_t)(x ^ INT16_MIN));
    case MT_DTYPE_i32:
        KEYS(int32_t, (uint64_t)(uint32_t)(x ^ INT32_MIN));
    case MT_DTYPE_i64:
        KEYS(int64_t, (uint64_t)(x ^ INT64_MIN));
    case MT_DTYPE_u16:
        KEYS(uint16_t, (uint64_t)x);
    case MT_DTYPE_u32:
        KEYS(uint32_t, (uint64_t)x);
    case MT_DTYPE_u64:
        KEYS(uint64_t, x);
    case MT_DTYPE_f16:
        KEYS(uint16_t, key_f32(mt_f16_to_f32(x)));
    case MT_DTYPE_bf16:
        KEYS(uint16_t, key_f32(mt_bf16_to_f32(x)));
    case MT_DTYPE_f32:
        KEYS(float, key_f32(x));
    default:
        KEYS(double, key_f64(x));
    }
}

static void insertion(mt_sort_pair *p, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        mt_sort_pair x = p[i];
        int64_t k = i;

        for (; k > 0 && p[k - 1].key > x.key; k--)
            p[k] = p[k - 1];
        p[k] = x;
    }
}

static void merge(mt_sort_pair *out, const mt_sort_pair *a, int64_t n_a, const mt_sort_pair *b, int64_t n_b)
{
    while (n_a && n_b) {
        if (b->key < a->key) {
            *out++ = *b++;
            n_b--;
        } else {
            *out++ = *a++;
            n_a--;
        }
    }
    memcpy(out, n_a ? a : b, (size_t)(n_a + n_b) * sizeof(*out));
}

#define RUN 16

static void merge_sort(mt_sort_pair *p, mt_sort_pair *scratch, int64_t n)
{
    mt_sort_pair *from = p, *to = scratch;

    for (int64_t i = 0; i < n; i += RUN)
        insertion(p + i, n - i < RUN ? n - i : RUN);
    for (int64_t width = RUN; width < n; width *= 2) {
        mt_sort_pair *t = from;

        for (int64_t i = 0; i < n; i += 2 * width) {
            int64_t left = n - i < width ? n - i : width, right = n - i - left < width ? n - i - left : width;

            merge(to + i, from + i, left, from + i + left, right);
        }
        from = to;
        to = t;
    }
    if (from != p)
        memcpy(p, from, (size_t)n * sizeof(*p));
}

#define DIGIT_BITS 11
#define DIGITS (1 << DIGIT_BITS)

static void radix_sort(mt_sort_pair *p, mt_sort_pair *scratch, int64_t n)
{
    mt_sort_pair *from = p, *to = scratch;
    uint64_t differ = 0;

    for (int64_t i = 1; i < n; i++)
        differ |= p[i].key ^ p[0].key;
    for (int shift = 0; shift < 64; shift += DIGIT_BITS) {
        int64_t count[DIGITS];
        mt_sort_pair *t;
        int64_t at = 0;

        if (!(differ >> shift & (DIGITS - 1)))
            continue;
        memset(count, 0, sizeof(count));
        for (int64_t i = 0; i < n; i++)
            count[from[i].key >> shift & (DIGITS - 1)]++;
        for (int d = 0; d < DIGITS; d++) {
            int64_t c = count[d];

            count[d] = at;
            at += c;
        }
        for (int64_t i = 0; i < n; i++)
            to[count[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
        t = from;
        from = to;
        to = t;
    }
    if (from != p)
        memcpy(p, from, (size_t)n * sizeof(*p));
}

void mt_sort_pairs(mt_sort_pair *pairs, mt_sort_pair *scratch, int64_t n)
{
    if (n <= 2048)
        merge_sort(pairs, scratch, n);
    else
        radix_sort(pairs, scratch, n);
}
