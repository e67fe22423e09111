//! The operations of the kernels, with checks of their tensors.

use tch::{Kind, Tensor};

use super::{Code, CudaKernels, Kernel, KernelError, Launch};

/// Threads of a block where each thread works on its own.
const THREADS: u32 = 128;
/// Threads of a block that works on one row.
const THREADS_OF_ROW: u32 = 512;

impl CudaKernels {
    /// Rotates queries and keys, returns the queries, `[rows, heads, head_dim]`, and stores keys and values in the KV cache, in
    /// one launch.
    ///
    /// `product` is the output of the fused projection, bf16 `[rows, heads + 2 · kv_heads, head_dim]`: queries, keys, values,
    /// with `head_dim` a multiple of 4. `cosine` and `sine` are those of the rows' angles, f32 `[rows, head_dim / 2]`. Number
    /// `i` of a head is rotated with number `i + head_dim / 2`; each product and sum is rounded to f32 and the result to bf16.
    /// `places` are indices into the first dimension of `keys` and `values`, i64 `[rows]`; those are bf16
    /// `[places, kv_heads, head_dim]`. No two rows may have the same place, and a row with a place out of range is not stored.
    ///
    /// # Errors
    ///
    /// [`KernelError`] if a tensor is not as described, or the kernel cannot be launched.
    pub fn rotate_and_store(
        &self,
        product: &Tensor,
        [cosine, sine]: [&Tensor; 2],
        places: &Tensor,
        [keys, values]: [&mut Tensor; 2],
    ) -> Result<Tensor, KernelError> {
        let [rows, all, width] = heads("product", product)?;
        let [capacity, shared, _] = heads("keys", keys)?;
        let queries = all - 2 * shared;
        if queries < 0 || width % 4 != 0 {
            let expected = format!("at least {} heads of a multiple of 4 numbers", 2 * shared);
            return Err(argument("product", product, &expected));
        }
        let query = Tensor::empty([rows, queries, width], (Kind::BFloat16, self.device));
        let quarter = width / 4;
        let arguments = [
            self.words("product", product, &[rows, all, width])?,
            self.address("cosine", cosine, Kind::Float, &[rows, width / 2])?,
            self.address("sine", sine, Kind::Float, &[rows, width / 2])?,
            self.address("places", places, Kind::Int64, &[rows])?,
            self.words("query", &query, &[rows, queries, width])?,
            self.words("keys", keys, &[capacity, shared, width])?,
            self.words("values", values, &[capacity, shared, width])?,
            bits(queries),
            bits(shared),
            bits(quarter),
            bits(capacity),
        ];
        // SAFETY: the arguments are the kernel's, looked at above; it writes to the cache only within it.
        unsafe { self.by_word(Kernel::RotateAndStore, [rows, all * quarter], &arguments)? };
        Ok(query)
    }

    /// Adds `y`, if there is one: `x ← x + y`, rounded to bf16. Returns `x / sqrt(mean(x²) + epsilon) · weight`, computed in
    /// f32 and rounded once, in one launch. All are bf16, `x` and `y` `[.., hidden]` and `weight` `[hidden]`, with `hidden`
    /// even.
    ///
    /// # Errors
    ///
    /// [`KernelError`] if a tensor is not as described, or the kernel cannot be launched; `x` is then unchanged.
    pub fn add_and_normalise(
        &self,
        x: &mut Tensor,
        y: Option<&Tensor>,
        (weight, epsilon): (&Tensor, f64),
    ) -> Result<Tensor, KernelError> {
        let (size, [rows, hidden]) = matrix("x", x, 2)?;
        let normed = Tensor::empty(size.as_slice(), (Kind::BFloat16, self.device));
        let arguments = [
            self.words("x", x, &size)?,
            y.map_or(Ok(0), |y| self.words("y", y, &size))?,
            self.words("weight", weight, &[hidden])?,
            self.words("the norm", &normed, &size)?,
            bits(hidden / 2),
            epsilon.to_bits(),
        ];
        // SAFETY: the arguments are the kernel's, looked at above.
        unsafe { self.on_grid(Kernel::AddAndNormalise, [rows, 1], THREADS_OF_ROW, &arguments)? };
        Ok(normed)
    }

    /// Computes `silu(gate) · up` of concatenated gate and up, bf16 `[.., 2 · width]` to `[.., width]` with `width` even, in
    /// one launch. `silu` is computed in f32 and rounded to bf16, and so is the product.
    ///
    /// # Errors
    ///
    /// [`KernelError`] if the tensor is not as described, or the kernel cannot be launched.
    pub fn gate(&self, both: &Tensor) -> Result<Tensor, KernelError> {
        let (size, [rows, columns]) = matrix("gate and up", both, 4)?;
        let width = columns / 2;
        let narrow = [&size[..size.len() - 1], &[width]].concat();
        let gated = Tensor::empty(narrow.as_slice(), (Kind::BFloat16, self.device));
        let arguments = [
            self.words("gate and up", both, &size)?,
            self.words("their product", &gated, &narrow)?,
            bits(width / 2),
        ];
        // SAFETY: the arguments are the kernel's, looked at above.
        unsafe { self.by_word(Kernel::Gate, [rows, width / 2], &arguments)? };
        Ok(gated)
    }

    /// Samples a token per row from `softmax(logits / temperature)`, in f64, in one launch. It is the first token at which the
    /// cumulative probability exceeds the row's uniform number. With temperature 0 it is the first of the likeliest tokens.
    /// Returns tokens, i64 `[rows]`, and their log-probabilities in nats, f64 `[rows]`, at that temperature, or at 1 where it
    /// is 0.
    ///
    /// `logits` are bf16 `[rows, vocabulary]`, -∞ for impossible tokens; `uniforms` are f64 `[rows]` in `[0, 1)`. A row with
    /// only -∞, or with a NaN, gets some token of the vocabulary.
    ///
    /// # Errors
    ///
    /// [`KernelError`] if a tensor is not as described, or the kernel cannot be launched.
    ///
    /// # Panics
    ///
    /// If the temperature is below 0 or not finite.
    pub fn draw(
        &self,
        logits: &Tensor,
        uniforms: &Tensor,
        temperature: f64,
    ) -> Result<[Tensor; 2], KernelError> {
        assert!(temperature.is_finite() && temperature >= 0.0, "temperature is {temperature}");
        let (size, [rows, vocabulary]) = matrix("logits", logits, 1)?;
        let tokens = Tensor::empty([rows], (Kind::Int64, self.device));
        let log_prob = Tensor::empty([rows], (Kind::Double, self.device));
        let arguments = [
            self.address("logits", logits, Kind::BFloat16, &size)?,
            self.address("uniforms", uniforms, Kind::Double, &[rows])?,
            self.address("tokens", &tokens, Kind::Int64, &[rows])?,
            self.address("log_prob", &log_prob, Kind::Double, &[rows])?,
            bits(vocabulary),
            temperature.to_bits(),
        ];
        // SAFETY: the arguments are the kernel's, looked at above.
        unsafe { self.on_grid(Kernel::Draw, [rows, 1], THREADS_OF_ROW, &arguments)? };
        Ok([tokens, log_prob])
    }

    /// Computes `log π(target)` and the entropy of `softmax(logits / temperature)` for each row, in nats, and the squared norm of the
    /// derivative of `log π(target)` by `logits / temperature`; each f32 `[rows]`, in one launch.
    ///
    /// `logits` are bf16 `[rows, vocabulary]` with an even vocabulary, `targets` i64 `[rows]`. With `cotangent`, f32 `[rows]` of
    /// the log-probability and, if given, of the entropy, the logits are overwritten by their gradient, computed in f32 and rounded
    /// once. A target that is no token of the vocabulary gets NaN.
    ///
    /// # Errors
    ///
    /// [`KernelError`] if a tensor is not as described, or the kernel cannot be launched; `logits` are then unchanged.
    ///
    /// # Panics
    ///
    /// If the temperature is not above 0 and finite.
    pub fn head(
        &self,
        logits: &mut Tensor,
        targets: &Tensor,
        temperature: f64,
        cotangent: Option<(&Tensor, Option<&Tensor>)>,
    ) -> Result<[Tensor; 3], KernelError> {
        assert!(temperature.is_finite() && temperature > 0.0, "temperature is {temperature}");
        let (size, [rows, vocabulary]) = matrix("logits", logits, 2)?;
        let (d_log_prob, d_entropy) =
            cotangent.map_or((None, None), |(log_prob, entropy)| (Some(log_prob), entropy));
        let column = |what, tensor: Option<&Tensor>| {
            tensor.map_or(Ok(0), |tensor| self.address(what, tensor, Kind::Float, &[rows]))
        };
        let statistics = [(); 3].map(|()| Tensor::empty([rows], (Kind::Float, self.device)));
        let arguments = [
            self.words("logits", logits, &size)?,
            self.address("targets", targets, Kind::Int64, &[rows])?,
            column("cotangent of log_prob", d_log_prob)?,
            column("cotangent of entropy", d_entropy)?,
            column("log_prob", Some(&statistics[0]))?,
            column("entropy", Some(&statistics[1]))?,
            column("squared score", Some(&statistics[2]))?,
            bits(vocabulary / 2),
            temperature.to_bits(),
        ];
        // SAFETY: the arguments are the kernel's, looked at above.
        unsafe { self.on_grid(Kernel::Head, [rows, 1], THREADS_OF_ROW, &arguments)? };
        Ok(statistics)
    }

    /// The [`address`](Self::address) of bf16 numbers that are read two at a time.
    pub(super) fn words(
        &self,
        what: &str,
        tensor: &Tensor,
        shape: &[i64],
    ) -> Result<u64, KernelError> {
        let address = self.address(what, tensor, Kind::BFloat16, shape)?;
        if address.is_multiple_of(4) {
            Ok(address)
        } else {
            Err(argument(what, tensor, "a first number at an address that 4 divides"))
        }
    }

    /// Address of a contiguous tensor's numbers, if it is on this device and of this kind and shape.
    pub(super) fn address(
        &self,
        what: &str,
        tensor: &Tensor,
        kind: Kind,
        shape: &[i64],
    ) -> Result<u64, KernelError> {
        let address = tensor.data_ptr().expose_provenance() as u64;
        let fits = tensor.device() == self.device
            && tensor.kind() == kind
            && tensor.size() == shape
            && tensor.is_contiguous();
        if fits {
            return Ok(address);
        }
        let expected = format!("{kind:?} {shape:?} on {:?}, in one piece", self.device);
        Err(argument(what, tensor, &expected))
    }

    /// Launches one thread per word, for rows of `words` words.
    ///
    /// # Safety
    ///
    /// The conditions of [`CudaKernels::on_grid`].
    pub(super) unsafe fn by_word(
        &self,
        kernel: Kernel,
        [rows, words]: [i64; 2],
        arguments: &[u64],
    ) -> Result<(), KernelError> {
        let pieces = words.unsigned_abs().div_ceil(u64::from(THREADS)).cast_signed();
        // SAFETY: by the contract.
        unsafe { self.on_grid(kernel, [rows, pieces], THREADS, arguments) }
    }

    /// # Safety
    ///
    /// The arguments are those of the kernel; addresses are memory of this device that holds what it reads and writes.
    pub(super) unsafe fn on_grid(
        &self,
        kernel: Kernel,
        blocks: [i64; 2],
        threads: u32,
        arguments: &[u64],
    ) -> Result<(), KernelError> {
        if blocks.contains(&0) {
            return Ok(());
        }
        let (Ok(columns), Ok(rows)) = (u32::try_from(blocks[0]), u16::try_from(blocks[1])) else {
            let problem = format!("{blocks:?} blocks, expected below 2^32 and 2^16");
            return Err(KernelError::of_call(&kernel.name().to_string_lossy(), problem));
        };
        let launch = Launch { kernel, blocks: [columns, rows.into()], threads, arguments };
        match &self.code {
            // SAFETY: by the contract; memory that libtorch frees meanwhile is used again behind this kernel, on the same stream.
            Code::Device(module) => unsafe { module.launch(&launch) },
            // SAFETY: by the contract.
            Code::Host(emulation) => unsafe { emulation.launch(&launch) },
        }
    }
}

/// Size of a tensor `[.., columns]` and its rows and columns, if the columns are a positive multiple of `step`.
pub(super) fn matrix(
    what: &str,
    tensor: &Tensor,
    step: i64,
) -> Result<(Vec<i64>, [i64; 2]), KernelError> {
    let size = tensor.size();
    match size.split_last() {
        Some((&columns, rest)) if columns > 0 && columns % step == 0 => {
            let rows = rest.iter().product();
            Ok((size, [rows, columns]))
        }
        _ => Err(argument(what, tensor, &format!("columns, a multiple of {step}"))),
    }
}

/// Size of a tensor of heads, `[.., heads, head_dim]`.
pub(super) fn heads(what: &str, tensor: &Tensor) -> Result<[i64; 3], KernelError> {
    let size = tensor.size();
    size.try_into().map_err(|_| argument(what, tensor, "three dimensions"))
}

/// The error of a tensor that a kernel does not take.
pub(super) fn argument(what: &str, tensor: &Tensor, expected: &str) -> KernelError {
    let (kind, size, device) = (tensor.kind(), tensor.size(), tensor.device());
    KernelError(format!("{what} is {kind:?} {size:?} on {device:?}, expected {expected}"))
}

pub(super) fn bits(number: i64) -> u64 {
    number.cast_unsigned()
}
