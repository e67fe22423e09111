//! The source of the kernels, as text.

use std::ffi::CStr;

/// Includes a file so that compiler messages name it.
macro_rules! file {
    ($name:literal) => {
        concat!("#line 1 \"", $name, "\"\n", include_str!(concat!("../../cuda/", $name)))
    };
}
pub(super) use file;

/// All kernels as one program without includes.
pub(super) const SOURCE: &str = concat!(
    file!("words.cu"),
    file!("reduction.cu"),
    file!("rotate.cu"),
    file!("rotate_and_store.cu"),
    file!("add_and_normalise.cu"),
    file!("gate.cu"),
    file!("draw.cu"),
    file!("head.cu"),
    file!("adamw.cu"),
);

#[derive(Debug, Clone, Copy)]
pub(super) enum Kernel {
    Rotate,
    RotateAndStore,
    AddAndNormalise,
    Gate,
    GateBackward,
    Draw,
    Head,
    Adamw,
    Squares,
}

/// Names of the kernels in the source, in the order of [`Kernel`].
pub(super) const NAMES: [&CStr; 9] = [
    c"rotate",
    c"rotate_and_store",
    c"add_and_normalise",
    c"gate",
    c"gate_backward",
    c"draw",
    c"head",
    c"adamw",
    c"squares",
];

impl Kernel {
    pub(super) fn name(self) -> &'static CStr {
        NAMES[self as usize]
    }
}

#[derive(Debug)]
pub(super) struct Launch<'a> {
    pub(super) kernel: Kernel,
    /// Blocks in x and y, at least one each.
    pub(super) blocks: [u32; 2],
    /// Threads per block, in whole warps.
    pub(super) threads: u32,
    /// Bits of the arguments, eight bytes each: only addresses, `long long` and `double`.
    pub(super) arguments: &'a [u64],
}
