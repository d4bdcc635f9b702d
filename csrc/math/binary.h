/* SPDX-License-Identifier: BSD-3-Clause */
/* The formulas of binary.tmpl.h for every real compute type. Functions are named mt_<op>_<S>. The
   template is written once; errors point at its lines. */
#ifndef MT_MATH_BINARY_H
#define MT_MATH_BINARY_H

#include "math/unary.h"

#include "math/dtype/b8.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/u8.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i8.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i16.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i32.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i64.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f32.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f64.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"

#endif
