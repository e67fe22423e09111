//! Settings chosen for the memory there is.

use run_plan::plan::{
    Alternative, Assumptions, Choice, Hardware, MemoryPlan, ModelSizes, Plan, Setup, preset_model,
    settings_that_fit,
};
use training_run::config::{Dtype, Run};

use crate::plan::{on, setup};

/// The choice leaves the result as it is; moments in bf16 are the last resort, and the remark names them.
#[test]
fn settings_are_chosen_by_the_memory_there_is() {
    let choose = |size: &str, more: &[&str], gpu: &str, nodes| {
        let preset = format!("qwen2.5-{size}-kl-cov");
        let open = ["model.path=m", "data.train.arithmetic={}"];
        let overrides: Vec<String> = open.iter().chain(more).map(|&one| one.to_owned()).collect();
        let run = Run::from_preset(&preset, &overrides).expect("a run");
        let config = preset_model(size).expect("a known shape");
        let setup = Setup {
            mean_response_tokens: 3000,
            ..Setup::of_run(&run, ModelSizes::of(size, &config))
        };
        let setup = setup.with_ranks(nodes, 8).expect("counts in range");
        let hardware = Hardware::named(gpu, 3200.0).expect("known");
        let choice = settings_that_fit(&setup, &hardware, &Assumptions::default());
        choice.map(|choice| {
            let peak = MemoryPlan::new(&choice.setup, choice.setup.longest()).peak_bytes();
            assert!(peak <= hardware.memory_bytes, "{choice:?}");
            choice
        })
    };
    let large = choose("7b", &[], "h200", 1).expect("fits");
    assert_eq!((large.remark.as_str(), large.setup.run.optimizer.moments), ("", Dtype::F32));
    let parallel = large.setup.run.parallel;
    assert!(!parallel.offload_block_inputs && !parallel.offload_optimizer, "{large:?}");
    let small = choose("7b", &[], "h100", 1).expect("fits");
    assert_eq!((small.remark.as_str(), small.setup.run.optimizer.moments), ("", Dtype::F32));
    let parallel = small.setup.run.parallel;
    assert!(parallel.offload_block_inputs && !parallel.offload_optimizer, "{small:?}");
    assert!(small.settings.contains(&"parallel.offload_block_inputs=true".to_owned()));
    // Two tensor-parallel ranks per copy of the model have room for more rows.
    let pairs = choose("32b", &[], "h200", 4).expect("fits");
    assert_eq!(pairs.setup.run.parallel.tensor, 2, "{:?}", pairs.settings);
}

/// Eight ranks share the host's memory: no choice needs more of it, and a plan that does says so.
#[test]
fn nothing_is_offloaded_to_memory_that_the_host_does_not_have() {
    let (h100, assumed) = (Hardware::named("h100", 3200.0).expect("known"), Assumptions::default());
    let wide = on(setup("7b", &[]), 1, 8, 1);
    let choose = |host_bytes: Option<u64>| {
        settings_that_fit(&wide, &Hardware { host_bytes, ..h100.clone() }, &assumed)
    };
    let needed =
        |choice: &Choice| 8 * MemoryPlan::new(&choice.setup, choice.setup.longest()).host_bytes();
    let free = choose(None).expect("fits");
    let enough = needed(&free);
    assert!(enough > 0, "{:?}", free.settings);
    assert_eq!(choose(Some(enough)).as_ref(), Some(&free));
    let less = choose(Some(enough - 1));
    assert!(less.is_none_or(|other| needed(&other) < enough));

    let away = wide.with(|run| run.parallel.offload_optimizer = true);
    let large = Hardware { memory_bytes: 1 << 40, host_bytes: Some(16 << 30), ..h100 };
    let plan = Plan::new(away, large, assumed);
    assert!(!plan.fits && 8 * plan.memory.host_bytes() > 16 << 30);
    let text = plan.to_string();
    assert!(
        text.contains("does not fit into 16.0 GiB of the host's memory: 8 ranks need"),
        "{text}"
    );
    let on_device = |one: &&Alternative| one.fits && one.change.starts_with("parallel.offload");
    let back = plan.alternatives.iter().find(on_device).expect("the device has room");
    // The head before the update, in bf16.
    let head = 2 * 3584 * 152_064;
    assert_eq!(
        (back.change.as_str(), back.host_bytes),
        ("parallel.offload_optimizer = false", head)
    );
}
