/* SPDX-License-Identifier: BSD-3-Clause */
/* The skeleton of comparisons: two tensor operands unless N_IN says otherwise, bool result.
   See loop_pointwise.tmpl.h and the README of this folder. */
#ifndef N_IN
#define N_IN 2
#define DROP_N_IN
#endif
#ifndef OUT_BOOL
#define OUT_BOOL 1
#define DROP_OUT_BOOL
#endif

#include "cpu/loop_pointwise.tmpl.h"

#ifdef DROP_N_IN
#undef N_IN
#undef DROP_N_IN
#endif
#ifdef DROP_OUT_BOOL
#undef OUT_BOOL
#undef DROP_OUT_BOOL
#endif
