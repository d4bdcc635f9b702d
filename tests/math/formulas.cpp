// SPDX-License-Identifier: BSD-3-Clause
// The formulas are the intersection of C17 and C++17: this file compiles them as C++ and calls a few.
#include "math/binary.h"
#include "math/compare.h"
#include "math/complex.h"
#include "math/reduce.h"
#include "math/special.h"
#include "math/ternary.h"
#include "math/unary.h"

int main()
{
    bool ok = mt_add_i8(100, 100, 1) == -56 && mt_where_f32(true, 1.0f, 2.0f) == 1.0f && mt_eq_c64(mt_make_c64(1, 2), mt_make_c64(1, 2));

    ok = ok && mt_remainder_i32(INT32_MIN, -1) == 0 && mt_div_trunc_i32(INT32_MIN, -1) == INT32_MIN && mt_div_floor_i64(7, 0) == 0;
    return ok ? 0 : 1;
}
