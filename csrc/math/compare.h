/* SPDX-License-Identifier: BSD-3-Clause */
/* The formulas of compare.tmpl.h for every real compute type. Functions are named mt_<op>_<S>. The
   template is written once; errors point at its lines. */
#ifndef MT_MATH_COMPARE_H
#define MT_MATH_COMPARE_H

#include "math/scalar.h"

#include "math/dtype/b8.h"
#include "math/compare.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/u8.h"
#include "math/compare.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i8.h"
#include "math/compare.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i16.h"
#include "math/compare.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i32.h"
#include "math/compare.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i64.h"
#include "math/compare.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f32.h"
#include "math/compare.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f64.h"
#include "math/compare.tmpl.h"
#include "math/dtype/end.h"

#endif
