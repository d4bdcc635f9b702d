/* SPDX-License-Identifier: BSD-3-Clause */
/* The body of the kernel of a power with one number as exponent: loops for the usual exponents,
   then the general one. Part of loop_pointwise.tmpl.h, inside the kernel function. */
#define POWER_LOOP(expression)            \
    do {                                  \
        MT_IVDEP                          \
        for (int64_t i = 0; i < n; i++) { \
            const T x = LOAD(a[i]);       \
                                          \
            out[i] = PUT(expression);     \
        }                                 \
        return;                           \
    } while (0)

if (p0 == 2)
    POWER_LOOP(FN(square)(x));
#if IS_FLOAT
if (p0 == 1)
    POWER_LOOP(x);
if (p0 == 3)
    POWER_LOOP(x * x * x);
if (p0 == (T)0.5)
    POWER_LOOP(FN(sqrt)(x));
if (p0 == -1)
    POWER_LOOP(FN(reciprocal)(x));
if (p0 == (T)-0.5)
    POWER_LOOP(FN(rsqrt)(x));
if (p0 == -2)
    POWER_LOOP(FN(reciprocal)(x *x));
#endif
#if IS_FLOAT && BITS == 32
T exponent[256]; /* as data: conditions on one number keep a loop from vectorising */

for (int64_t j = 0; j < n && j < 256; j++)
    exponent[j] = p0;
for (int64_t i = 0; i < n; i += 256) {
    int m = n - i < 256 ? (int)(n - i) : 256, rare = 0;
    T block[256];

    for (int j = 0; j < m; j++) {
        rare |= FN(pow_is_rare)(LOAD(a[i + j]), exponent[j]);
        block[j] = FN(pow_fast)(LOAD(a[i + j]), exponent[j]);
    }
    for (int j = 0; rare && j < m; j++)
        if (FN(pow_is_rare)(LOAD(a[i + j]), p0))
            block[j] = FN(pow)(LOAD(a[i + j]), p0);
    for (int j = 0; j < m; j++)
        out[i + j] = PUT(block[j]);
}
#else
POWER_LOOP(FN(pow)(x, p0));
#endif
#undef POWER_LOOP
