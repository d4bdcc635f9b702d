# SPDX-License-Identifier: BSD-3-Clause
"""Storages, typed, untyped and legacy."""

import copy
import pickle


def shares(torch):
    t = torch.zeros(4)
    t.untyped_storage().fill_(0)
    u = torch.empty(0).set_(t.untyped_storage())
    u[0] = 3
    return [t, u, t[1:].untyped_storage().data_ptr() == t.untyped_storage().data_ptr()]


def namespace(torch):
    torch.storage._reset_warn_typed_storage_removal()
    return {
        "torch": torch,
        "S": torch.storage,
        "U": torch.UntypedStorage,
        "copy": copy,
        "pickle": pickle,
        "shares": shares,
    }


EXPRESSIONS = [
    "S.TypedStorage()",
    "S.TypedStorage(3, dtype=torch.int32).fill_(4)",
    "S.TypedStorage([1, 2, 3])",
    "S.TypedStorage([1, 2], device='cpu', dtype=torch.float64).tolist()",
    "S.TypedStorage(1, 2)",
    "S.TypedStorage('ab')",
    "S.TypedStorage(1.5)",
    "S.TypedStorage(wrap_storage=U(8))",
    "S.TypedStorage(wrap_storage=U(8), dtype=3)",
    "S.TypedStorage(wrap_storage=3, dtype=torch.float)",
    "S.TypedStorage(2, wrap_storage=U(8), dtype=torch.float)",
    "S.TypedStorage(wrap_storage=U(8), dtype=torch.float, device='cpu')",
    "S.TypedStorage([1, 2, 3])[1]",
    "S.TypedStorage([1, 2, 3])[-1]",
    "S.TypedStorage([1, 2, 3])[3]",
    "S.TypedStorage([1, 2, 3])[0:1]",
    "S.TypedStorage([1, 2, 3])['a']",
    "S.TypedStorage([1, 2, 3]).__setitem__(slice(0, 2), 9)",
    "S.TypedStorage([1, 2, 3]).__setitem__('a', 9)",
    "S.TypedStorage([1, 2, 3]).fill_(U(1))",
    "S.TypedStorage([1, 2, 3]).int()",
    "S.TypedStorage([1, 2, 3]).float().data_ptr() != 0",
    "S.TypedStorage([1.5, 2, 3]).complex_double()",
    "S.TypedStorage([1, 2, 3]).type()",
    "S.TypedStorage([1, 2, 3]).size()",
    "S.TypedStorage([1, 2, 3]).nbytes()",
    "S.TypedStorage([1, 2, 3]).element_size()",
    "S.TypedStorage([1, 2, 3]).is_shared()",
    "S.TypedStorage([1, 2, 3])._pickle_storage_type()",
    "len(S.TypedStorage(4))",
    "S.TypedStorage([1, 2, 3]).device",
    "S.TypedStorage([1, 2, 3]).clone()",
    "copy.deepcopy(S.TypedStorage([1, 2, 3]))",
    "S.TypedStorage([1, 2, 3]).untyped()",
    "S.TypedStorage(2, device='meta')",
    "S.TypedStorage(2, device='meta').tolist()",
    "list(S.TypedStorage([1, 2]))",
    "S._get_dtype_from_pickle_storage_type('FloatStorage')",
    "S._get_dtype_from_pickle_storage_type('X')",
    "S.TypedStorage.from_buffer(b'\\x00\\x00\\x00\\x01', 'big', dtype=torch.int32)",
    "S.TypedStorage.from_file('x', False, 1)",
    "torch.FloatStorage()",
    "torch.FloatStorage(2).size()",
    "torch.FloatStorage([1, 2])",
    "torch.FloatStorage(1, 2)",
    "torch.FloatStorage({})",
    "torch.FloatStorage(device='cpu')",
    "torch.FloatStorage(dtype=torch.float)",
    "torch.FloatStorage(wrap_storage=3)",
    "torch.FloatStorage(2, wrap_storage=U(4))",
    "isinstance(torch.FloatStorage(), torch.FloatStorage)",
    "isinstance(torch.FloatStorage(), torch.IntStorage)",
    "torch.FloatStorage.dtype",
    "torch.FloatStorage().dtype",
    "torch.FloatStorage.from_buffer(b'\\x00\\x00\\x00\\x00\\x00\\x00\\x80?', 'native')",
    "torch.FloatStorage.from_buffer(b'\\x00\\x00\\x00', 'native')",
    "torch.FloatStorage.from_buffer(b'\\x00\\x00\\x00\\x00')",
    "torch.FloatStorage.from_buffer(b'\\x00\\x00\\x00\\x00', 'x')",
    "torch.FloatStorage.from_buffer(b'\\x00\\x00\\x00\\x00', 'native', dtype=torch.int)",
    "torch.ones(2).storage()",
    "torch.ones(2).storage().tolist()",
    "torch.ones(2).untyped_storage().nbytes()",
    "torch.ones(2).untyped_storage().tolist()",
    "type(torch.ones(2).untyped_storage())",
    "torch.ones(2).untyped_storage()[0]",
    "list(U(3).fill_(7))",
    "U(3).fill_(1)",
    "U(4).fill_(0).device",
    "len(U(5))",
    "U([1, 2, 3])",
    "U(3).fill_(2).clone().tolist()",
    "U(2).fill_(1).copy_(U(2).fill_(5)).tolist()",
    "copy.deepcopy(U(2).fill_(5)).tolist()",
    "pickle.loads(pickle.dumps(torch.FloatStorage([1, 2]))).tolist()",
    "torch.is_storage(U(1))",
    "torch.is_storage(torch.FloatStorage(1))",
    "torch.is_storage(torch.ones(1))",
    "shares(torch)",
    "U.from_file('/nonexistent/x', False, 4)",
    "U(4).resize_(8).nbytes()",
    "U(8).fill_(0).byteswap(torch.float32)",
    "torch.tensor(torch.FloatStorage([1, 2]))",
    "torch.FloatStorage([1, 2]).half()",
    "U(2).type()",
    "U(2).is_cuda",
    "U(2).cpu().nbytes()",
    "U(2).get_device()",
    "U(2).resizable()",
    "U(2).is_pinned()",
]
