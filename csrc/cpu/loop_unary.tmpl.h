/* SPDX-License-Identifier: BSD-3-Clause */
/* The skeleton of unary ops: one tensor operand unless N_IN says otherwise.
   See loop_pointwise.tmpl.h and the README of this folder. */
#ifndef N_IN
#define N_IN 1
#define DROP_N_IN
#endif

#include "cpu/loop_pointwise.tmpl.h"

#ifdef DROP_N_IN
#undef N_IN
#undef DROP_N_IN
#endif
