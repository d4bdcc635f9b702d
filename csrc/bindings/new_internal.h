/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files that make tensors from foreign data: tensor_new.c, tensor_data.c,
   tensor_legacy.c, tensor_class.c, buffer.c, numpy_interop.c, dlpack.c and the storage files. */
#ifndef MT_BINDINGS_NEW_INTERNAL_H
#define MT_BINDINGS_NEW_INTERNAL_H

#include "bindings/bind.h"
#include "bindings/bind_internal.h"

/* --- arguments of hand-written functions (scan.c) --- */

#define MT_SCAN_MAX 8
/* Names in order; the first n_positional may be given by position, the first n_required must
   be given. */
typedef struct mt_scan {
    const char *func;
    uint8_t n, n_positional, n_required;
    const char *name[MT_SCAN_MAX];
    PyObject *interned[MT_SCAN_MAX]; /* filled at first use */
} mt_scan;

/* Writes a borrowed reference, or NULL, for every name. TypeErrors with PyTorch's words. */
int mt_py_scan(PyObject **out, mt_scan *scan, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
/* Conversions of one scanned value; NULL and None keep what *out holds. -1: exception. */
int mt_py_scan_dtype(mt_dtype *out, const mt_scan *scan, int k, PyObject *value);
int mt_py_scan_device(mt_device *out, const mt_scan *scan, int k, PyObject *value);
/* Only True and False; NULL keeps. */
int mt_py_scan_bool(bool *out, const mt_scan *scan, int k, PyObject *value);
int mt_py_scan_int(int64_t *out, const mt_scan *scan, int k, PyObject *value);
/* After a failure: was that an object that overrides, in the place of a value? Then the exception is gone, and the call is its. */
bool mt_py_scan_overrides(void);
/* The result of a function of _VariableFunctions whose scan failed: that of such an object, or NULL. */
PyObject *mt_py_scan_failed(const char *name, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
/* "func(): argument 'name' (position 1) must be Tensor, not int"; position 0 leaves it out. -1. */
int mt_py_scan_mismatch(const mt_scan *scan, int k, int position, const char *wanted, PyObject *value);

/* --- conversion (tensor_data.c) --- */

/* Another dtype or device (NONE: the same), recorded by autograd; `t` itself when nothing changes
   and no copy is asked for. A C error is set on failure. */
int mt_py_convert(mt_tensor **out, mt_tensor *t, mt_dtype dtype, mt_device device, bool copy);
/* A dense CPU copy of a CPU tensor in its memory order, recorded by nobody. C error. */
int mt_py_plain_copy(mt_tensor **out, mt_tensor *t, mt_dtype dtype);
/* Copies strided elements (strides in bytes) to contiguous memory of another dtype. */
void mt_py_strided_store(char *dst, mt_dtype dtype, int ndim, const int64_t *size, const void *src, mt_dtype from,
                         const int64_t *stride);
/* The C error of this thread as an exception; -1. */
int mt_py_fail(void);
/* A storage as a 1-D tensor that shares it. dtype NONE: inferred. Python exception. */
int mt_py_tensor_from_storage(mt_tensor **out, PyObject *o, mt_dtype dtype);

/* --- legacy constructors (tensor_legacy.c, tensor_types.c) --- */

/* A tensor from the arguments of a legacy constructor. Python exception. */
int mt_py_legacy_make(mt_tensor **out, mt_dtype dtype, mt_device device, PyObject *args, PyObject *kwargs);
PyObject *mt_py_method_new(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *mt_py_type(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
int mt_py_tensor_types_init(PyObject *module);

/* --- subclasses, storages as methods (tensor_class.c) --- */

int mt_py_tensor_class_init(void); /* the static methods of _TensorBase */
PyObject *mt_py_as_subclass(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *mt_py_untyped_storage(PyObject *self, PyObject *unused);
PyObject *mt_py_is_pinned(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *mt_py_pin_memory(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *mt_py_set(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

/* --- NumPy (numpy_interop.c), which is loaded at first need only --- */

bool mt_py_is_array(PyObject *o); /* false while nobody has imported NumPy */
bool mt_py_is_array_scalar(PyObject *o);
/* The dtype of an array or array scalar; TypeError that lists the supported ones. */
int mt_py_array_dtype(mt_dtype *out, PyObject *o);
/* An alias of the array's memory. Python exception. */
int mt_py_tensor_from_array(mt_tensor **out, PyObject *array, bool warn_readonly);
/* A plain array whose memory can be read at once: its shape. false: walk it as any sequence. */
bool mt_py_array_shape(int *ndim, const Py_ssize_t **size, PyObject *o);
/* Copies an array of exactly this shape to contiguous memory of a dtype: 1, or 0 when its elements
   must be looked at one by one (other shape, lossy conversion unless `lossy`). */
int mt_py_array_store(char *dst, mt_dtype dtype, int ndim, const int64_t *size, PyObject *array, bool lossy);
PyObject *mt_py_array_from_tensor(mt_tensor *t, bool force);
PyObject *mt_py_from_numpy(PyObject *unused, PyObject *array);
PyObject *mt_py_numpy(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
/* A deleter that gives a Python reference back, from any thread. */
void mt_py_drop_reference(void *o);

/* --- buffers (buffer.c) --- */

/* A 1-D tensor over a buffer. count < 0: all of it. Python exception. */
int mt_py_tensor_from_buffer(mt_tensor **out, PyObject *o, mt_dtype dtype, int64_t count, int64_t offset);

/* bytes(t): the items of an integer tensor as bytes, the raw memory of other tensors. */
PyObject *mt_py_tensor_bytes(PyObject *self, PyObject *unused);

/* --- DLPack (dlpack.c) --- */

int mt_py_dlpack_init(PyObject *module);
bool mt_py_is_dlpack_capsule(PyObject *o);
int mt_py_tensor_from_capsule(mt_tensor **out, PyObject *capsule);

/* --- storages --- */

typedef struct mt_py_storage {
    PyObject_HEAD mt_storage *s; /* one C reference */
    PyObject *dict;
    PyObject *weaklist;
} mt_py_storage;

extern PyMethodDef mt_py_storage_methods[], mt_py_storage_io_methods[], mt_py_storage_share_methods[];
extern PySequenceMethods mt_py_storage_sequence;
extern PyMappingMethods mt_py_storage_mapping;
/* An int, taken modulo 256: 1; 0 when it is none; -1: exception. */
int mt_py_to_byte(uint8_t *out, PyObject *o);
int mt_py_storage_set_byte(mt_storage *s, int64_t i, uint8_t value);
/* The object of a given class around a storage without one; consumes. */
PyObject *mt_py_storage_wrap_as(mt_storage *s, PyTypeObject *type);
/* The dtype of a TypedStorage, MT_DTYPE_NONE for an untyped one. */
int mt_py_storage_dtype(mt_dtype *out, PyObject *o);
/* Mapped memory behind a storage. */
enum { MT_MAP_PRIVATE, MT_MAP_FILE, MT_MAP_FD, MT_MAP_NAME };
typedef struct mt_py_map {
    char *base;    /* NULL for an empty map */
    size_t length; /* of the map, which may begin with a header */
    int fd;        /* kept open, -1: closed */
    int kind;
    mt_storage *kept; /* what the storage had before, when others know its address; owned */
    char name[];
} mt_py_map;
/* Makes a map over an open descriptor, which it keeps when `keep_fd`. Python exception. */
mt_py_map *mt_py_map_new(int fd, size_t length, int kind, const char *name, bool keep_fd);
void mt_py_map_drop(void *map);        /* a deleter */
void mt_py_map_forget(mt_py_map *map); /* one user of named memory less */
/* NULL when the storage is no map. */
static inline mt_py_map *mt_py_map_of(const mt_storage *s)
{
    return s->deleter == mt_py_map_drop ? (mt_py_map *)s->ctx : NULL;
}
/* The arguments of from_file, in bytes. Python exception. */
int mt_py_storage_from_file(mt_storage **out, const char *name, bool shared, int64_t nbytes);
PyObject *mt_py_from_file(PyObject *unused, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

#endif
