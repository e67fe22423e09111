//! Plans of runs that offload to host memory.

use run_plan::plan::{Assumptions, Hardware, MemoryPlan, Plan, Setup, StepTime};
use training_run::config::{MasterWeights, Zero};

use crate::plan::{P, bytes_of, on, setup};

fn bytes_on_host(memory: &MemoryPlan, name: &str) -> u64 {
    memory.host.iter().find(|item| item.name == name).expect("there").bytes
}

/// The optimiser takes 12 bytes a parameter off the device. With f32 parameters it is 8, as master weights are then other memory.
/// The block inputs of one micro-batch stay.
#[test]
fn what_lies_in_the_host_s_memory_is_counted_apart() {
    const AWAY: [&str; 2] =
        ["parallel.offload_optimizer=true", "parallel.offload_block_inputs=true"];
    for (more, wide) in [(vec![], 12.0), (vec!["model.dtype=f32"], 8.0)] {
        let memory = |further: &[&str]| {
            let settings = [&more[..], further, &["training.activation_bytes=0"]].concat();
            let setup = setup("7b", &settings);
            MemoryPlan::new(&setup, setup.longest())
        };
        let (on_device, away) = (memory(&[]), memory(&AWAY));
        let probed = bytes_on_host(&on_device, "head before the update");
        assert_eq!((on_device.host.len(), on_device.host_bytes()), (1, probed));
        let left = (on_device.resident_bytes() - away.resident_bytes()) as f64 / P;
        assert!((left - wide).abs() < 1e-9, "{left}");
        let host = |name: &str| bytes_on_host(&away, name);
        let state = host("master weights") + host("optimiser moments");
        assert!((state as f64 / P - 12.0).abs() < 1e-9);
        let inputs = [&on_device, &away].map(|memory| bytes_of(memory, "block inputs"));
        assert!(host("block inputs") * 29 / 28 > inputs[0] * 99 / 100);
        assert!(inputs[1] < inputs[0] / 8, "{inputs:?}");
        let rounding = host("rounding of it");
        assert_eq!(away.host_bytes(), state + host("block inputs") + rounding + probed);
    }
}

/// libtorch's pinned memory comes in powers of two: 259 MiB take 512, 2,079 MiB take 4,096.
#[test]
fn what_is_lost_by_pinning_is_counted() {
    const MIB: f64 = 1_048_576.0;
    let rounding = |setup: Setup| {
        let memory = MemoryPlan::new(&setup, setup.longest());
        memory.host.iter().find(|item| item.name == "rounding of it").map_or(0, |item| item.bytes)
    };
    let lost = |mebibytes: f64| mebibytes.log2().ceil().exp2() - mebibytes;
    let unsharded = setup("7b", &["parallel.offload_optimizer=true"]);
    let matrix = |inputs: f64, outputs: f64| lost(4.0 * inputs * outputs / MIB);
    let blocks = 28.0
        * (2.0 * matrix(3584.0, 3584.0)
            + 2.0 * matrix(3584.0, 512.0)
            + 3.0 * matrix(3584.0, 18_944.0));
    let expected = blocks + 2.0 * matrix(3584.0, 152_064.0);
    assert!(expected > 20.0 * 1024.0, "it is no trifle: {expected} MiB");
    let computed = rounding(unsharded.clone()) as f64 / MIB;
    assert!((computed - expected).abs() < 1e-6, "{computed} {expected}");
    // A shard of each block, and of embedding and head.
    let cut = rounding(on(unsharded.clone(), 1, 8, 3)) as f64 / MIB;
    let block = 4.0 * 233_057_792.0 / 8.0 / MIB;
    let expected = 28.0 * lost(block) + 2.0 * lost(4.0 * 3584.0 * 152_064.0 / 8.0 / MIB);
    assert!((cut - expected).abs() < 1e-3, "{cut} {expected}");
    // 30,720 tokens hold three sequences of 10,240; 28 blocks of eleven micro-batches of 32 sequences, one of them not full.
    let inputs = on(setup("7b", &["parallel.offload_block_inputs=true"]), 1, 8, 3);
    let computed = rounding(inputs) as f64 / MIB;
    let one = 30_720.0 * 7168.0 / MIB;
    assert!((computed / lost(one) - 28.0 * 32.0 / 3.0).abs() < 2.0, "{computed}");
    let on_cpu = Setup { on_cpu: true, ..unsharded };
    assert_eq!(rounding(on_cpu), 0);
}

/// Gradients and parameters go over PCI Express 5. Each parameter costs 4 + 8 + 16 + 2 bytes of host memory traffic, which all
/// devices of a machine share. Sharded over eight, each device sends an eighth, with f32 gradients; the host does the work of one.
#[test]
fn what_is_offloaded_takes_its_time() {
    let hardware = Hardware::named("h200", 3200.0).expect("known");
    let seconds = |setup: &Setup, hardware: &Hardware| {
        let time = StepTime::new(setup, hardware, &Assumptions::default());
        assert!(time.step_seconds >= time.host_seconds);
        (time.host_seconds, time.optimizer_seconds)
    };
    let away = setup("7b", &["parallel.offload_optimizer=true"]);
    let steps = away.optimizer_steps() as f64;
    let (link, memory) = (0.85 * 64e9, 0.5 * 614e9);
    // The probe keeps the head in bf16, whatever is offloaded.
    let probe = 2.0 * 2.0 * 3584.0 * 152_064.0 / link;
    for (setup, copied) in [(away.clone(), 4.0), (on(away, 1, 8, 1), 6.0 / 8.0)] {
        let (host_seconds, on_device) = seconds(&setup, &hardware);
        let expected = probe + steps * P * (copied / link + 30.0 / memory);
        assert!((host_seconds / expected - 1.0).abs() < 1e-6, "{host_seconds} {expected}");
        assert!(on_device.abs() < 1e-12, "nothing is stepped on the device");
    }
    // Inputs of 28 blocks hide behind the computation, where that takes time.
    let settings = ["parallel.offload_block_inputs=true", "training.activation_bytes=0"];
    let away = setup("7b", &settings);
    assert!((seconds(&away, &hardware).0 - probe).abs() < 1e-12);
    let quick = Hardware { matrix_flops_per_second: 1e30, ..hardware };
    let tokens = 32.0 * 8.0 * (512.0 + 8192.0);
    let expected = probe + steps * 2.0 * tokens * 28.0 * 3584.0 * 2.0 / link;
    let host_seconds = seconds(&away, &quick).0;
    assert!((host_seconds / expected - 1.0).abs() < 0.01, "{host_seconds} {expected}");
    assert!((seconds(&setup("7b", &[]), &quick).0 - probe).abs() < 1e-12);
    assert!(seconds(&setup("7b", &["metrics.probe_tokens=0"]), &quick).0.abs() < 1e-12);
}

/// Host memory is offered where the optimiser or the block inputs are too much, not where something else helps.
#[test]
fn the_host_s_memory_is_offered_where_it_makes_a_setup_fit() {
    let known = Hardware::named("h100", 3200.0).expect("known");
    let alternatives = |setup: &Setup, memory_bytes: u64| {
        let hardware = Hardware { memory_bytes, ..known.clone() };
        let plan = Plan::new(setup.clone(), hardware, Assumptions::default());
        assert!(!plan.fits);
        (plan.alternatives.clone(), plan.to_string())
    };
    let sharded = on(setup("7b", &["optimizer.moments=bf16"]), 1, 8, 3);
    let away = [
        (
            "parallel.offload_optimizer = true",
            sharded.with(|run| run.parallel.offload_optimizer = true),
            " s more of a step there and on the way)",
        ),
        (
            "parallel.offload_block_inputs = true",
            sharded.with(|run| run.parallel.offload_block_inputs = true),
            "copied while computing)",
        ),
    ];
    for (change, offloaded, how) in away {
        let needed = MemoryPlan::new(&offloaded, offloaded.longest());
        let (offered, text) = alternatives(&sharded, needed.peak_bytes());
        let one = offered.iter().find(|one| one.change == change).expect("it takes less");
        assert!(one.fits, "{one:?}");
        assert_eq!(one.host_bytes, needed.host_bytes());
        let time = StepTime::new(&offloaded, &known, &Assumptions::default());
        assert!((one.host_seconds - time.host_seconds).abs() < 1e-9);
        let line = text.lines().find(|line| line.contains(&format!("  {change} (")));
        let line = line.expect("every change has a line");
        assert!(line.contains("GiB of the host's memory for each rank, "), "{line}");
        assert!(line.ends_with(how), "{line}");
    }
    // Changes that need no host memory come first; here they are enough.
    let unsharded = on(setup("7b", &[]), 1, 8, 0);
    let cut = unsharded.with(|run| {
        (run.parallel.zero, run.optimizer.master) = (Zero::Parameters, MasterWeights::Split);
    });
    let enough = MemoryPlan::new(&cut, cut.longest()).peak_bytes();
    let (offered, _) = alternatives(&unsharded, enough);
    let together = offered.iter().find(|one| one.remark == "together").expect("several");
    assert!(together.fits && !together.change.contains("offload"), "{together:?}");
    // With less, it is the last resort.
    let one = on(setup("7b", &[]), 1, 1, 0);
    let (offered, _) = alternatives(&one, known.memory_bytes);
    let together = offered.iter().find(|one| one.remark == "together").expect("several");
    assert!(together.change.contains("parallel.offload_optimizer = true"), "{together:?}");
    assert!(
        together.host_bytes > 12 * 7_000_000_000 && together.host_seconds > 0.0,
        "{together:?}"
    );
    // On a CPU the host is the device.
    let on_cpu = Setup { on_cpu: true, ..one };
    let (offered, _) = alternatives(&on_cpu, 8 << 30);
    assert!(offered.iter().all(|one| !one.change.contains("offload")));
}
