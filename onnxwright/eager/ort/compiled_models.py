"""Whole models run as one session: what `fn.compile()` gives."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from typing_extensions import Self

from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.eager import foreign, tensor
from onnxwright.eager.arrays import as_array
from onnxwright.eager.evaluators import Evaluator
from onnxwright.eager.ort import sessions
from onnxwright.eager.ort import values as ort_values
from onnxwright.eager.ort.calls import from_runtime, output_kind
from onnxwright.eager.ort.model_failures import model_failed, tell_node
from onnxwright.eager.ort.model_sources import source_of
from onnxwright.eager.select import evaluator, other_evaluator
from onnxwright.eager.values import SequenceValue, Value, raw_value, type_of_value
from onnxwright.ir.loading import held_by
from onnxwright.ir.reading import serialized
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import MapType, OnnxType, OptionalType, TensorType, fits


def _restored(model: Any, providers: Any, weights: Any) -> CompiledModel:
    """A compiled model that was pickled or copied."""
    return CompiledModel(model, providers=providers, weights=weights)


def _restored_on(model: Any, on: Evaluator) -> CompiledModel:
    """A model that ran on an evaluator and was pickled or copied."""
    with evaluator(on):
        return CompiledModel(model)


# What runs a model on another evaluator; `eager.interpreted_models` gives it when it is imported.
_interpreted: list[Callable[[Any, Evaluator], Any]] = []


def run_with(make: Callable[[Any, Evaluator], Any]) -> None:
    """Let models run on other evaluators than ONNX Runtime.

    Args:
        make: from a model and an evaluator to an object with `inputs`, `outputs` (name -> type)
            and `run(names, feed, options)`.
    """
    _interpreted[:] = [make]


class CompiledModel:
    """A model as one callable ONNX Runtime session.

    Made under another evaluator (`with evaluator("reference"):`), it runs node by node on that.

    Args:
        model: a model of any kind (see `ow.load`); the path of its file for external data, and for
            models over 2 GB.
        providers: execution providers in order of preference, as ONNX Runtime names them; the CPU
            if not given.
        session_options: an `onnxruntime.SessionOptions`.
        weights: arrays of initializers that the model only refers to as external data, with their
            element types; the runtime uses their memory.

    Raises:
        ModelError: the model is damaged.
        ModelTypeError: it is not a model (OW752).
        EagerError: the runtime refuses the model (OW622).

    Example:
        >>> import onnx.parser
        >>> head = '<ir_version: 10, opset_import: ["" : 18]> g (float[N] x) => (float[N] y)'
        >>> text = head + "{ y = Neg(x) }"
        >>> run = CompiledModel(onnx.parser.parse_model(text))
        >>> run(np.array([1.0, -2.0], np.float32))
        array([-1.,  2.], dtype=float32)
        >>> run.input_names, run.output_names
        (('x',), ('y',))
    """

    # The evaluator that runs the nodes, where no session does.
    _on: Evaluator | None = None
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]

    def __init__(
        self,
        model: Any,
        *,
        providers: Sequence[Any] | None = None,
        session_options: Any = None,
        weights: Mapping[str, tuple[np.ndarray[Any, Any], DType]] | None = None,
    ) -> None:
        on = other_evaluator()
        if on is not None and providers is None and session_options is None and weights is None:
            self._use_evaluator(model, on)
            return
        # Kept to find which node failed; not where its weights would be held twice for that.
        external = "skip" if weights is not None else "needed"
        model = held_by(model)
        source = source_of(model, external, more_operators=session_options is not None)
        self._model = source.proto
        if source.folder is not None or source.weights:
            again: Any = model
        else:
            again = source.data if source.proto is None else None
        self._made_from = (
            again,
            providers,
            session_options,
            weights,
        )
        sessions.check_providers(providers)
        options = session_options
        if options is None:
            options = sessions.model_options()
        self._weights = (
            source.configure(options),
            ort_values.add_initializers(options, weights) if weights else None,
        )
        try:
            self.session = sessions.new_session(source.data, options, providers)
        except Exception as error:  # noqa: BLE001 - the runtime raises many kinds
            model_failed("ONNX Runtime", "refused", self._model, error)
        self._read_session()

    def _use_evaluator(self, model: Any, on: Evaluator) -> None:
        """Run on an evaluator: the model is called as a session is."""
        interpreted = _interpreted[0](held_by(model), on)
        self.session, self._run = interpreted, interpreted.run
        self._model, self._weights, self._on = None, (None, None), on
        self._made_from = (model, None, None, None)
        self.input_names, self.output_names = tuple(interpreted.inputs), tuple(interpreted.outputs)
        self._names = list(self.output_names)
        self._in_kinds, self._out_kinds = (
            tuple(interpreted.inputs.values()),
            tuple(interpreted.outputs.values()),
        )
        self._kinds, self._plain = dict(interpreted.inputs), True

    @classmethod
    def of_session(cls, session: Any, model: bytes | Path) -> Self:
        """A model that runs in a session made elsewhere.

        Args:
            session: an `onnxruntime.InferenceSession`.
            model: what it was made of: the bytes, or the path of the file.

        Returns:
            The model; calls go through the session.

        Raises:
            EagerError: it is not a session (OW622).
        """
        compiled = cls.__new__(cls)
        compiled._model, compiled._weights = None, (None, None)
        compiled._made_from = (model, None, None, None)
        compiled.session = session
        try:
            compiled._read_session()
        except AttributeError as error:
            model_failed("the initializer", "did not give an InferenceSession for", None, error)
        return compiled

    def _read_session(self) -> None:
        """Read the inputs and outputs of the session."""
        core = getattr(self.session, "_sess", None)
        self._run = core.run if core is not None else self.session.run
        infos = self.session.get_inputs()
        self.input_names = tuple(i.name for i in infos)
        self.output_names = tuple(o.name for o in self.session.get_outputs())
        self._names = list(self.output_names)
        self._in_kinds = tuple(_input_kind(i) for i in infos)
        self._out_kinds = tuple(output_kind(o.type) for o in self.session.get_outputs())
        overridable = self.session.get_overridable_initializers()
        self._kinds = {
            **{i.name: _input_kind(i) for i in overridable},
            **dict(zip(self.input_names, self._in_kinds, strict=True)),
        }
        self._plain = all(map(_is_plain, (*self._kinds.values(), *self._out_kinds)))

    def __repr__(self) -> str:
        return f"CompiledModel({self.signature_text()})"

    def __reduce__(self) -> tuple[Any, ...]:
        # A session cannot be pickled or copied: another one is made from the same model.
        data, providers, options, weights = self._made_from
        if self._on is not None:
            return _restored_on, (data, self._on)
        if options is not None:
            raise TypeError(
                "a CompiledModel with `session_options` cannot be pickled: ONNX Runtime's options "
                "have no state to save; pickle the model and make it again with the options"
            )
        return _restored, (self._model if data is None else data, providers, weights)

    def signature_text(self) -> str:
        """The inputs as text, for messages."""
        return ", ".join(
            f"{name}: {kind if kind is not None else '?'}"
            for name, kind in zip(self.input_names, self._in_kinds, strict=True)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model.

        Args:
            args: the inputs in the model's order.
            kwargs: the inputs by name; also initializers that are inputs as well, whose values
                these replace (from IR version 4 on).

        Returns:
            The outputs in the kind that went in: one value, or a tuple.

        Raises:
            EagerTypeError: these are not the model's inputs (OW621).
            EagerError: the runtime failed (OW622).
        """
        kind = foreign.kind_of((*args, *kwargs.values()), inside=False)
        feed = self._bind(args, kwargs)
        results = self.run(feed)
        if kind is foreign.NUMPY:
            return results[0] if len(results) == 1 else tuple(results)
        shown = [foreign.give_back(_wrapped(r), kind) for r in results]
        return shown[0] if len(shown) == 1 else tuple(shown)

    def run(self, feed: Mapping[str, Value]) -> list[Value]:
        """Run on plain values by name.

        Args:
            feed: input name -> array, sequence, map or None.

        Returns:
            The outputs in the model's order.

        Raises:
            EagerError: the runtime failed (OW622).
        """
        try:
            if self._plain:
                results: list[Value] = self._run(self._names, feed, None)
                return results
            return self._run_exotic(feed)
        except Exception as error:
            if self._on is not None:
                raise
            if self._model is not None:
                tell_node(self._model, feed, error)
            model_failed("ONNX Runtime", "failed in", self._model, error)

    def _run_exotic(self, feed: Mapping[str, Value]) -> list[Value]:
        ort = sessions.runtime()
        kinds = [self._kinds[name] for name in feed]
        by_memory = all(isinstance(k, TensorType) and k.dtype is not DType.STRING for k in kinds)
        # NOTE: the runtime gives sequences of maps as Python objects only.
        maps = any(isinstance(getattr(k, "elem", k), MapType) for k in self._out_kinds)
        plain = all(isinstance(k, TensorType) and k.dtype in ort_values.PLAIN for k in kinds)
        # What is not a tensor comes out as a Python object, not by memory.
        lists = not all(isinstance(k, TensorType) for k in self._out_kinds)
        if not by_memory or maps or (plain and lists):
            outputs = self._run(self._names, feed, None)
            return [from_runtime(r, k) for r, k in zip(outputs, self._out_kinds, strict=True)]
        ort_feed, alive = {}, []
        for (name, array), kind in zip(feed.items(), kinds, strict=True):
            assert isinstance(kind, TensorType)
            dtype = kind.dtype if kind.dtype is not None else DType.FLOAT
            ort_feed[name], keep = ort_values.to_ort(ort, np.asarray(array), dtype)
            alive.append(keep)
        results = self.session._sess.run_with_ort_values(ort_feed, self._names, None)
        del alive
        return [
            ort_values.from_ort(r, k.dtype)
            if isinstance(k, TensorType) and k.dtype is not None
            else from_runtime(r.numpy(), k)
            for r, k in ((results[n], kind) for n, kind in enumerate(self._out_kinds))
        ]

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Value]:
        if len(args) > len(self.input_names):
            self._bad(f"{len(args)} were given, it has {len(self.input_names)}")
        arguments = dict(zip(self.input_names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self._kinds:
                self._bad(f"it has no input `{name}`")
            if name in arguments:
                self._bad(f"`{name}` is given twice")
            arguments[name] = value
        feed: dict[str, Value] = {}
        for name, kind in zip(self.input_names, self._in_kinds, strict=True):
            if name not in arguments:
                if isinstance(kind, OptionalType):
                    feed[name] = None
                    continue
                self._bad(f"`{name}` is missing")
            feed[name] = self._value(name, kind, arguments[name])
        for name in kwargs:
            if name not in feed:  # an initializer that is an input as well: its value is replaced
                feed[name] = self._value(name, self._kinds[name], arguments[name])
        return feed

    def _value(self, name: str, kind: OnnxType | None, value: Any) -> Value:
        if isinstance(value, np.ndarray) and isinstance(kind, TensorType):
            array: Value = as_array(value)
        else:
            foreign_array = foreign.to_array(value)
            if foreign_array is not None:
                array = foreign_array
            elif isinstance(kind, TensorType) and not isinstance(value, tensor.Tensor):
                array = as_array(value, None if _has_dtype(value) else kind.dtype)
            else:
                array = raw_value(foreign.own_sequence(value))
        if not fits(type_of_value(array), kind):
            self._bad(f"`{name}` is {type_of_value(array)}, the model wants {kind}")
        return array

    def _bad(self, reason: str) -> NoReturn:
        fail(messages.BadModelInput(reason=reason, inputs=self.signature_text() or "none"))


def _has_dtype(value: Any) -> bool:
    return isinstance(value, np.generic) and not isinstance(value, (float, str, bytes))


def _wrapped(value: Value) -> Any:
    if isinstance(value, np.ndarray):
        return tensor.wrap(value)
    if isinstance(value, SequenceValue):
        return SequenceValue([_wrapped(v) for v in value], value.elem)
    return value


def _input_kind(info: Any) -> OnnxType | None:
    kind = output_kind(info.type)
    if isinstance(kind, TensorType):
        # NOTE: the runtime says `[]` both for a scalar and for an unknown rank.
        shape = tuple(d if isinstance(d, (int, str)) else None for d in info.shape)
        return TensorType(kind.dtype, shape or None)
    return kind


def _is_plain(kind: OnnxType | None) -> bool:
    return isinstance(kind, TensorType) and kind.dtype in ort_values.PLAIN


class Kept(sessions.Entry):
    """A compiled model in the cache."""

    __slots__ = ("model",)

    def __init__(self, model: Any, nbytes: int) -> None:
        super().__init__(nbytes)
        self.model = model


compiled_models: sessions.SessionCache[Kept] = sessions.SessionCache(256, 1024 * 1024 * 1024)


def run_model(
    model: Any,
    inputs: Mapping[str, Any] | Sequence[Any],
    *,
    providers: Sequence[Any] | None = None,
) -> list[Any]:
    """Run a model on plain values; its session is kept for the next time.

    Under another evaluator (`with evaluator("reference"):`) the model runs node by node on that.

    Args:
        model: a model of any kind (see `ow.load`).
        inputs: the inputs by name, or in the model's order. By name, an initializer that is an
            input as well can be given another value (from IR version 4 on).
        providers: execution providers in order of preference, as ONNX Runtime names them; the CPU
            if not given.

    Returns:
        The outputs in the model's order: arrays, or what the model says: sequences, maps, None.

    Raises:
        ModelError: the model is damaged.
        ModelTypeError: it is not a model (OW752).
        EagerValueError: the runtime does not have a provider (OW625).
        EagerError: the inputs do not fit, or the runtime failed.

    Example:
        >>> import onnx.parser
        >>> head = '<ir_version: 10, opset_import: ["" : 18]> g (float[N] x) => (float[N] y)'
        >>> model = onnx.parser.parse_model(head + "{ y = Neg(x) }")
        >>> run_model(model, {"x": np.array([1.0, -2.0], np.float32)})
        [array([-1.,  2.], dtype=float32)]
    """
    if providers is None and other_evaluator() is not None:
        compiled = CompiledModel(model)
    else:
        compiled = _compiled(held_by(model), providers)
    if isinstance(inputs, Mapping):
        return compiled.run(compiled._bind((), inputs))
    return compiled.run(compiled._bind(inputs, {}))


def _compiled(model: Any, providers: Sequence[Any] | None) -> CompiledModel:
    """The session of a model, kept by what the model is; of a file, which may change, a new one."""
    if isinstance(model, (str, os.PathLike)):
        return CompiledModel(model, providers=providers)
    serialize = getattr(model, "SerializeToString", None)
    if serialize is None and not isinstance(model, bytes):
        source = source_of(model)
        if source.folder is not None or source.weights or source.proto is None:
            return CompiledModel(model, providers=providers)
        model = source.proto
        serialize = model.SerializeToString
    data = serialized(model) if serialize is not None else model
    key = hashlib.blake2b(data, digest_size=16).digest()
    if providers is not None:
        key += repr(providers).encode()
    kept = compiled_models.get(key)
    if kept is None:
        compiled = CompiledModel(model, providers=providers)
        kept = compiled_models.add(key, Kept(compiled, sessions.SESSION_BYTES + 2 * len(data)))
    kept_model: CompiledModel = kept.model
    return kept_model
