/* SPDX-License-Identifier: BSD-3-Clause */
/* Removes the names of the dtype in scope; every dtype header is followed by this one. It has no
   include guard because it is meant to be included again and again. */
#undef X
#undef XS
#undef T
#undef S
#undef U
#undef REAL
#undef XREAL
#undef CX
#undef ACC
#undef LANE
#undef WIDE
#undef IS_FLOAT
#undef IS_INT
#undef IS_BOOL
#undef IS_SIGNED
#undef IS_COMPLEX
#undef IS_HALF
#undef BITS
#undef LIBM
#undef ISNAN
#undef LOAD
#undef STORE
#undef LOAD_MANY
#undef STORE_MANY
#undef STORE_ONE
#undef LOAD_CHUNK
#undef STORE_CHUNK
