/* SPDX-License-Identifier: BSD-3-Clause */
/* The traits of all dtypes: a definition, for the one source file of each module that has it. */
#ifndef MT_CORE_DTYPE_TABLE_H
#define MT_CORE_DTYPE_TABLE_H

#include "core/dtype.h"

const mt_dtype_traits mt_dtype_table[MT_DTYPE_COUNT] = {
#define MT_DTYPE(token, name, ctype, size, category, is_signed, legacy, element, loop) \
    {name, legacy, element, size, MT_CAT_##category, is_signed, MT_DTYPE_##loop},
#include "core/dtypes.def"
#undef MT_DTYPE
};

#endif
