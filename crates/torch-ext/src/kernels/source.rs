//! The source of the kernels, as text.

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

/// A kernel of [`SOURCE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

impl Kernel {
    /// All kernels, in the order of their declaration.
    pub(super) const ALL: [Self; 9] = [
        Self::Rotate,
        Self::RotateAndStore,
        Self::AddAndNormalise,
        Self::Gate,
        Self::GateBackward,
        Self::Draw,
        Self::Head,
        Self::Adamw,
        Self::Squares,
    ];

    /// Name of the kernel in the source.
    pub(super) fn name(self) -> &'static std::ffi::CStr {
        match self {
            Self::Rotate => c"rotate",
            Self::RotateAndStore => c"rotate_and_store",
            Self::AddAndNormalise => c"add_and_normalise",
            Self::Gate => c"gate",
            Self::GateBackward => c"gate_backward",
            Self::Draw => c"draw",
            Self::Head => c"head",
            Self::Adamw => c"adamw",
            Self::Squares => c"squares",
        }
    }
}

/// Settings of a kernel launch.
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
