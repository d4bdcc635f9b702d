/* SPDX-License-Identifier: BSD-3-Clause */
/* The body of a float16 kernel: sixteen elements are converted to float in registers, computed, and
   converted back. The last chunk goes through small buffers. Part of loop_pointwise.tmpl.h, inside
   the kernel function. */
for (int64_t i = 0; i < n; i += MT_VEC_CHUNK) {
    const bool whole = n - i >= MT_VEC_CHUNK;
    const size_t m = whole ? MT_VEC_CHUNK : (size_t)(n - i);
    T x0[MT_VEC_CHUNK];
    const X *at0 = a + i;
    X rest0[MT_VEC_CHUNK] = {0};
#if N_IN > 1
    T x1[MT_VEC_CHUNK];
    const X *at1 = b + i;
    X rest1[MT_VEC_CHUNK] = {0};
#endif
#if N_IN > 2
    T x2[MT_VEC_CHUNK];
    const X *at2 = c + i;
    X rest2[MT_VEC_CHUNK] = {0};
#endif
#if N_IN > 3
    T x3[MT_VEC_CHUNK];
    const X *at3 = d + i;
    X rest3[MT_VEC_CHUNK] = {0};
#endif
    RESULT r[MT_VEC_CHUNK];
    OUT rest[MT_VEC_CHUNK], *to = whole ? out + i : rest;
#if HAS_RARE
    unsigned rare = 0;
#endif

    if (!whole) {
        at0 = memcpy(rest0, at0, m * sizeof(X));
#if N_IN > 1
        at1 = memcpy(rest1, at1, m * sizeof(X));
#endif
#if N_IN > 2
        at2 = memcpy(rest2, at2, m * sizeof(X));
#endif
#if N_IN > 3
        at3 = memcpy(rest3, at3, m * sizeof(X));
#endif
    }
    LOAD_CHUNK(x0, at0);
#if N_IN > 1
    LOAD_CHUNK(x1, at1);
#endif
#if N_IN > 2
    LOAD_CHUNK(x2, at2);
#endif
#if N_IN > 3
    LOAD_CHUNK(x3, at3);
#endif
#if HAS_RARE
    for (int j = 0; j < MT_VEC_CHUNK; j++) {
        unsigned measure = CALL(RARITY, x0[j], x1[j], x2[j], x3[j]);

        rare = MORE_RARE(rare, measure);
        r[j] = CALL(FAST, x0[j], x1[j], x2[j], x3[j]);
    }
    for (int j = 0; rare > RARE_LIMIT && j < MT_VEC_CHUNK; j++)
        if (CALL(IS_RARE, x0[j], x1[j], x2[j], x3[j]))
            r[j] = CALL(OP, x0[j], x1[j], x2[j], x3[j]);
#else
    for (int j = 0; j < MT_VEC_CHUNK; j++)
        r[j] = (RESULT)CALL(OP, x0[j], x1[j], x2[j], x3[j]);
#endif
#ifdef OUT_IS_X
    STORE_CHUNK(to, r);
#else
    memcpy(to, r, sizeof r);
#endif
    if (!whole)
        memcpy(out + i, rest, m * sizeof *out);
}
