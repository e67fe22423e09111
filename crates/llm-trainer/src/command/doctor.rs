//! `doctor`: libtorch, drivers and devices of this machine, and a self-test of its arithmetic.

use std::io::Write;

use anyhow::{Context, Error, bail, ensure};
use messages::counted;
use run_plan::plan::preset_model;
use tch::{Device, Kind, Tensor};
use torch_ext::{CudaDriver, CudaLibrary, cuda_driver};

use crate::training::adamw::device_step::test_step_kernels;
use decoder::generation::{test_custom_kernels, test_fused_decoding};
use decoder::head::test_fused_head;
use decoder::kernel_self_test::{SWITCH, may_use_kernels, on_host};
use decoder::model::{test_fused_training, test_training_kernels};
use ranks::device::{self, Machine, NoCuda, memory_bytes};

/// Shape of Qwen2.5-7B, for which kernels are tested.
const MODEL: &str = "7b";
/// Numbers of query heads and key-value heads of that shape, and their width.
const HEADS: [i64; 3] = [28, 4, 128];

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("doctor.txt").trim_ascii_end())]
pub(super) struct Args {}

pub(super) fn run(_args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let machine = Machine::here();
    // Before any question about CUDA: libtorch keeps the first answer.
    let cuda = device::devices(&machine);
    let libtorch = torch_ext::libtorch();
    writeln!(out, "libtorch     built against {}", libtorch.built_against)?;
    for line in libtorch.configuration.lines().map(str::trim).filter(|line| !line.is_empty()) {
        // The build settings are one line of some thousand characters.
        let shown: String = line.chars().take(160).collect();
        writeln!(out, "             {shown}")?;
    }
    say_cuda(out, &machine, &cuda)?;
    let [within, between] = [tch::get_num_threads(), tch::get_num_interop_threads()];
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    writeln!(out, "threads      {within} within an operation, {between} between, {cores} cores")?;
    if let Some((total, available)) = memory_bytes() {
        let [total, available] = [total, available].map(|bytes| bytes as f64 / f64::from(1 << 30));
        writeln!(out, "memory       {total:.1} GiB, {available:.1} GiB available")?;
    } else {
        writeln!(out, "memory       unknown: /proc/meminfo cannot be read")?;
    }
    let cuda_devices = (0..*cuda.as_ref().unwrap_or(&0)).map(Device::Cuda);
    for device in std::iter::once(Device::Cpu).chain(cuda_devices) {
        let error =
            self_test(device).with_context(|| format!("self-test on {}", name_of(device)))?;
        writeln!(out, "self-test    {}: ok, largest error {error:.1e}", name_of(device))?;
        if device != Device::Cpu && !may_use_kernels() {
            writeln!(out, "kernels      {}: off, because {SWITCH} is no", name_of(device))?;
        } else if device != Device::Cpu {
            say_kernels(out, device)?;
        }
    }
    out.flush()?;
    match (cuda, machine.sign) {
        (Err(reason), Some(sign)) if device::hidden().is_none() => {
            bail!("{sign} is here, but {reason}")
        }
        _ => Ok(()),
    }
}

/// Writes whether CUDA can be used, which libraries are missing and which wheels contain them, and the driver.
fn say_cuda(
    out: &mut impl Write,
    machine: &Machine,
    cuda: &Result<usize, NoCuda>,
) -> std::io::Result<()> {
    match (cuda, device::hidden()) {
        (Ok(devices), _) => writeln!(out, "CUDA         yes, {}", counted(*devices, "device"))?,
        (Err(_), Some(value)) => {
            writeln!(out, "CUDA         no: CUDA_VISIBLE_DEVICES is \"{value}\"")?;
        }
        (Err(reason), None) => writeln!(out, "CUDA         no: {reason}")?,
    }
    // Nobody misses the libraries of a GPU where there is none.
    if let (Err(NoCuda::Libraries { missing }), Some(_)) = (cuda, &machine.sign) {
        for CudaLibrary { name, wheel } in missing {
            writeln!(out, "             missing {name}, in the wheel {wheel}")?;
        }
    }
    match (&machine.driver, cuda_driver()) {
        (None, Err(error)) => writeln!(out, "driver       none: {error}"),
        (Some(version), Err(error)) => writeln!(out, "driver       {version}, but {error}"),
        (version, Ok(CudaDriver { cuda_version: (major, minor), .. })) => {
            let version = version.as_deref().unwrap_or("of unknown version");
            writeln!(out, "driver       {version}, runs CUDA {major}.{minor} at most")
        }
    }
}

/// Writes for each kernel whether it is used on a CUDA device, or why plain operators are.
fn say_kernels(out: &mut impl Write, device: Device) -> anyhow::Result<()> {
    let attention = [
        ("training", test_fused_training(device)),
        ("decoding", test_fused_decoding(device, HEADS)),
    ];
    for (what, outcome) in attention {
        say_which(out, "attention", device, what, "one kernel for all lengths", &outcome)?;
    }
    let model = preset_model(MODEL).context("a model of this size")?;
    let decoding = test_custom_kernels(device, &model);
    let decoding = decoding.into_iter().map(|(operation, outcome)| (operation.name(), outcome));
    let updating = [
        ("gates and positions in training", test_training_kernels(device)),
        ("the head", test_fused_head(device)),
        ("the optimiser", test_step_kernels(device)),
    ];
    for (what, outcome) in decoding.chain(updating) {
        say_which(out, "kernel", device, what, "a custom kernel", &outcome)?;
    }
    Ok(())
}

/// Writes one line that says how `what` is computed: by the kernel, or why by plain operators.
fn say_which(
    out: &mut impl Write,
    label: &str,
    device: Device,
    what: &str,
    kernel: &str,
    outcome: &Result<f64, String>,
) -> std::io::Result<()> {
    write!(out, "{label:<12} {}: {what} by ", name_of(device))?;
    match outcome {
        Ok(error) => writeln!(out, "{kernel}, largest error {error:.1e}"),
        Err(reason) => {
            let reason = reason.lines().next().unwrap_or_default();
            writeln!(out, "plain operators: {reason}")
        }
    }
}

/// Compares product and gradient of two matrices with their closed form on the host; returns the largest difference.
///
/// With `Y = X W` and cotangent `G`, the gradients are `G Wᵀ` and `Xᵀ G`.
fn self_test(device: Device) -> anyhow::Result<f64> {
    const TOLERANCE: f64 = 1e-4;
    let wave = |rows: i64, columns: i64, step: f64| {
        (Tensor::arange(rows * columns, (Kind::Double, Device::Cpu)) * step)
            .sin()
            .view([rows, columns])
    };
    let (exact_x, exact_w, exact_g) = (wave(37, 64, 0.37), wave(64, 29, 0.73), wave(37, 29, 0.11));
    let single = |tensor: &Tensor| tensor.to_kind(Kind::Float).to_device(device);
    let (x, w) =
        (single(&exact_x).set_requires_grad(true), single(&exact_w).set_requires_grad(true));
    // The product's backward pass must not be the first that its thread does on a GPU: libtorch would warn of a missing context.
    let y = x.f_matmul(&w)?.f_mul_scalar(1.0)?;
    let gradients = torch_ext::vector_jacobian_product(&[&y], &[&single(&exact_g)], &[&x, &w])?;
    let [Some(grad_x), Some(grad_w)] = gradients.as_slice() else {
        bail!("a gradient is missing, expected two");
    };
    let pairs = [
        (&y, exact_x.f_matmul(&exact_w)?),
        (grad_x, exact_g.f_matmul(&exact_w.f_tr()?)?),
        (grad_w, exact_x.f_tr()?.f_matmul(&exact_g)?),
    ];
    let mut largest = 0_f64;
    for (computed, exact) in pairs {
        let computed = on_host(computed).map_err(Error::msg)?.to_kind(Kind::Double);
        let error = (computed - exact).abs().max().double_value(&[]);
        // Asked in this way, NaN is wrong too.
        ensure!(error < TOLERANCE, "error is {error}, expected below {TOLERANCE}");
        largest = largest.max(error);
    }
    Ok(largest)
}

/// The device in the words of `--device`.
fn name_of(device: Device) -> String {
    match device {
        Device::Cuda(index) => format!("cuda:{index}"),
        other => format!("{other:?}").to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_library_is_named_with_its_wheel_where_a_gpu_is() {
        let lines = |sign: Option<&str>| {
            let (mut out, missing) = (Vec::new(), torch_ext::CUDA_LIBRARIES.to_vec());
            let sign = sign.map(str::to_owned);
            let machine = Machine { sign, driver: Some("550.54.14".to_owned()) };
            say_cuda(&mut out, &machine, &Err(NoCuda::Libraries { missing })).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(lines(None).lines().count(), 2, "CUDA and the driver");
        let text = lines(Some("/dev/nvidia0"));
        for CudaLibrary { name, wheel } in torch_ext::CUDA_LIBRARIES {
            assert!(text.contains(&format!("missing {name}, in the wheel {wheel}\n")), "{text}");
        }
        assert!(text.contains("\ndriver       550.54.14, "), "{text}");
    }

    #[test]
    fn of_each_operation_it_says_what_does_it_and_why() {
        let mut out = Vec::new();
        let mut say = |outcome| {
            let (device, kernel) = (Device::Cuda(1), "a custom kernel");
            say_which(&mut out, "kernel", device, "the gate", kernel, &outcome).unwrap();
        };
        say(Ok(0.00374));
        say(Err("NVRTC does not compile it:\nkernels.cu(3)".to_owned()));
        let expected = "\
            kernel       cuda:1: the gate by a custom kernel, largest error 3.7e-3\n\
            kernel       cuda:1: the gate by plain operators: NVRTC does not compile it:\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
