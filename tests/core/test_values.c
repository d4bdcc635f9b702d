/* SPDX-License-Identifier: BSD-3-Clause */
/* Dtypes, promotion, numbers, devices and the random generator. */
#include "check.h"

#include <math.h>

#include "core/generator.h"

static mt_dtype result(mt_promotion *p)
{
    mt_dtype d;

    return mt_promotion_result(&d, p) < 0 ? MT_DTYPE_NONE : d;
}

static void test_promotion(void)
{
    static const char table[MT_DTYPE_LOOPS][MT_DTYPE_LOOPS + 1] = {
        /* columns: bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128; values: index as a letter */
        "abcdefghijkl", "bbddefghijkl", "cdcdefghijkl", "ddddefghijkl", "eeeeefghijkl", "ffffffghijkl",
        "gggggggiijkl", "hhhhhhihijkl", "iiiiiiiiijkl", "jjjjjjjjjjll", "kkkkkkkkklkl", "llllllllllll",
    };
    mt_promotion p = MT_PROMOTION_INIT;

    for (int a = 0; a < MT_DTYPE_LOOPS; a++)
        for (int b = 0; b < MT_DTYPE_LOOPS; b++)
            CHECK((int)mt_dtype_promote((mt_dtype)a, (mt_dtype)b) == table[a][b] - 'a');
    CHECK(result(&p) == MT_DTYPE_f32);
    mt_promotion_add(&p, MT_DTYPE_i8, 1, false);
    mt_promotion_add(&p, MT_DTYPE_i64, 0, true);
    CHECK(result(&p) == MT_DTYPE_i8);
    mt_promotion_add(&p, MT_DTYPE_f64, 0, false);
    CHECK(result(&p) == MT_DTYPE_f64);
    p = (mt_promotion)MT_PROMOTION_INIT;
    mt_promotion_add(&p, MT_DTYPE_i32, 1, false);
    mt_promotion_add(&p, MT_DTYPE_f64, 0, true); /* a wrapped float brings the default dtype */
    CHECK(result(&p) == MT_DTYPE_f32);
    p = (mt_promotion)MT_PROMOTION_INIT;
    mt_promotion_add(&p, MT_DTYPE_f64, 2, false);
    mt_promotion_add(&p, MT_DTYPE_c64, 0, true); /* a wrapped complex keeps the width */
    CHECK(result(&p) == MT_DTYPE_c128);
    p = (mt_promotion)MT_PROMOTION_INIT;
    mt_promotion_add(&p, MT_DTYPE_b8, 1, false);
    mt_promotion_add(&p, MT_DTYPE_u8, 0, false);
    CHECK(result(&p) == MT_DTYPE_u8);
    CHECK(mt_dtype_can_cast(MT_DTYPE_i64, MT_DTYPE_u8) && mt_dtype_can_cast(MT_DTYPE_f64, MT_DTYPE_f16));
    CHECK(!mt_dtype_can_cast(MT_DTYPE_f16, MT_DTYPE_i64) && !mt_dtype_can_cast(MT_DTYPE_u8, MT_DTYPE_b8));
    CHECK(!mt_dtype_table[MT_DTYPE_u8].is_signed && !mt_dtype_table[MT_DTYPE_b8].is_signed);
    CHECK(mt_dtype_table[MT_DTYPE_i8].is_signed && mt_dtype_table[MT_DTYPE_c64].is_signed);
}

/* Shells have no common dtype with most others, and their numbers survive a store and a load. */
static void test_shells(void)
{
    static const mt_dtype floats[] = {MT_DTYPE_f16, MT_DTYPE_bf16, MT_DTYPE_f32, MT_DTYPE_f64};
    mt_promotion p = MT_PROMOTION_INIT;
    char e[16];

    for (size_t i = 0; i < MT_COUNTOF(floats); i++)
        CHECK(mt_dtype_promote(MT_DTYPE_u32, floats[i]) == floats[i]);
    CHECK(mt_dtype_promote(MT_DTYPE_u16, MT_DTYPE_u16) == MT_DTYPE_u16);
    CHECK(mt_dtype_promote(MT_DTYPE_u16, MT_DTYPE_i64) == MT_DTYPE_NONE);
    CHECK(mt_dtype_promote(MT_DTYPE_u16, MT_DTYPE_u32) == MT_DTYPE_NONE);
    CHECK(mt_dtype_promote(MT_DTYPE_c32, MT_DTYPE_f16) == MT_DTYPE_c32);
    CHECK(mt_dtype_promote(MT_DTYPE_bf16, MT_DTYPE_c32) == MT_DTYPE_c64);
    CHECK(mt_dtype_promote(MT_DTYPE_c32, MT_DTYPE_c128) == MT_DTYPE_c128);
    CHECK(mt_dtype_promote(MT_DTYPE_f8e5m2, MT_DTYPE_f32) == MT_DTYPE_NONE);
    CHECK(mt_dtype_to_complex(MT_DTYPE_f8e5m2) == MT_DTYPE_NONE && mt_dtype_to_complex(MT_DTYPE_f16) == MT_DTYPE_c32);
    mt_promotion_add(&p, MT_DTYPE_u16, 1, false);
    mt_promotion_add(&p, MT_DTYPE_i32, 0, false); /* a lower group of the same category has no say */
    CHECK(result(&p) == MT_DTYPE_u16);
    mt_promotion_add(&p, MT_DTYPE_i32, 1, false);
    CHECK(result(&p) == MT_DTYPE_NONE);
    mt_scalar_store(e, MT_DTYPE_u64, mt_scalar_from_double(0x1p63));
    CHECK(mt_scalar_load(e, MT_DTYPE_u64).is_unsigned &&
          mt_scalar_to_double(mt_scalar_load(e, MT_DTYPE_u64)) == 0x1p63);
    mt_scalar_store(e, MT_DTYPE_f8e4m3fn, mt_scalar_from_double(1e9));
    CHECK(mt_scalar_to_double(mt_scalar_load(e, MT_DTYPE_f8e4m3fn)) == 448);
}

static double through(mt_dtype d, mt_scalar s)
{
    char element[16];

    mt_scalar_store(element, d, s);
    return mt_scalar_to_double(mt_scalar_load(element, d));
}

static void test_numbers(void)
{
    char e[16];
    mt_scalar big = mt_scalar_from_int(-1);

    CHECK(through(MT_DTYPE_u8, mt_scalar_from_double(300)) == 44);
    CHECK(through(MT_DTYPE_u8, mt_scalar_from_double(-1)) == 255);
    CHECK(through(MT_DTYPE_i8, mt_scalar_from_int(200)) == -56);
    CHECK(through(MT_DTYPE_i32, mt_scalar_from_double(NAN)) == INT32_MIN);
    CHECK(through(MT_DTYPE_i64, mt_scalar_from_double(1e300)) == (double)INT64_MIN);
    CHECK(through(MT_DTYPE_b8, mt_scalar_from_double(NAN)) == 1);
    CHECK(through(MT_DTYPE_b8, mt_scalar_from_complex(0, 2)) == 1);
    CHECK(through(MT_DTYPE_f16, mt_scalar_from_double(65520)) == INFINITY);
    CHECK(through(MT_DTYPE_f16, mt_scalar_from_double(0x1p-24)) == 0x1p-24);
    CHECK(through(MT_DTYPE_bf16, mt_scalar_from_double(1.00390625)) == 1.0);
    CHECK(through(MT_DTYPE_c64, mt_scalar_from_complex(3, 4)) == 3);
    CHECK(mt_scalar_to_int(mt_scalar_from_double(-2.9)) == -2 &&
          mt_scalar_to_int(mt_scalar_from_double(1e30)) == INT64_MAX);
    big.is_unsigned = 1;
    CHECK(mt_scalar_to_double(big) == 0x1p64 && mt_scalar_to_int(big) == INT64_MAX && mt_scalar_is_true(big));
    CHECK_ERROR(mt_scalar_store_checked(e, MT_DTYPE_u8, mt_scalar_from_int(300)), MT_ERR_RUNTIME,
                "value cannot be converted to type uint8_t without overflow");
    CHECK_ERROR(mt_scalar_store_checked(e, MT_DTYPE_u8, mt_scalar_from_int(-300)), MT_ERR_RUNTIME, "uint8_t");
    CHECK_ERROR(mt_scalar_store_checked(e, MT_DTYPE_f16, mt_scalar_from_double(1e6)), MT_ERR_RUNTIME, "c10::Half");
    CHECK_ERROR(mt_scalar_store_checked(e, MT_DTYPE_f32, mt_scalar_from_complex(1, 2)), MT_ERR_RUNTIME, "float");
    CHECK_ERROR(mt_scalar_store_checked(e, MT_DTYPE_c64, mt_scalar_from_double(1e300)), MT_ERR_RUNTIME,
                "complex<float>");
    CHECK_ERROR(mt_scalar_store_checked(e, MT_DTYPE_i32, mt_scalar_from_double(INFINITY)), MT_ERR_RUNTIME, "type int ");
    CHECK_ERROR(mt_scalar_store_checked(e, MT_DTYPE_i64, mt_scalar_from_double(0x1p63)), MT_ERR_RUNTIME, "int64_t");
    CHECK_ERROR(mt_scalar_store_checked(e, MT_DTYPE_i64, big), MT_ERR_RUNTIME, "int64_t");
    CHECK(mt_scalar_store_checked(e, MT_DTYPE_u8, mt_scalar_from_int(-1)) == 0 && (unsigned char)e[0] == 255);
    CHECK(mt_scalar_store_checked(e, MT_DTYPE_f16, mt_scalar_from_double(INFINITY)) == 0);
    CHECK(mt_scalar_store_checked(e, MT_DTYPE_b8, mt_scalar_from_complex(0, 1)) == 0 && e[0] == 1);
    CHECK(mt_scalar_store_checked(e, MT_DTYPE_f32, big) == 0);
    CHECK(mt_scalar_equals_int(mt_scalar_from_complex(1, 0), 1) &&
          !mt_scalar_equals_int(mt_scalar_from_complex(1, 1), 1));
    CHECK(mt_scalar_dtype(mt_scalar_from_bool(true)) == MT_DTYPE_b8 && mt_scalar_dtype(big) == MT_DTYPE_u64);
}

static void test_devices(void)
{
    char text[24];
    mt_device d = {MT_DEVICE_CPU, 3}, cuda = {MT_DEVICE_CUDA, 1};

    CHECK(strcmp(mt_device_format(text, cuda), "cuda:1") == 0 && strcmp(mt_device_format(text, MT_META), "meta") == 0);
    CHECK(mt_device_check(&d) == 0 && mt_device_equal(d, MT_CPU));
    CHECK_ERROR(mt_device_check(&cuda), MT_ERR_RUNTIME, "not compiled with CUDA");
}

/* Words, state blob and the cached normal value for seed 1234. */
static void test_generator(void)
{
    static const uint32_t first[] = {822569775u, 2137449171u, 2671936806u, 3512589365u};
    static uint32_t bulk[3000], single[3000];
    static uint8_t state[MT_GENERATOR_STATE_BYTES], again[MT_GENERATOR_STATE_BYTES];
    mt_generator *g, *h;
    double normal;

    CHECK(mt_generator_new(&g, MT_CPU) == 0 && mt_generator_new(&h, MT_CPU) == 0);
    CHECK(g->seed == 67280421310721u);
    mt_generator_seed(g, 1234);
    mt_generator_seed(h, 1234);
    for (int i = 0; i < 4; i++)
        CHECK(mt_generator_u32(g) == first[i]);
    mt_generator_seed(g, 1234);
    CHECK(fabsf(mt_generator_f32(g) - 0.0289792418f) < 1e-9f);
    mt_generator_seed(g, 1234);
    CHECK(mt_generator_f64(g) == 0.2318341720884639);
    mt_generator_seed(g, 1234);
    for (int i = 0; i < 3000; i++)
        single[i] = mt_generator_u32(g);
    for (int64_t at = 0, n = 0; at < 3000; at += n, n = (n * 5 + 3) % 701) {
        if (n > 3000 - at)
            n = 3000 - at;
        mt_generator_fill_u32(h, bulk + at, n);
    }
    CHECK(memcmp(single, bulk, sizeof(single)) == 0 && g->left == h->left && g->next == h->next);
    mt_generator_seed(g, 1234);
    CHECK((float)mt_generator_normal(g) == 0.0461304635f);
    mt_generator_get_state(g, state);
    normal = mt_generator_normal(g);
    CHECK((float)normal == 0.402402818f);
    CHECK(mt_generator_set_state(h, state, sizeof(state)) == 0 && mt_generator_normal(h) == normal);
    CHECK(mt_generator_normal(h) == mt_generator_normal(g));
    mt_generator_get_state(g, state);
    mt_generator_get_state(h, again);
    CHECK(memcmp(state + 8, again + 8, sizeof(state) - 8) == 0);
    CHECK_ERROR(mt_generator_set_state(g, state, 5048), MT_ERR_RUNTIME, "5048");
    state[8] = 200;
    CHECK_ERROR(mt_generator_set_state(g, state, sizeof(state)), MT_ERR_RUNTIME, "Invalid mt19937 state");
    CHECK(mt_generator_default() == mt_generator_default());
    CHECK(mt_generator_random_seed() != mt_generator_random_seed());
    mt_generator_unref(g);
    mt_generator_unref(h);
}

int main(void)
{
    test_promotion();
    test_shells();
    test_numbers();
    test_devices();
    test_generator();
    return check_done();
}
