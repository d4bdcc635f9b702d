/* SPDX-License-Identifier: BSD-3-Clause */
/* Storages and files: mapped files (from_file), bytes from buffers (from_buffer), the records of
   the legacy file format
   (_write_file, _new_with_file, _set_from_file), and byte swapping. Files other than mapped ones
   are read and written through the methods of the Python file object. */
#include "bindings/new_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* --- maps --- */

void mt_py_map_drop(void *ctx)
{
    mt_py_map *map = ctx;

    if (map->kind == MT_MAP_NAME)
        mt_py_map_forget(map);
    if (map->base)
        munmap(map->base, map->length);
    if (map->fd >= 0)
        close(map->fd);
    mt_storage_unref(map->kept);
    PyMem_RawFree(map);
}

mt_py_map *mt_py_map_new(int fd, size_t length, int kind, const char *name, bool keep_fd)
{
    mt_py_map *map = PyMem_RawMalloc(sizeof(*map) + strlen(name) + 1);
    void *base = NULL;

    if (!map) {
        PyErr_NoMemory();
        return NULL;
    }
    if (length > 0)
        base = mmap(NULL, length, PROT_READ | PROT_WRITE, kind == MT_MAP_PRIVATE ? MAP_PRIVATE : MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        PyErr_Format(PyExc_RuntimeError, "unable to mmap %zu bytes from file <%s>: %s (%d)", length, name,
                     strerror(errno), errno);
        PyMem_RawFree(map);
        return NULL;
    }
    map->base = base;
    map->length = length;
    map->fd = keep_fd ? fd : -1;
    map->kind = kind;
    map->kept = NULL;
    memcpy(map->name, name, strlen(name) + 1);
    return map;
}

static int open_error(const char *name, const char *mode)
{
    PyErr_Format(PyExc_RuntimeError, "unable to open file <%s> in %s mode: %s (%d)", name, mode, strerror(errno),
                 errno);
    return -1;
}

/* The file must have the bytes; a shared one grows. */
static int check_size(int fd, const char *name, bool shared, size_t nbytes)
{
    struct stat st;

    if (fstat(fd, &st) < 0) {
        PyErr_Format(PyExc_RuntimeError, "unable to stat the file <%s>: %s (%d)", name, strerror(errno), errno);
        return -1;
    }
    if (!S_ISREG(st.st_mode) || (size_t)st.st_size >= nbytes)
        return 0;
    if (!shared) {
        PyErr_Format(PyExc_RuntimeError, "file <%s> size <%lld> is smaller than the required mapping size <%zu>", name,
                     (long long)st.st_size, nbytes);
        return -1;
    }
    if (ftruncate(fd, (off_t)nbytes) < 0) {
        PyErr_Format(PyExc_RuntimeError, "unable to resize file <%s> to the right size: %s (%d)", name, strerror(errno),
                     errno);
        return -1;
    }
    return 0;
}

int mt_py_storage_from_file(mt_storage **out, const char *name, bool shared, int64_t nbytes)
{
    mt_py_map *map = NULL;
    int fd;

    *out = NULL;
    if (nbytes < 0) {
        PyErr_Format(PyExc_RuntimeError, "unable to mmap %lld bytes from file <%s>: %s (%d)", (long long)nbytes, name,
                     strerror(ENOMEM), ENOMEM);
        return -1;
    }
    if (nbytes == 0)
        return mt_storage_new(out, 0, MT_CPU) < 0 ? mt_py_fail() : 0;
    fd = open(name, (shared ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0600);
    if (fd < 0)
        return open_error(name, shared ? "read-write" : "read-only");
    if (check_size(fd, name, shared, (size_t)nbytes) == 0)
        map = mt_py_map_new(fd, (size_t)nbytes, shared ? MT_MAP_FILE : MT_MAP_PRIVATE, name, false);
    close(fd);
    if (!map)
        return -1;
    if (mt_storage_from_memory(out, map->base, (size_t)nbytes, MT_CPU, mt_py_map_drop, map) < 0) {
        mt_py_map_drop(map);
        return mt_py_fail();
    }
    return 0;
}

static PyObject *py_storage_from_file(PyObject *unused, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"filename", "shared", "nbytes", NULL};
    const char *name;
    int shared = 0;
    Py_ssize_t nbytes = 0;
    mt_storage *s = NULL;

    (void)unused;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|pn", keywords, &name, &shared, &nbytes))
        return NULL;
    return mt_py_storage_from_file(&s, name, shared, nbytes) < 0 ? NULL : mt_py_storage_wrap(s);
}

static PyObject *get_filename(PyObject *o, PyObject *unused)
{
    mt_py_map *map = mt_py_map_of(((mt_py_storage *)o)->s);

    (void)unused;
    if (!map || map->kind != MT_MAP_FILE)
        Py_RETURN_NONE;
    return PyUnicode_DecodeFSDefault(map->name);
}

PyObject *mt_py_from_file(PyObject *unused, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    enum { NAME, SHARED, SIZE, DTYPE, REQUIRES_GRAD, LAYOUT, DEVICE, PIN_MEMORY, COUNT };
    static mt_scan scan = {"from_file",
                           COUNT,
                           3,
                           1,
                           {"filename", "shared", "size", "dtype", "requires_grad", "layout", "device", "pin_memory"},
                           {NULL}};
    static const int64_t one = 1;
    PyObject *value[COUNT];
    mt_dtype dtype = mt_default_dtype();
    mt_device device = MT_CPU;
    bool shared = false, requires_grad = false;
    int64_t size = 0;
    const char *name;
    mt_storage *s = NULL;
    mt_tensor *t = NULL;
    int rc;

    (void)unused;
    if (mt_py_scan(value, &scan, args, nargs, kwnames) < 0)
        return NULL;
    if (!PyUnicode_Check(value[NAME])) {
        mt_py_scan_mismatch(&scan, NAME, 1, "str", value[NAME]);
        return mt_py_scan_failed("from_file", args, nargs, kwnames);
    }
    if (!(name = PyUnicode_AsUTF8(value[NAME])) ||
        (value[SHARED] != Py_None && mt_py_scan_bool(&shared, &scan, SHARED, value[SHARED]) < 0) ||
        (value[SIZE] != Py_None && mt_py_scan_int(&size, &scan, SIZE, value[SIZE]) < 0) ||
        mt_py_scan_dtype(&dtype, &scan, DTYPE, value[DTYPE]) < 0 ||
        mt_py_scan_device(&device, &scan, DEVICE, value[DEVICE]) < 0 ||
        mt_py_scan_bool(&requires_grad, &scan, REQUIRES_GRAD, value[REQUIRES_GRAD]) < 0)
        return mt_py_scan_failed("from_file", args, nargs, kwnames);
    if (device.type != MT_DEVICE_CPU) {
        PyErr_SetString(PyExc_NotImplementedError, "from_file(): only for tensors on the CPU");
        return NULL;
    }
    if (size > INT64_MAX / 16 || size < INT64_MIN / 16) {
        PyErr_SetString(PyExc_RuntimeError, "from_file(): the size is too large");
        return NULL;
    }
    if (mt_py_storage_from_file(&s, name, shared, size * (int64_t)mt_dtype_size(dtype)) < 0)
        return NULL;
    rc = mt_tensor_from_storage(&t, s, dtype, 1, &size, &one, 0);
    mt_storage_unref(s);
    if (rc == 0 && requires_grad)
        rc = mt_py_set_requires_grad(t);
    if (rc == 0)
        return mt_py_wrap(t);
    mt_tensor_unref(t);
    return mt_py_raise();
}

/* --- bytes of elements in another order --- */

static void swap_bytes(char *data, size_t n, size_t size)
{
    for (char *p = data; p + size <= data + n; p += size)
        for (size_t i = 0; i < size / 2; i++) {
            char c = p[i];

            p[i] = p[size - 1 - i];
            p[size - 1 - i] = c;
        }
}

static PyObject *byteswap(PyObject *o, PyObject *size)
{
    mt_storage *s = ((mt_py_storage *)o)->s;
    Py_ssize_t n = PyLong_AsSsize_t(size);

    if (n == -1 && PyErr_Occurred())
        return NULL;
    if (n <= 0 || n > 16) {
        PyErr_SetString(PyExc_RuntimeError, "_byteswap(): the element size must be between 1 and 16");
        return NULL;
    }
    if (s->nbytes % (size_t)n != 0) {
        PyErr_Format(PyExc_RuntimeError, "the length of data is not a multiple of %zd", n);
        return NULL;
    }
    if (s->device.type != MT_DEVICE_CPU) {
        PyErr_SetString(PyExc_NotImplementedError, "_byteswap(): only for storages on the CPU");
        return NULL;
    }
    MT_PY_TRY(mt_storage_own(s));
    if (n > 1 && s->nbytes > 0)
        swap_bytes(mt_storage_mutable_data(s), s->nbytes, (size_t)n);
    Py_RETURN_NONE;
}

static bool machine_is_big(void)
{
    uint16_t one = 1;
    char first;

    memcpy(&first, &one, 1);
    return first == 0;
}

/* 'native', 'little', 'big': does it differ from the machine's? */
static int must_swap(bool *out, const char *order)
{
    if (strcmp(order, "native") == 0)
        *out = false;
    else if (strcmp(order, "big") == 0 || strcmp(order, "little") == 0)
        *out = machine_is_big() != (order[0] == 'b');
    else {
        PyErr_Format(PyExc_ValueError, "invalid byte_order '%s' (expected 'big', 'little', or 'native')", order);
        return -1;
    }
    return 0;
}

/* --- from_buffer --- */

/* The bytes to take: *count elements behind *offset. */
static int buffer_range(Py_ssize_t *count, Py_ssize_t offset, Py_ssize_t length, Py_ssize_t itemsize)
{
    if (offset < 0 || offset > length) {
        PyErr_Format(PyExc_ValueError,
                     "offset must be non-negative and no greater than buffer length (%zd) , but got %zd", offset,
                     length);
        return -1;
    }
    if (*count < 0) {
        if ((length - offset) % itemsize != 0) {
            PyErr_Format(PyExc_ValueError, "buffer size (%zd) must be a multiple of element size (%zd)", length,
                         itemsize);
            return -1;
        }
        *count = (length - offset) / itemsize;
    }
    if (*count > (length - offset) / itemsize) {
        PyErr_Format(PyExc_ValueError, "buffer has only %zd elements after offset %zd, but specified a size of %zd",
                     length - offset, offset, *count);
        return -1;
    }
    return 0;
}

static PyObject *from_view(const Py_buffer *view, mt_dtype dtype, Py_ssize_t count, Py_ssize_t offset, bool swap)
{
    size_t size = mt_dtype_size(dtype), n;
    mt_storage *s = NULL;
    char *data;

    if (buffer_range(&count, offset, view->len, (Py_ssize_t)size) < 0)
        return NULL;
    n = (size_t)count * size;
    MT_PY_TRY(mt_storage_new(&s, n, MT_CPU));
    data = mt_storage_mutable_data(s);
    if (n > 0)
        memcpy(data, (const char *)view->buf + offset, n);
    if (swap && n > 0)
        swap_bytes(data, n, mt_dtype_is_complex(dtype) ? size / 2 : size);
    if (dtype == MT_DTYPE_b8)
        for (size_t i = 0; i < n; i++)
            data[i] = data[i] != 0;
    return mt_py_storage_wrap(s);
}

static PyObject *from_buffer(PyObject *unused, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"buffer", "byte_order", "count", "offset", "dtype", NULL};
    PyObject *o, *wanted = NULL, *result = NULL;
    const char *order = NULL;
    Py_ssize_t count = -1, offset = 0;
    mt_dtype dtype;
    Py_buffer view;
    bool swap = false;

    (void)unused;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|znn$O", keywords, &o, &order, &count, &offset, &wanted))
        return NULL;
    if (!wanted || wanted == Py_None) {
        PyErr_SetString(PyExc_RuntimeError, "argument 'dtype' cannot be None");
        return NULL;
    }
    if ((!mt_py_is_dtype(wanted) || mt_py_dtype_of(wanted) >= MT_DTYPE_COUNT)) {
        PyErr_SetString(PyExc_RuntimeError, "argument 'dtype' must be of type torch.dtype");
        return NULL;
    }
    dtype = mt_py_dtype_of(wanted);
    if (!order && dtype != MT_DTYPE_u8 && dtype != MT_DTYPE_i8) {
        PyErr_SetString(PyExc_RuntimeError, "function missing required argument 'byte_order' (pos 2)");
        return NULL;
    }
    if (order && must_swap(&swap, order) < 0)
        return NULL;
    if (PyObject_GetBuffer(o, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    result = from_view(&view, dtype, count, offset, swap);
    PyBuffer_Release(&view);
    return result;
}

/* --- records of the legacy file format --- */

static int write_bytes(PyObject *file, const char *data, size_t n)
{
    PyObject *view = PyMemoryView_FromMemory((char *)(n ? data : ""), (Py_ssize_t)n, PyBUF_READ), *result;

    if (!view)
        return -1;
    result = PyObject_CallMethod(file, "write", "O", view);
    Py_DECREF(view);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static int only_cpu(const mt_storage *s)
{
    if (s->device.type == MT_DEVICE_CPU)
        return 0;
    PyErr_SetString(PyExc_NotImplementedError, "only storages on the CPU are read from and written to files");
    return -1;
}

static PyObject *write_file(PyObject *o, PyObject *args)
{
    mt_storage *s = ((mt_py_storage *)o)->s;
    PyObject *file;
    int is_real, save_size, rc = 0;
    Py_ssize_t size;
    int64_t n;

    if (!PyArg_ParseTuple(args, "Oppn:_write_file", &file, &is_real, &save_size, &size) || only_cpu(s) < 0)
        return NULL;
    if (size <= 0) {
        PyErr_SetString(PyExc_RuntimeError, "_write_file: need to specify element size");
        return NULL;
    }
    n = (int64_t)(s->nbytes / (size_t)size);
    mt_storage_ref(s);
    mt_storage_pin(s); /* write() runs Python code */
    if (save_size)
        rc = write_bytes(file, (const char *)&n, sizeof(n));
    if (rc == 0)
        rc = write_bytes(file, mt_storage_const_data(s), s->nbytes);
    mt_storage_unpin(s);
    mt_storage_unref(s);
    return rc < 0 ? NULL : Py_NewRef(Py_None);
}

/* Exactly n bytes, or an exception. */
static int read_bytes(char *out, PyObject *file, Py_ssize_t n)
{
    PyObject *data = PyObject_CallMethod(file, "read", "n", n);
    Py_buffer view;
    int rc = -1;

    if (!data)
        return -1;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) == 0) {
        if (view.len == n) {
            if (n > 0)
                memcpy(out, view.buf, (size_t)n);
            rc = 0;
        } else {
            PyErr_Format(PyExc_RuntimeError, "unexpected EOF, expected %zd more bytes. The file might be corrupted.",
                         n - view.len);
        }
        PyBuffer_Release(&view);
    }
    Py_DECREF(data);
    return rc;
}

/* The count in front of a record, in bytes. */
static int read_size(size_t *out, PyObject *file, Py_ssize_t itemsize)
{
    int64_t n;

    if (itemsize <= 0) {
        PyErr_SetString(PyExc_RuntimeError, "_new_with_file: need to specify element size");
        return -1;
    }
    if (read_bytes((char *)&n, file, sizeof(n)) < 0)
        return -1;
    if (n < 0 || n > PY_SSIZE_T_MAX / itemsize) {
        PyErr_SetString(PyExc_RuntimeError, "invalid size of a storage. The file might be corrupted.");
        return -1;
    }
    *out = (size_t)(n * itemsize);
    return 0;
}

static PyObject *new_with_file(PyObject *unused, PyObject *args)
{
    PyObject *file;
    Py_ssize_t itemsize;
    size_t n;
    mt_storage *s = NULL;

    (void)unused;
    if (!PyArg_ParseTuple(args, "On:_new_with_file", &file, &itemsize) || read_size(&n, file, itemsize) < 0)
        return NULL;
    MT_PY_TRY(mt_storage_new(&s, n, MT_CPU));
    if (read_bytes(mt_storage_mutable_data(s), file, (Py_ssize_t)n) < 0) {
        mt_storage_unref(s);
        return NULL;
    }
    return mt_py_storage_wrap(s);
}

static PyObject *set_from_file(PyObject *o, PyObject *args)
{
    mt_storage *s = ((mt_py_storage *)o)->s;
    PyObject *file, *offset, *moved;
    Py_ssize_t itemsize;
    int is_real, rc;
    size_t n;

    if (!PyArg_ParseTuple(args, "OOpn:_set_from_file", &file, &offset, &is_real, &itemsize) || only_cpu(s) < 0)
        return NULL;
    if (offset != Py_None) {
        moved = PyObject_CallMethod(file, "seek", "O", offset);
        if (!moved)
            return NULL;
        Py_DECREF(moved);
    }
    if (read_size(&n, file, itemsize) < 0)
        return NULL;
    if (n != s->nbytes) {
        PyErr_Format(PyExc_RuntimeError, "storage has wrong byte size: expected %zu got %zu", s->nbytes, n);
        return NULL;
    }
    MT_PY_TRY(mt_storage_own(s));
    mt_storage_ref(s);
    mt_storage_pin(s);
    rc = read_bytes(mt_storage_mutable_data(s), file, (Py_ssize_t)n);
    mt_storage_unpin(s);
    mt_storage_unref(s);
    return rc < 0 ? NULL : Py_NewRef(o);
}

#define KEYWORDS(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS | METH_STATIC

PyMethodDef mt_py_storage_io_methods[] = {
    {"from_file", KEYWORDS(py_storage_from_file), "from_file(filename, shared=False, nbytes=0): a mapped file."},
    {"from_buffer", KEYWORDS(from_buffer),
     "from_buffer(buffer, byte_order=None, count=-1, offset=0, *, dtype): a copy of the bytes, in "
     "native order."},
    {"_get_filename", get_filename, METH_NOARGS, NULL},
    {"_byteswap", byteswap, METH_O, "_byteswap(size): exchanges the bytes of every element of that size."},
    {"_write_file", write_file, METH_VARARGS, "_write_file(file, is_real_file, save_size, element_size)"},
    {"_new_with_file", new_with_file, METH_VARARGS | METH_STATIC, "_new_with_file(file, element_size)"},
    {"_set_from_file", set_from_file, METH_VARARGS, "_set_from_file(file, offset, is_real_file, element_size)"},
    {NULL, NULL, 0, NULL},
};
