/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MT_MATH_ELEMENTARY_H
#define MT_MATH_ELEMENTARY_H
#include "math/scalar.h"
#define E1(n) MT_HD float mt_##n##_f32(float x) { return n##f(x); } MT_HD double mt_##n##_f64(double x) { return n(x); }
E1(exp) E1(exp2) E1(expm1) E1(log) E1(log2) E1(log10) E1(log1p) E1(sin) E1(cos) E1(tan) E1(asin) E1(acos) E1(atan) E1(sinh) E1(cosh) E1(tanh)
E1(asinh) E1(acosh) E1(atanh) E1(erf) E1(erfc)
MT_HD float mt_sigmoid_f32(float x) { return 1/(1+expf(-x)); }
MT_HD double mt_sigmoid_f64(double x) { return 1/(1+exp(-x)); }
MT_HD float mt_fmod_f32(float x, float y) { return fmodf(x, y); }
MT_HD double mt_fmod_f64(double x, double y) { return fmod(x, y); }
MT_HD float mt_pow_f32(float x, float y) { return powf(x, y); }
MT_HD double mt_pow_f64(double x, double y) { return pow(x, y); }
#endif
