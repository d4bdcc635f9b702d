/* SPDX-License-Identifier: BSD-3-Clause */
/* The formulas of special.tmpl.h for float32 and float64. Functions are named mt_<op>_<S>. The
   template is written once; errors point at its lines. */
#ifndef MT_MATH_SPECIAL_H
#define MT_MATH_SPECIAL_H

#include "math/elementary.h"
#include "math/special_double.h"

#include "math/dtype/f32.h"
#include "math/special.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f64.h"
#include "math/special.tmpl.h"
#include "math/dtype/end.h"

#endif
