/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything a generated loop file includes before its first stanza: all formulas, the vector
   helpers and the driver for operands that are not contiguous. */
#ifndef MT_CPU_LOOPS_H
#define MT_CPU_LOOPS_H

#include "cpu/cpu_internal.h"
#include "cpu/isa.h"
#include "cpu/loop_driver.h"
#include "cpu/vec.h"
#include "math/binary.h"
#include "math/compare.h"
#include "math/complex.h"
#include "math/reduce.h"
#include "math/special.h"
#include "math/ternary.h"
#include "math/unary.h"

#endif
