/* SPDX-License-Identifier: BSD-3-Clause */
/* The pointwise skeleton: from the formula OP of the dtype in scope to one mt_loop_fn named
   <LOOP>_<XS>. The formula is instantiated once, in a kernel over contiguous operands; other
   strides reach the same kernel in blocks (loop_driver). Kernels come in three forms: a plain loop;
   blocks with a fast formula and a repair of rare arguments (MT_RARE_<op>, math/elementary.h);
   chunks for float16. Two more treat a number that is usually 1, and exponents. Macros: see the
   README of this folder. */
#ifndef T
#include "cpu/loops.h"
#include "math/dtype/f32.h"
#define OP add
#define N_PARAMS 1
#define N_IN 2
#endif

#if defined(LOOP)
#define LOOP_STEM LOOP
#else
#define LOOP_STEM OP
#endif
#define LOOP_NAME MT_LOOP_SYMBOL(LOOP_STEM, XS)
#define KERNEL_NAME MT_LOOP_SYMBOL(LOOP_STEM, MT_JOIN(XS, _kernel))

#ifndef N_PARAMS
#define N_PARAMS 0
#define DROP_N_PARAMS
#endif

/* What is stored, and how. */
#if defined(OUT_BOOL) && OUT_BOOL
#define OUT uint8_t
#define RESULT uint8_t
#define PUT(result) ((uint8_t)(result))
#elif defined(OUT_REAL) && OUT_REAL && IS_COMPLEX
#define OUT REAL
#define RESULT REAL
#define PUT(result) (result)
#elif defined(OUT_COMPLEX) && OUT_COMPLEX
#define OUT CX
#define RESULT CX
#define PUT(result) (result)
#else
#define OUT X
#define RESULT T
#define PUT(result) STORE(result)
#define OUT_IS_X
#endif

#if defined(IN0_BOOL) && IN0_BOOL
#define IN0 uint8_t
#define GET0(element) ((element) != 0)
#else
#define IN0 X
#define GET0(element) LOAD(element)
#endif

/* Arguments of the formula: N_IN elements, then the numbers. */
#if N_IN == 0
#define ELEMENTS(first, second, third, fourth)
#elif N_IN == 1
#define ELEMENTS(first, second, third, fourth) first
#elif N_IN == 2
#define ELEMENTS(first, second, third, fourth) first, second
#elif N_IN == 3
#define ELEMENTS(first, second, third, fourth) first, second, third
#else
#define ELEMENTS(first, second, third, fourth) first, second, third, fourth
#endif
#if N_PARAMS == 0
#define NUMBERS
#elif N_IN == 0
#define NUMBERS p0
#elif N_PARAMS == 1
#define NUMBERS , p0
#elif N_PARAMS == 2
#define NUMBERS , p0, p1
#elif N_PARAMS == 3
#define NUMBERS , p0, p1, p2
#else
#define NUMBERS , p0, p1, p2, p3
#endif
#if IS_HALF && MT_JOIN(MT_HALF_, OP)
#define FORMULA(fname) MT_LOOP_SYMBOL(MT_JOIN(mt_, fname), XS)
#else
#define FORMULA(fname) FN(fname)
#endif
#define CALL(fname, first, second, third, fourth) FORMULA(fname)(ELEMENTS(first, second, third, fourth) NUMBERS)
#define CALL_AT(fname, index) CALL(fname, GET0(a[index]), LOAD(b[index]), LOAD(c[index]), LOAD(d[index]))

#if IS_COMPLEX
#define NUMBER_IS_ONE(number) FN(is_one)(number)
#define NUMBER_ONE {1, 0}
#else
#define NUMBER_IS_ONE(number) ((number) == 1)
#define NUMBER_ONE 1
#endif

/* Rare arguments: MT_RARE_<op> of math/elementary.h. */
#define RARE_KIND MT_JOIN(MT_RARE_, OP)
#define HAS_RARE (IS_FLOAT && RARE_KIND > 0 && (RARE_KIND <= 2 || BITS == 32))
#define FAST MT_JOIN(OP, _fast)
#define IS_RARE MT_JOIN(OP, _is_rare)
#if HAS_RARE && BITS == 32 && RARE_KIND % 2 == 0
#define RARITY MT_JOIN(OP, _rarity)
#define MORE_RARE(so_far, measure) ((measure) > (so_far) ? (measure) : (so_far))
#define RARE_LIMIT MT_JOIN(MT_RARE_BEYOND_, OP)
#else
#define RARITY IS_RARE
#define MORE_RARE(so_far, measure) ((so_far) | (measure))
#define RARE_LIMIT 0
#endif

static void KERNEL_NAME(char *const *data, int64_t n, const void *params)
{
    OUT *out = (OUT *)data[0];
#if N_IN > 0
    const IN0 *a = (const IN0 *)data[1];
#endif
#if N_IN > 1
    const X *b = (const X *)data[2];
#endif
#if N_IN > 2
    const X *c = (const X *)data[3];
#endif
#if N_IN > 3
    const X *d = (const X *)data[4];
#endif
#if N_PARAMS > 0
    const T p0 = ((const T *)params)[0];
#else
    (void)params;
#endif
#if N_PARAMS > 1
    const T p1 = ((const T *)params)[1];
#endif
#if N_PARAMS > 2
    const T p2 = ((const T *)params)[2];
#endif
#if N_PARAMS > 3
    const T p3 = ((const T *)params)[3];
#endif

#if MT_JOIN(MT_POWER_, OP) && !IS_COMPLEX
#include "cpu/loop_power.tmpl.h"
#elif defined(LOAD_CHUNK) && MT_VEC_HAS_CHUNKS && N_IN > 0 && !(defined(IN0_BOOL) && IN0_BOOL)
#include "cpu/loop_chunks.tmpl.h"
#elif HAS_RARE
    const bool in_place = data[0] == data[1] || (N_IN > 1 && data[0] == data[N_IN]);

    for (int64_t i = 0; i < n; i += 1024) {
        int m = n - i < 1024 ? (int)(n - i) : 1024;
        OUT block[1024], *to = in_place ? block : out + i;
        unsigned rare = 0;

        MT_IVDEP
        for (int j = 0; j < m; j++) {
            unsigned measure = CALL_AT(RARITY, i + j);

            rare = MORE_RARE(rare, measure);
            to[j] = PUT(CALL_AT(FAST, i + j));
        }
        for (int j = 0; rare > RARE_LIMIT && j < m; j++)
            if (CALL_AT(IS_RARE, i + j))
                to[j] = PUT(CALL_AT(OP, i + j));
        if (in_place)
            memcpy(out + i, block, (size_t)m * sizeof *out);
    }
#elif MT_JOIN(MT_UNIT_, OP) && (IS_INT || IS_COMPLEX)
    if (NUMBER_IS_ONE(p0)) {
        const T p0 = NUMBER_ONE;

        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            out[i] = PUT(CALL_AT(OP, i));
    } else {
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            out[i] = PUT(CALL_AT(OP, i));
    }
#else
    MT_IVDEP
    for (int64_t i = 0; i < n; i++)
        out[i] = PUT(CALL_AT(OP, i));
#endif
}

static void LOOP_NAME(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    static const uint8_t itemsize[] = {
        sizeof(OUT),
#if N_IN > 0
        sizeof(IN0),
#endif
#if N_IN > 1
        sizeof(X),
#endif
#if N_IN > 2
        sizeof(X),
#endif
#if N_IN > 3
        sizeof(X),
#endif
    };
    bool contiguous = stride[0] == (int64_t)sizeof(OUT) && n * (int64_t)sizeof(OUT) < mt_cpu_stream_bytes;

    for (int k = 1; k <= N_IN; k++)
        contiguous = contiguous && stride[k] == (int64_t)itemsize[k];
    if (contiguous && n * (int64_t)sizeof(X) >= MT_PAGED_BYTES)
        mt_cpu_drive_pages(KERNEL_NAME, N_IN + 1, itemsize, data, n, params);
    else if (contiguous)
        KERNEL_NAME(data, n, params);
    else
        mt_cpu_drive(KERNEL_NAME, N_IN + 1, itemsize, data, stride, n, params);
}

#undef LOOP_STEM
#undef LOOP_NAME
#undef KERNEL_NAME
#ifdef DROP_N_PARAMS
#undef N_PARAMS
#undef DROP_N_PARAMS
#endif
#undef OUT
#undef RESULT
#undef PUT
#undef OUT_IS_X
#undef IN0
#undef GET0
#undef ELEMENTS
#undef NUMBERS
#undef FORMULA
#undef CALL
#undef CALL_AT
#undef NUMBER_IS_ONE
#undef NUMBER_ONE
#undef RARE_KIND
#undef HAS_RARE
#undef FAST
#undef IS_RARE
#undef RARITY
#undef MORE_RARE
#undef RARE_LIMIT
