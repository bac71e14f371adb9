"""Every change of every operator of the installed onnx has a decision, in both directions."""

from __future__ import annotations

from onnxwright.operators.decisions import UNCHANGED
from onnxwright.operators.versions import is_reviewed, means_the_same, only_types_changed
from onnxwright.opset import registry
from onnxwright.versions import rules
from onnxwright.versions.api import OLDEST
from onnxwright.versions.call import DOWN, UP
from tests.harness.tables import check_rows

assert rules.__all__
DOMAINS = ("", "ai.onnx.ml")


def changes(oldest):
    """(older schema, newer schema) for each change after a version of the default domain."""
    for domain in DOMAINS:
        for name in registry.all_names(domain):
            versions = [v for v, _ in registry.versions_of(domain, name)]
            for old, new in zip(versions, versions[1:]):
                if new > (oldest if domain == "" else 1):
                    yield (
                        registry.signature(domain, name, old),
                        registry.signature(domain, name, new),
                    )


# Models of any version are converted up, and down to the oldest.
CHANGES = list(changes(1))


def _name(change):
    _, new = change
    return f"{new.name}-{new.since_version}"


def test_each_change_up_has_a_decision():
    def check(change):
        old, new = change
        adapted = (new.domain, new.name, new.since_version) in UP
        decided = adapted or means_the_same(old, new)
        assert decided, "add an adapter to rules/, or a reason to UNCHANGED"
        assert is_reviewed(new)

    check_rows(CHANGES, check, _name)


def test_each_change_down_has_a_decision():
    """An adapter, or a change that the schemas show: calls that use what is new are refused."""

    def check(change):
        old, new = change
        adapted = (new.domain, new.name, new.since_version) in DOWN
        grown = (
            set(old.attributes) <= set(new.attributes)
            and len(old.inputs) <= len(new.inputs)
            and len(old.outputs) <= len(new.outputs)
        )
        assert adapted or new.deprecated or only_types_changed(old, new) or grown

    check_rows(changes(OLDEST), check, _name)


def test_no_decision_is_stale():
    schemas = {(s.domain, s.name, s.since_version) for _, s in CHANGES}
    first = {
        (domain, name, registry.versions_of(domain, name)[0][0])
        for domain in DOMAINS
        for name in registry.all_names(domain)
    }
    assert set(UP) - schemas == set()
    assert set(DOWN) - schemas - first == set()
    assert not set(UNCHANGED) & set(UP)


def test_adapters_name_their_source():
    for adapter in {*UP.values(), *DOWN.values()}:
        assert "Source: " in adapter.__doc__, adapter.__name__
