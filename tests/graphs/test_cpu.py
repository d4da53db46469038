import pytest

from maskline.graphs import cpu


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("processor\t: 0\nflags\t\t: fpu avx2 avx512_vnni vme\n\nprocessor\t: 1\nflags\t\t: fpu avx2 avx512_vnni\n", 2),
        ("processor\t: 0\nFeatures\t: fp asimd asimddp i8mm\n", 2),
        ("processor\t: 0\n", 0),
        (None, 0),
    ],
)
def test_the_flags_that_int8_needs_are_found(tmp_path, monkeypatch, text, flags):
    monkeypatch.setattr(cpu, "CPUINFO", tmp_path / "cpuinfo")
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    found = cpu.cpu_flags()
    assert len(found) == flags
    assert set(found) <= set(cpu.FLAGS)
