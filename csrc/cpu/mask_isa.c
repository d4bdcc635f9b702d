/* SPDX-License-Identifier: BSD-3-Clause */
/* The loops over one chunk of a mask, once per ISA level. Masks are read as words of 64 bits; every level then works on
   as many elements at once as it can permute: AVX-512 compresses registers, BMI2 packs bytes inside a word (and makes the
   permutation of a register from that), the baseline moves one element and advances by the mask byte. Whole registers are
   stored past the current place only while that stays inside the chunk's results. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "cpu/isa.h"
#include "cpu/mask.h"
#include "cpu/vec.h"

enum { WORD = 64 };

typedef uint64_t wide_item __attribute__((vector_size(16)));

/* --- words --- */

/* Bit i: is mask[i] true? Of 64 bytes. */
static inline uint64_t word_at(const uint8_t *mask)
{
#if defined(__AVX512BW__)
    __m512i v = _mm512_loadu_si512((const void *)mask);

    return _mm512_test_epi8_mask(v, v);
#elif defined(__AVX2__)
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)mask), zero = _mm256_setzero_si256();
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(mask + 32));
    uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, zero));
    uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, zero));

    return ~((uint64_t)high << 32 | low);
#elif defined(__SSE2__)
    const __m128i zero = _mm_setzero_si128();
    uint64_t bits = 0;

    for (int i = 0; i < WORD; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(mask + i));

        bits |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, zero)) << i;
    }
    return ~bits;
#else
    uint64_t bits = 0;

    for (int i = 0; i < WORD; i++)
        bits |= (uint64_t)(mask[i] != 0) << i;
    return bits;
#endif
}

/* Of n bytes, fewer than 64. */
static uint64_t last_word(const uint8_t *mask, int64_t n)
{
    uint64_t bits = 0;

    for (int64_t i = 0; i < n; i++)
        bits |= (uint64_t)(mask[i] != 0) << i;
    return bits;
}

static inline uint64_t word_of(const uint8_t *mask, int64_t i, int64_t n)
{
    return n - i >= WORD ? word_at(mask + i) : last_word(mask + i, n - i);
}

/* Sums of 255 bytes fit a byte, so lanes of bytes are added as such. */
int64_t MT_ISA_NAME(mt_mask_run_count)(const uint8_t *mask, int64_t n)
{
    int64_t total = 0;

    while (n >= WORD) {
        int64_t rounds = n / WORD < 255 ? n / WORD : 255;
        uint8_t lane[WORD] = {0};

        for (int64_t r = 0; r < rounds; r++)
            for (int i = 0; i < WORD; i++)
                lane[i] = (uint8_t)(lane[i] + (mask[r * WORD + i] != 0));
        for (int i = 0; i < WORD; i++)
            total += lane[i];
        mask += rounds * WORD;
        n -= rounds * WORD;
    }
    for (int64_t i = 0; i < n; i++)
        total += mask[i] != 0;
    return total;
}

/* --- permutations from eight bits --- */

#if defined(__BMI2__) && !defined(__AVX512F__)
/* The numbers of the set bits, one a byte. */
static inline uint64_t numbers_of_bits(uint64_t eight)
{
    return _pext_u64(0x0706050403020100u, _pdep_u64(eight, 0x0101010101010101u) * 0xff);
}

#endif

#if defined(__BMI2__)
/* The items of eight bytes whose bit is set, moved together. */
static inline uint64_t pack_bytes(uint64_t bytes, uint64_t bits)
{
    return _pext_u64(bytes, _pdep_u64(bits, 0x0101010101010101u) * 0xff);
}

static inline uint64_t pack_pairs(uint64_t bytes, uint64_t bits)
{
    return _pext_u64(bytes, _pdep_u64(bits, 0x0001000100010001u) * 0xffff);
}
#endif

/* --- positions --- */

/* Writes up to 64 positions; whole registers, so that up to 8 places behind are overwritten. */
static inline int64_t positions_of_word(int64_t *out, uint64_t bits, int64_t base)
{
    int64_t k = 0;

#if defined(__AVX512F__)
    __m512i at = _mm512_add_epi64(_mm512_set1_epi64(base), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));

    for (int i = 0; i < WORD; i += 8, bits >>= 8) {
        _mm512_storeu_si512((void *)(out + k), _mm512_maskz_compress_epi64((__mmask8)bits, at));
        k += __builtin_popcountll(bits & 0xff);
        at = _mm512_add_epi64(at, _mm512_set1_epi64(8));
    }
#elif defined(__BMI2__)
    for (int i = 0; i < WORD; i += 8, bits >>= 8) {
        __m128i few = _mm_cvtsi64_si128((long long)numbers_of_bits(bits & 0xff));
        __m256i start = _mm256_set1_epi64x(base + i);

        _mm256_storeu_si256((__m256i *)(void *)(out + k), _mm256_add_epi64(start, _mm256_cvtepu8_epi64(few)));
        _mm256_storeu_si256((__m256i *)(void *)(out + k + 4),
                            _mm256_add_epi64(start, _mm256_cvtepu8_epi64(_mm_srli_si128(few, 4))));
        k += __builtin_popcountll(bits & 0xff);
    }
#else
    for (int i = 0; i < WORD; i++, bits >>= 1) {
        out[k] = base + i;
        k += bits & 1;
    }
#endif
    return k;
}

void MT_ISA_NAME(mt_mask_run_positions)(int64_t *out, const uint8_t *mask, int64_t n, int64_t count, int64_t base)
{
    int64_t k = 0;

    for (int64_t i = 0; i < n && k < count; i += WORD) {
        uint64_t bits = word_of(mask, i, n);

        if (k + WORD + 8 <= count && __builtin_popcountll(bits) > 8) {
            k += positions_of_word(out + k, bits, base + i);
            continue;
        }
        for (; bits; bits &= bits - 1)
            out[k++] = base + i + __builtin_ctzll(bits);
    }
}

/* --- packing --- */

/* pack_N moves the chosen items of 64 together and may overwrite up to 64 bytes behind them. */
#if defined(__BMI2__)
static inline int64_t pack_1(char *out, const char *in, uint64_t bits)
{
    int64_t k = 0;

    for (int i = 0; i < WORD; i += 8, bits >>= 8) {
        uint64_t items;

        memcpy(&items, in + i, 8);
        items = pack_bytes(items, bits & 0xff);
        memcpy(out + k, &items, 8);
        k += __builtin_popcountll(bits & 0xff);
    }
    return k;
}

static inline int64_t pack_2(char *out, const char *in, uint64_t bits)
{
    int64_t k = 0;

    for (int i = 0; i < WORD; i += 4, bits >>= 4) {
        uint64_t items;

        memcpy(&items, in + 2 * i, 8);
        items = pack_pairs(items, bits & 0xf);
        memcpy(out + 2 * k, &items, 8);
        k += __builtin_popcountll(bits & 0xf);
    }
    return k;
}
#endif

#if defined(__AVX512F__)
static inline int64_t pack_4(char *out, const char *in, uint64_t bits)
{
    int64_t k = 0;

    for (int i = 0; i < WORD; i += 16, bits >>= 16) {
        __m512i items = _mm512_loadu_si512((const void *)(in + 4 * i));

        _mm512_storeu_si512((void *)(out + 4 * k), _mm512_maskz_compress_epi32((__mmask16)bits, items));
        k += __builtin_popcountll(bits & 0xffff);
    }
    return k;
}

static inline int64_t pack_8(char *out, const char *in, uint64_t bits)
{
    int64_t k = 0;

    for (int i = 0; i < WORD; i += 8, bits >>= 8) {
        __m512i items = _mm512_loadu_si512((const void *)(in + 8 * i));

        _mm512_storeu_si512((void *)(out + 8 * k), _mm512_maskz_compress_epi64((__mmask8)bits, items));
        k += __builtin_popcountll(bits & 0xff);
    }
    return k;
}
#elif defined(__BMI2__)
static inline void permute_eight(char *out, const char *in, uint64_t eight)
{
    __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)numbers_of_bits(eight)));
    __m256i items = _mm256_loadu_si256((const __m256i *)(const void *)in);

    _mm256_storeu_si256((__m256i *)(void *)out, _mm256_permutevar8x32_epi32(items, order));
}

static inline int64_t pack_4(char *out, const char *in, uint64_t bits)
{
    int64_t k = 0;

    for (int i = 0; i < WORD; i += 8, bits >>= 8) {
        permute_eight(out + 4 * k, in + 4 * i, bits & 0xff);
        k += __builtin_popcountll(bits & 0xff);
    }
    return k;
}

static inline int64_t pack_8(char *out, const char *in, uint64_t bits)
{
    int64_t k = 0;

    for (int i = 0; i < WORD; i += 4, bits >>= 4) {
        permute_eight(out + 8 * k, in + 8 * i, _pdep_u64(bits & 0xf, 0x55) * 3);
        k += __builtin_popcountll(bits & 0xf);
    }
    return k;
}
#endif

#define DEFINE_PACK_WORD(bytes, type)                                            \
    static inline int64_t pack_##bytes(char *out, const char *in, uint64_t bits) \
    {                                                                            \
        int64_t k = 0;                                                           \
                                                                                 \
        for (int i = 0; i < WORD; i++, bits >>= 1) {                             \
            memcpy(out + k * (bytes), in + i * (bytes), sizeof(type));           \
            k += bits & 1;                                                       \
        }                                                                        \
        return k;                                                                \
    }
#if !defined(__BMI2__)
DEFINE_PACK_WORD(1, uint8_t)
DEFINE_PACK_WORD(2, uint16_t)
DEFINE_PACK_WORD(4, uint32_t)
DEFINE_PACK_WORD(8, uint64_t)
#endif
DEFINE_PACK_WORD(16, wide_item)
#undef DEFINE_PACK_WORD

/* --- spreading --- */

/* spread_N puts as many items as there are bits into 64 places; it reads 64 of them. */
#if defined(__AVX512F__)
#define CAN_SPREAD_4 true
#define CAN_SPREAD_8 true
static inline int64_t spread_4(char *out, const char *in, uint64_t bits)
{
    int64_t k = 0;

    for (int i = 0; i < WORD; i += 16, bits >>= 16) {
        __m512i old = _mm512_loadu_si512((const void *)(out + 4 * i));

        old = _mm512_mask_expand_epi32(old, (__mmask16)bits, _mm512_loadu_si512((const void *)(in + 4 * k)));
        _mm512_storeu_si512((void *)(out + 4 * i), old);
        k += __builtin_popcountll(bits & 0xffff);
    }
    return k;
}

static inline int64_t spread_8(char *out, const char *in, uint64_t bits)
{
    int64_t k = 0;

    for (int i = 0; i < WORD; i += 8, bits >>= 8) {
        __m512i old = _mm512_loadu_si512((const void *)(out + 8 * i));

        old = _mm512_mask_expand_epi64(old, (__mmask8)bits, _mm512_loadu_si512((const void *)(in + 8 * k)));
        _mm512_storeu_si512((void *)(out + 8 * i), old);
        k += __builtin_popcountll(bits & 0xff);
    }
    return k;
}
#else
#define CAN_SPREAD_4 false
#define CAN_SPREAD_8 false
#define spread_4(out, in, bits) 0
#define spread_8(out, in, bits) 0
#endif
#define CAN_SPREAD_1 false
#define CAN_SPREAD_2 false
#define CAN_SPREAD_16 false
#define spread_1(out, in, bits) 0
#define spread_2(out, in, bits) 0
#define spread_16(out, in, bits) 0

/* --- by item size --- */

#define DEFINE_RUNS(bytes, type)                                                                              \
    static void pack_run_##bytes(char *out, const char *in, const uint8_t *mask, int64_t n, int64_t count)    \
    {                                                                                                         \
        int64_t k = 0;                                                                                        \
                                                                                                              \
        for (int64_t i = 0; i < n && k < count; i += WORD) {                                                  \
            uint64_t bits = word_of(mask, i, n);                                                              \
                                                                                                              \
            if (n - i >= WORD && (k + WORD - count) * (bytes) + 64 <= 0 && __builtin_popcountll(bits) > 8) {  \
                k += pack_##bytes(out + k * (bytes), in + i * (bytes), bits);                                 \
                continue;                                                                                     \
            }                                                                                                 \
            for (; bits; bits &= bits - 1)                                                                    \
                memcpy(out + k++ * (bytes), in + (i + __builtin_ctzll(bits)) * (bytes), sizeof(type));        \
        }                                                                                                     \
    }                                                                                                         \
    static void spread_run_##bytes(char *out, const char *in, const uint8_t *mask, int64_t n, int64_t count)  \
    {                                                                                                         \
        int64_t k = 0;                                                                                        \
                                                                                                              \
        for (int64_t i = 0; i < n && k < count; i += WORD) {                                                  \
            uint64_t bits = word_of(mask, i, n);                                                              \
                                                                                                              \
            if (CAN_SPREAD_##bytes && n - i >= WORD && k + WORD <= count && __builtin_popcountll(bits) > 8) { \
                k += spread_##bytes(out + i * (bytes), in + k * (bytes), bits);                               \
                continue;                                                                                     \
            }                                                                                                 \
            for (; bits; bits &= bits - 1)                                                                    \
                memcpy(out + (i + __builtin_ctzll(bits)) * (bytes), in + k++ * (bytes), sizeof(type));        \
        }                                                                                                     \
    }                                                                                                         \
    static void fill_run_##bytes(char *data, const uint8_t *restrict mask, int64_t n, const void *element)    \
    {                                                                                                         \
        typedef type item __attribute__((may_alias, aligned(1)));                                             \
        item *restrict to = (item *)(void *)data;                                                             \
        type value;                                                                                           \
                                                                                                              \
        memcpy(&value, element, sizeof(type));                                                                \
        for (int64_t i = 0; i < n; i++)                                                                       \
            to[i] = mask[i] ? value : (type)to[i];                                                            \
    }
DEFINE_RUNS(1, uint8_t)
DEFINE_RUNS(2, uint16_t)
DEFINE_RUNS(4, uint32_t)
DEFINE_RUNS(8, uint64_t)
DEFINE_RUNS(16, wide_item)
#undef DEFINE_RUNS

void MT_ISA_NAME(mt_mask_run_pack)(char *out, const char *in, const uint8_t *mask, int64_t n, int64_t count,
                                   int itemsize)
{
    switch (itemsize) {
    case 1:
        pack_run_1(out, in, mask, n, count);
        break;
    case 2:
        pack_run_2(out, in, mask, n, count);
        break;
    case 4:
        pack_run_4(out, in, mask, n, count);
        break;
    case 8:
        pack_run_8(out, in, mask, n, count);
        break;
    default:
        pack_run_16(out, in, mask, n, count);
        break;
    }
}

void MT_ISA_NAME(mt_mask_run_spread)(char *out, const char *in, const uint8_t *mask, int64_t n, int64_t count,
                                     int itemsize)
{
    switch (itemsize) {
    case 1:
        spread_run_1(out, in, mask, n, count);
        break;
    case 2:
        spread_run_2(out, in, mask, n, count);
        break;
    case 4:
        spread_run_4(out, in, mask, n, count);
        break;
    case 8:
        spread_run_8(out, in, mask, n, count);
        break;
    default:
        spread_run_16(out, in, mask, n, count);
        break;
    }
}

void MT_ISA_NAME(mt_mask_run_fill)(char *data, const uint8_t *mask, int64_t n, const void *element, int itemsize)
{
    switch (itemsize) {
    case 1:
        fill_run_1(data, mask, n, element);
        break;
    case 2:
        fill_run_2(data, mask, n, element);
        break;
    case 4:
        fill_run_4(data, mask, n, element);
        break;
    case 8:
        fill_run_8(data, mask, n, element);
        break;
    default:
        fill_run_16(data, mask, n, element);
        break;
    }
}
