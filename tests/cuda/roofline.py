"""A model of an H100's time for the work that null CUDA counted. Nothing here is measured.

An operator takes its operations at a rate, or its bytes at another, whichever is longer. The host launches one operator after another, and
the device waits where that takes longer than all operators.
"""

# NVIDIA's data sheet of the H100 SXM: dense bf16 products a second, and bytes of memory.
PRODUCTS_PEAK = 989e12
MEMORY_PEAK = 3.35e12
# What kernels reach. Large bf16 products of cuBLAS and kernels that stream memory: guesses, from public measurements of 650 to 790 TFLOP/s
# and of 2.8 to 3.0 TB/s.
PRODUCTS = 675e12
MEMORY = 2.9e12
# FlashAttention-2 on an H100: 35 % of the peak (FlashAttention-3, arXiv:2407.08608).
ATTENTION = 0.35 * PRODUCTS_PEAK
# Host's time to launch an operator: a guess.
LAUNCH_SECONDS = 5e-6

FORWARD = "aten::_flash_attention_forward"
PARTS = {
    "matrix products": ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::linear", "aten::matmul"),
    "attention": ("aten::_flash_attention_forward", "aten::_flash_attention_backward"),
    "AdamW and the gradient's norm": ("own kernel adamw", "own kernel squares"),
    "gradient of the head's logits": ("own kernel head",),
    "MLP gate": ("own kernel gate", "own kernel gate_backward"),
    "rotary positions": ("own kernel rotate", "own kernel rotate_and_store"),
    "norms": ("own kernel add_and_normalise", "aten::_fused_rms_norm", "aten::_fused_rms_norm_backward"),
    "drawing": ("own kernel draw",),
}


class Work:
    """Calls, launches, bytes and operations, and the seconds that a device takes for them."""

    def __init__(self):
        self.launches = self.bytes = self.operations = self.seconds = 0

    def add(self, times, launches, size, operations, rate):
        assert size >= 0, "a kernel of ours that driver.cpp does not know"
        self.launches += times * launches
        self.bytes += times * size
        self.operations += times * operations
        self.seconds += times * max(operations / rate, size / MEMORY)


def work_of(counts):
    """Work of each operator of a window of null CUDA's counts."""
    operators = {}
    for name, times in counts.items():
        if name.startswith("work|"):
            _, operator, *numbers = name.split("|")
            rate = ATTENTION if "attention" in operator else PRODUCTS
            operators.setdefault(operator, Work()).add(times, *map(int, numbers), rate)
    return operators


def parts_of(operators):
    """Work of each of `PARTS`, and of the rest."""
    part_of = {operator: part for part, members in PARTS.items() for operator in members}
    parts = {part: Work() for part in [*PARTS, "the rest"]}
    for operator, work in operators.items():
        # In place or not.
        part = parts[part_of.get(operator) or part_of.get(operator.rstrip("_"), "the rest")]
        for field, value in vars(work).items():
            setattr(part, field, getattr(part, field) + value)
    return {part: work for part, work in parts.items() if work.launches}


def totals(operators):
    """Bytes, time and utilisation of a window.

    The time is the device's, or the host's that launches. Utilisation (MFU), of an update, is over the peak; it does not count what
    attention's backward pass computes again, and is the model's where nothing else was computed twice.
    """
    device = sum(work.seconds for work in operators.values())
    seconds = max(device, LAUNCH_SECONDS * sum(work.launches for work in operators.values()))
    attention = sum(work.operations for operator, work in operators.items() if operator == FORWARD)
    products = sum(work.operations for operator, work in operators.items() if "attention" not in operator)
    is_update = "aten::_flash_attention_backward" in operators
    utilisation = {"utilisation, modelled": round((products + 3 * attention) / PRODUCTS_PEAK / seconds, 3)} if is_update else {}
    return {
        "gigabytes": round(sum(work.bytes for work in operators.values()) / 1e9, 1),
        "milliseconds, modelled": round(1e3 * seconds, 1),
    } | utilisation


HEAD = [
    "| | launches | waits | copies to the device | copies to the host | GB read and written | H100, ms | utilisation |",
    "|---|---|---|---|---|---|---|---|",
]


def rows(name, window, operators):
    """Rows of the book's table: a window, then its parts."""
    waits = [window.get(count, 0) for count in ("synchronisations", "copies to a device", "copies to the host")]
    last = ("gigabytes", "milliseconds, modelled", "utilisation, modelled")
    lines = [[name, window["launches"], *waits, *(window.get(total, "") for total in last)]]
    for part, work in sorted(parts_of(operators).items(), key=lambda item: -item[1].seconds):
        lines.append([f"– {part}", work.launches, "", "", "", f"{work.bytes / 1e9:.1f}", f"{1e3 * work.seconds:.1f}", ""])
    return ["".join(f"| {cell} " if cell != "" else "| " for cell in line) + "|" for line in lines]
