/* SPDX-License-Identifier: BSD-3-Clause */
/* The skeleton of ternary ops: three tensor operands unless N_IN says otherwise.
   See loop_pointwise.tmpl.h and the README of this folder. */
#ifndef N_IN
#define N_IN 3
#define DROP_N_IN
#endif

#include "cpu/loop_pointwise.tmpl.h"

#ifdef DROP_N_IN
#undef N_IN
#undef DROP_N_IN
#endif
