/* SPDX-License-Identifier: BSD-3-Clause */
/* Half precision: every float16 and bfloat16 survives the way to float and back; rounding of floats
   is to nearest, ties to even, checked against neighbours in double; NaN stays NaN; vector forms
   give the bits of scalar forms. */
#include <stdio.h>

#include "cpu/vec.h"

static int failures;

static void expect(int ok, const char *what, uint32_t bits)
{
    if (!ok && failures++ < 20)
        printf("%s: %#x\n", what, bits);
}

/* Is `r` the nearest of the 16-bit numbers to x, with the even one at ties? `to_float` is exact. */
static int is_nearest(float x, uint16_t r, float (*to_float)(uint16_t), uint16_t infinity, float overflow)
{
    uint16_t sign = (uint16_t)(mt_bits_f32(x) >> 16 & 0x8000u), mag = r & 0x7fffu;
    double a = fabs((double)x), below, above, here;

    if ((r & 0x8000u) != sign)
        return 0;
    if (a >= (double)overflow) /* half way between the greatest number and the next */
        return mag == infinity;
    if (mag >= infinity)
        return 0;
    here = fabs(a - fabs((double)to_float(mag)));
    below = mag > 0 ? fabs(a - fabs((double)to_float((uint16_t)(mag - 1)))) : 1e300;
    above = mag + 1 < infinity ? fabs(a - fabs((double)to_float((uint16_t)(mag + 1)))) : 1e300;
    return here <= below && here <= above && ((mag & 1) == 0 || (here < below && here < above));
}

static float half_value(uint16_t h)
{
    return mt_f16_to_f32(h);
}

static float brain_value(uint16_t b)
{
    return mt_bf16_to_f32(b);
}

/* The value of a float16 from its fields. */
static double decode(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double v = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);

    return h & 0x8000 ? -v : v;
}

int main(void)
{
    static uint16_t all[65536], back[65536];
    static float wide[65536];

    for (uint32_t u = 0; u < 65536; u++) {
        uint16_t h = (uint16_t)u;
        int is_nan16 = (h & 0x7fff) > 0x7c00, is_nan_brain = (h & 0x7fff) > 0x7f80;

        all[u] = h;
        if ((h >> 10 & 31) != 31)
            expect((double)mt_f16_to_f32(h) == decode(h), "float16 value", u);
        expect(is_nan16 ? isnan(mt_f16_to_f32(h)) != 0 : mt_f32_to_f16(mt_f16_to_f32(h)) == h, "float16 and back", u);
        expect(is_nan_brain ? isnan(mt_bf16_to_f32(h)) != 0 : mt_f32_to_bf16(mt_bf16_to_f32(h)) == h,
               "bfloat16 and back", u);
    }
    mt_vec_f16_to_f32(wide, all, 65535); /* an odd count: the last block is short */
    for (uint32_t u = 0; u < 65535; u++)
        expect(isnan(wide[u]) ? isnan(mt_f16_to_f32(all[u])) != 0 : wide[u] == mt_f16_to_f32(all[u]), "vector float16",
               u);
    for (uint32_t block = 0; block < 65536; block++) {
        for (uint32_t i = 0; i < 8; i++)
            wide[i] = mt_from_bits_f32(block << 16 | (i * 0x2493u & 0xffffu));
        wide[7] = mt_from_bits_f32(block << 16 | 0x1000u); /* ties */
        mt_vec_f32_to_f16(back, wide, 8);
        mt_vec_f32_to_bf16(back + 8, wide, 8);
        for (int i = 0; i < 8; i++) {
            uint16_t h = mt_f32_to_f16(wide[i]), b = mt_f32_to_bf16(wide[i]);
            uint32_t bits = mt_bits_f32(wide[i]);

            expect(back[i] == h, "vector to float16", bits);
            expect(back[8 + i] == b, "vector to bfloat16", bits);
            if (isnan(wide[i])) {
                expect((h & 0x7fff) > 0x7c00 && (b & 0x7fff) > 0x7f80, "NaN", bits);
                continue;
            }
            expect(is_nearest(wide[i], h, half_value, 0x7c00, 65520.0f), "round to float16", bits);
            expect(is_nearest(wide[i], b, brain_value, 0x7f80, 0x1.ffp127f), "round to bfloat16", bits);
        }
    }
    return failures != 0;
}
