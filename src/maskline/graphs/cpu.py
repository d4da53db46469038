"""What a processor has for products of small integers."""

from pathlib import Path

FLAGS = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "amx_int8", "asimddp", "i8mm")
"""Names of Linux, of x86 and ARM. Without one of the last five, int8 is hardly faster than float32."""
CPUINFO = Path("/proc/cpuinfo")


def cpu_flags() -> list[str]:
    """Return which of FLAGS this machine has; none where the system does not tell."""
    if not CPUINFO.is_file():
        return []
    lines = CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    fields = {name.strip().lower(): value.split() for name, _, value in (line.partition(":") for line in lines)}
    found = {*fields.get("flags", []), *fields.get("features", [])}
    return [flag for flag in FLAGS if flag in found]
