/* SPDX-License-Identifier: BSD-3-Clause */
/* See softmax.h and softmax_row.tmpl.h. */
#include "cpu/softmax.h"

#include <math.h>

#include "cpu/loops.h"

#define T float
#define ROW(name) name##_f32
#define EXP(x) mt_exp_down_f32(x)
#define LOG(x) logf(x)
#include "cpu/softmax_row.tmpl.h"

#define T double
#define ROW(name) name##_f64
#define EXP(x) mt_exp_f64(x)
#define LOG(x) log(x)
#include "cpu/softmax_row.tmpl.h"
