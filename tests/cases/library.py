# SPDX-License-Identifier: Apache-2.0
"""libplimsoll.so as an embedding program sees it, through ctypes: the structs of the public header, and just enough of a
class around them for the cases that the command line cannot ask (cancelling beforehand, closing while a run waits, options)."""

import ctypes
import threading
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

REASONS = ["", "request", "permission", "protocol", "unsupported", "isolation", "capacity", "environment"]
INVALID, UNSUPPORTED, ISOLATION, ENVIRONMENT, CAPACITY, CANCELLED, LOST, GUEST, CHANGED, BUILD = range(-1001, -1011, -1)


class Error(Structure):
    _fields_ = [("code", c_int32), ("reason_number", c_int), ("step", c_char * 48), ("fact", c_char * 32), ("message", c_char * 384)]

    @property
    def reason(self):
        return REASONS[self.reason_number]

    def __str__(self):
        return f"{self.code} {self.reason} {self.step.decode()}: {self.message.decode()}"


class Options(Structure):
    _fields_ = [("size", c_size_t), ("walls", c_char_p), ("floor", c_char_p), ("libexec_dir", c_char_p), ("pool", c_uint32),
                ("runs_max", c_uint32), ("id_first", c_uint32), ("id_count", c_uint32), ("memory_max_bytes", c_uint64),
                ("timeout_max_ms", c_int64), ("microvm_flavours", c_char_p)]


class Request(Structure):
    _fields_ = [("size", c_size_t), ("code", c_char_p), ("code_len", c_size_t), ("name", c_char_p), ("source", c_int),
                ("floor", c_char_p), ("wall", c_char_p), ("timeout_ms", c_int64), ("memory_bytes", c_uint64),
                ("stdout_max_bytes", c_uint64), ("stderr_max_bytes", c_uint64), ("cancel", c_void_p)]


class Fact(Structure):
    _fields_ = [(name, c_char_p) for name in ("name", "value", "expected", "source", "verdict", "after")] + [("required", c_int)]


class Refused(Exception):
    def __init__(self, error):
        super().__init__(str(error))
        self.error = error


class Library:
    def __init__(self, path):
        self.so = ctypes.CDLL(str(path))
        for name, result in (("stdout", c_void_p), ("stderr", c_void_p), ("evidence", c_void_p), ("stdout_total", c_uint64),
                             ("timeout_ms", c_int64), ("memory_bytes", c_uint64), ("peak_bytes", c_uint64)):
            function = getattr(self.so, "plimsoll_result_" + name)
            function.restype = result
            function.argtypes = [c_void_p] + ([POINTER(c_size_t)] if name in ("stdout", "stderr") else [])
        for name in ("exit_code", "timed_out", "oom"):
            getattr(self.so, "plimsoll_result_" + name).argtypes = [c_void_p]
        for name in ("result_free", "close", "cancel_trigger", "cancel_free", "evidence_free"):
            function = getattr(self.so, "plimsoll_" + name)
            function.restype, function.argtypes = None, [c_void_p]
        self.so.plimsoll_evidence_facts_n.restype = c_size_t
        self.so.plimsoll_evidence_facts_n.argtypes = [c_void_p]
        self.so.plimsoll_evidence_fact.argtypes = [c_void_p, c_size_t, POINTER(Fact)]
        self.so.plimsoll_evidence_tier.argtypes = [c_void_p]
        for name in ("wall", "policy", "instance"):
            function = getattr(self.so, "plimsoll_evidence_" + name)
            function.restype, function.argtypes = c_char_p, [c_void_p]

    def open(self, programs, walls="container,process", **fields):
        """A context; Refused if there is none."""
        options = Options(size=ctypes.sizeof(Options), walls=None if walls is None else walls.encode(), libexec_dir=str(programs).encode(),
                          **{"microvm_flavours": b"vmx,svm,pvm", **fields})
        context, error = c_void_p(), Error()
        rc = self.so.plimsoll_open(byref(options), byref(context), byref(error))
        if rc < 0:
            assert rc == error.code
            raise Refused(error)
        return Context(self, context)

    def cancel(self):
        trigger, error = c_void_p(), Error()
        assert self.so.plimsoll_cancel_new(byref(trigger), byref(error)) == 0
        return trigger


class Context:
    def __init__(self, library, pointer):
        self.library, self.pointer = library, pointer

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()

    def close(self):
        pointer, self.pointer = self.pointer, None
        if pointer:
            self.library.so.plimsoll_close(pointer)

    def run(self, code, **fields):
        """A dict of the result; Refused on an error, marked or not."""
        so, data = self.library.so, code.encode()
        request = Request(size=ctypes.sizeof(Request), code=data, code_len=len(data), **fields)
        result, error = c_void_p(), Error()
        rc = so.plimsoll_run(self.pointer, byref(request), byref(result), byref(error))
        if rc < 0:
            assert rc == error.code and not result.value
            raise Refused(error)
        try:
            length = c_size_t()
            where = so.plimsoll_result_stdout(result, byref(length))
            evidence = so.plimsoll_result_evidence(result)
            return {"stdout": ctypes.string_at(where, length.value) if length.value else b"", **self.evidence(evidence),
                    **{name: getattr(so, "plimsoll_result_" + name)(result)
                       for name in ("exit_code", "timed_out", "oom", "timeout_ms", "memory_bytes", "stdout_total", "peak_bytes")}}
        finally:
            so.plimsoll_result_free(result)

    def evidence(self, evidence):
        so = self.library.so
        facts = []
        for i in range(so.plimsoll_evidence_facts_n(evidence)):
            fact = Fact()
            assert so.plimsoll_evidence_fact(evidence, i, byref(fact)) == 0
            facts.append({name: getattr(fact, name) if name == "required" else getattr(fact, name).decode() for name, _ in Fact._fields_})
        return {"tier": so.plimsoll_evidence_tier(evidence), "wall": so.plimsoll_evidence_wall(evidence).decode(),
                "policy": so.plimsoll_evidence_policy(evidence).decode(), "instance": so.plimsoll_evidence_instance(evidence).decode(),
                "facts": facts}

    def measure(self, wall):
        so, evidence, error = self.library.so, c_void_p(), Error()
        rc = so.plimsoll_measure(self.pointer, wall.encode() if wall is not None else None, byref(evidence), byref(error))
        if rc < 0:
            raise Refused(error)
        try:
            return self.evidence(evidence)
        finally:
            so.plimsoll_evidence_free(evidence)


class Thread(threading.Thread):
    """Runs a call beside the test and keeps what came of it."""

    def __init__(self, function, *args, **options):
        super().__init__(daemon=True)
        self.call, self.result, self.error = lambda: function(*args, **options), None, None
        self.start()

    def run(self):
        try:
            self.result = self.call()
        except Refused as refused:
            self.error = refused.error
