//! Text of a plan.

use std::fmt::{self, Display, Formatter};

use messages::counted;
use training_run::config::{Dtype, MasterWeights};

use super::bytes::ByteCount;
use super::memory::Item;
use super::run_time::Digits;
use super::traffic::{Collective, Traffic};
use super::{Assumptions, Hardware, MoreActivationMemory, Plan, Setup, StepTime};

const ON_HOST: &str = "on the host and on the way";

impl Display for Plan {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.setup)?;
        self.write_memory(out)?;
        writeln!(out)?;
        write!(out, "{}", self.traffic)?;
        writeln!(out)?;
        self.write_time(out)?;
        let lengths =
            if self.setup.mean_response_tokens == self.setup.run.rollout.max_response_tokens {
                "every response as long as allowed; --mean-response-tokens for another length"
            } else {
                "responses of the expected length"
            };
        writeln!(out, "the whole run, {}; {lengths}", self.whole_run)
    }
}

impl Plan {
    /// Writes memory, what fits, and what to change: the plan without traffic and time.
    fn write_memory(&self, out: &mut impl fmt::Write) -> fmt::Result {
        let (longest, expected) = (&self.memory, &self.expected_memory);
        writeln!(out, "memory of one rank                   longest  expected")?;
        rows(out, "", [&longest.resident, &expected.resident])?;
        row(out, "all the time", [longest.resident_bytes(), expected.resident_bytes()], "")?;
        for phase in &longest.phases {
            let same = expected.phases.iter().find(|other| other.name == phase.name);
            let bytes = [phase.bytes(), same.map_or(0, super::Phase::bytes)];
            let largest = phase.items.iter().max_by_key(|item| item.bytes);
            let because = largest.map_or_else(String::new, |Item { name, bytes, because }| {
                format!("most of it {name}, {}: {because}", ByteCount(*bytes))
            });
            row(out, &format!("+ {}", phase.name), bytes, &because)?;
        }
        let overhead = [longest.overhead_bytes(), expected.overhead_bytes()];
        let because = if longest.on_cpu {
            "300 MiB, and a twentieth of what comes and goes"
        } else {
            "1.5 GiB, and the largest tensor's size, which lies free in pieces"
        };
        row(out, "libtorch and driver, assumed", overhead, because)?;
        let because = format!("while {}", longest.worst_phase().name);
        row(out, "peak", [longest.peak_bytes(), expected.peak_bytes()], &because)?;
        self.write_host(out)?;
        self.write_verdict(out)
    }

    fn write_host(&self, out: &mut impl fmt::Write) -> fmt::Result {
        let (longest, expected) = (&self.memory, &self.expected_memory);
        if longest.host.is_empty() {
            return Ok(());
        }
        rows(out, "host: ", [&longest.host, &expected.host])?;
        let because = if longest.on_cpu {
            "which is the device's here, and part of the peak".to_owned()
        } else {
            format!("of each of {} ranks of a machine", self.setup.gpus_per_node)
        };
        row(out, "in the host's memory", [longest.host_bytes(), expected.host_bytes()], &because)
    }

    /// Writes whether the run fits, and what to change if it does not.
    fn write_verdict(&self, out: &mut impl fmt::Write) -> fmt::Result {
        let (longest, expected) = (&self.memory, &self.expected_memory);
        let device = ByteCount(self.device_memory_bytes);
        if self.fits {
            let left = self.device_memory_bytes - longest.peak_bytes();
            writeln!(out, "fits into {device}: {} are left", ByteCount(left))?;
            if let Some(MoreActivationMemory { activation_bytes, peak_bytes, saved_seconds }) =
                &self.more_kept
            {
                let peak = ByteCount(*peak_bytes);
                writeln!(
                    out,
                    "faster by {} s a step, by the model below, at a peak of {peak}: \
                     training.activation_bytes = {activation_bytes}",
                    Digits(*saved_seconds)
                )?;
            }
            return Ok(());
        }
        if longest.peak_bytes() > self.device_memory_bytes {
            let missing = ByteCount(longest.peak_bytes() - self.device_memory_bytes);
            writeln!(out, "does not fit into {device}: {missing} too much")?;
        }
        if let Some(host_bytes) = self.hardware.host_bytes
            && !self.hardware.host_holds(&self.setup, longest)
        {
            let (host, needed) = (ByteCount(host_bytes), ByteCount(longest.host_bytes()));
            let ranks = counted(self.setup.gpus_per_node, "rank");
            writeln!(
                out,
                "does not fit into {host} of the host's memory: {ranks} need {needed} each"
            )?;
        }
        if self.hardware.holds(&self.setup, expected) {
            writeln!(out, "(it would if responses were no longer than expected)")?;
        }
        self.write_changes(out)
    }

    /// Writes changes for a setup that does not fit, one per line.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn write_changes(&self, out: &mut impl fmt::Write) -> fmt::Result {
        let longest = &self.memory;
        writeln!(out, "what to change:")?;
        for alternative in &self.alternatives {
            let verdict = if alternative.fits { "fits" } else { "does not fit" };
            let mut remarks = Vec::new();
            remarks.extend((!alternative.remark.is_empty()).then(|| alternative.remark.clone()));
            if !longest.on_cpu && alternative.host_bytes > longest.host_bytes() {
                let bytes = ByteCount(alternative.host_bytes);
                let more = alternative.host_seconds - self.time.host_seconds;
                let time = if more > 0.0 {
                    format!("about {} s more of a step there and on the way", Digits(more))
                } else {
                    "copied while computing".to_owned()
                };
                remarks.push(format!("{bytes} of the host's memory for each rank, {time}"));
            }
            let remark = match remarks.join("; ") {
                none if none.is_empty() => none,
                remarks => format!(" ({remarks})"),
            };
            let peak = ByteCount(alternative.peak_bytes);
            writeln!(out, "  {peak:>9}  {verdict:<12}  {}{remark}", alternative.change)?;
        }
        Ok(())
    }

    fn write_time(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let StepTime { step_seconds, response_tokens_per_second, update_mfu, .. } = self.time;
        self.write_where(out)?;
        let parts = [
            ("sampling", self.time.sampling_seconds),
            ("scoring", self.time.scoring_seconds),
            ("updates", self.time.update_seconds),
            ("measuring the entropy's change", self.time.probing_seconds),
            ("optimiser", self.time.optimizer_seconds),
            (ON_HOST, self.time.host_seconds),
            ("communication not hidden", self.time.exposed_communication_seconds),
            ("in all", step_seconds),
        ];
        let offloads = !self.memory.host.is_empty();
        for (name, seconds) in parts.into_iter().filter(|(name, _)| offloads || *name != ON_HOST) {
            writeln!(out, "  {name:<30}{:>9} s", Digits(seconds))?;
        }
        writeln!(
            out,
            "  {response_tokens_per_second:.0} response tokens/s, {:.0} a device; update at {update_mfu:.2} of the {} operations \
             (MFU)",
            response_tokens_per_second / self.setup.ranks() as f64,
            if self.setup.on_cpu { "measured" } else { "stated bf16" }
        )?;
        if offloads && !self.setup.on_cpu {
            writeln!(
                out,
                "  to and from the host {:.0} GB/s a device, and {:.0} GB/s of its memory for the optimisers of a machine, a guess; \
                 block inputs hide behind computation",
                self.hardware.host_link_bytes_per_second / 1e9,
                self.hardware.host_memory_bytes_per_second / 1e9
            )?;
        }
        write!(out, "{}", self.assumptions)
    }

    /// Writes the heading of the times: the devices, and on a CPU its measured speed.
    fn write_where(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Hardware { name, matrix_flops_per_second, memory_bytes_per_second, .. } =
            &self.hardware;
        let ranks = self.setup.ranks();
        if !self.setup.on_cpu {
            let name = name.to_uppercase();
            return writeln!(
                out,
                "time of a training step on {ranks} {name}, by a model, not measured"
            );
        }
        let (products, memory) =
            (Digits(matrix_flops_per_second / 1e9), Digits(memory_bytes_per_second / 1e9));
        writeln!(
            out,
            "time of a training step on this CPU ({}), a rough estimate: just now its products reached {products} GFLOP/s a \
             rank and its memory {memory} GB/s",
            counted(ranks, "rank")
        )
    }
}

/// Writes a row for each item at the longest lengths, with its bytes at the expected ones.
fn rows(out: &mut impl fmt::Write, prefix: &str, [longest, expected]: [&[Item]; 2]) -> fmt::Result {
    longest.iter().try_for_each(|Item { name, bytes, because }| {
        let same = expected.iter().find(|item| item.name == *name);
        let bytes = [*bytes, same.map_or(0, |item| item.bytes)];
        row(out, &format!("{prefix}{name}"), bytes, because)
    })
}

fn row(
    out: &mut impl fmt::Write,
    name: &str,
    [longest, expected]: [u64; 2],
    because: &str,
) -> fmt::Result {
    let (longest, expected) = (ByteCount(longest), ByteCount(expected));
    let line = format!("  {name:<32} {longest:>9} {expected:>9}  {because}");
    writeln!(out, "{}", line.trim_end())
}

impl Display for Setup {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let run = &self.run;
        let billions = self.model.parameters() as f64 / 1e9;
        let (name, ranks) = (&self.model.name, self.ranks());
        let active = self.model.active_parameters() as f64 / 1e9;
        writeln!(
            out,
            "{name}: {billions:.2} billion parameters{} in {}, moments in {}{}{}",
            match &self.model.config.experts {
                Some(_) => format!(", {active:.2} of them active,"),
                None => String::new(),
            },
            dtype(run.model.dtype),
            dtype(run.optimizer.moments),
            match (run.model.dtype, run.optimizer.master) {
                (Dtype::F32 | Dtype::F64, _) | (Dtype::Bf16, MasterWeights::F32) => "",
                (Dtype::Bf16, MasterWeights::Split) => ", master weights split",
                (Dtype::Bf16, MasterWeights::None) => ", no master weights",
            },
            match &run.lora {
                Some(lora) => format!("; corrections of rank {} are trained", lora.rank),
                None => String::new(),
            }
        )?;
        let zero = u8::from(run.parallel.zero);
        writeln!(
            out,
            "{}: {} of {}; parallel.zero = {zero}; {} to a copy of the model",
            counted(ranks, "rank"),
            counted(self.nodes, "node"),
            counted(self.gpus_per_node, "device"),
            run.parallel.tensor
        )?;
        write!(
            out,
            "a step: {} prompts × {}; of one rank {} responses at a time, {} an optimiser step; prompts of {} tokens at most, \
             {} expected, responses of {}, {} expected",
            run.rollout.prompts_per_step,
            run.rollout.group_size,
            run.rollout.rows.min(self.prompts_per_rank() * run.rollout.group_size),
            self.mini_batch_sequences_per_rank(),
            run.data.max_prompt_tokens,
            self.mean_prompt_tokens,
            run.rollout.max_response_tokens,
            self.mean_response_tokens,
        )
    }
}

impl Display for Traffic {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.collectives.is_empty() {
            return writeln!(out, "one rank: nothing is sent");
        }
        writeln!(out, "sent by each rank in a training step")?;
        for Collective { name, operations, bytes_sent, overlapped, .. } in &self.collectives {
            let hidden = if *overlapped { "while it computes" } else { "" };
            let (bytes, count) = (ByteCount(*bytes_sent), counted(*operations, "operation"));
            let line = format!("  {name:<34}{bytes:>9}  {count} {hidden}");
            writeln!(out, "{}", line.trim_end())?;
        }
        writeln!(
            out,
            "  {} in all; {} an optimiser step (micro-batches: {}). Gathered for each micro-batch, as is usual at stage 3, it \
             would be {}",
            ByteCount(self.bytes_sent_per_step()),
            ByteCount(self.bytes_sent_per_optimizer_step),
            self.micro_batches,
            ByteCount(self.usual_bytes_sent_per_optimizer_step)
        )
    }
}

impl Display for Assumptions {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { matrix_fraction, decode_fraction, overlap_fraction, kept_fraction } = self;
        let kept = if *kept_fraction < 1.0 {
            format!("dynamic sampling keeps {kept_fraction} of the groups")
        } else {
            "nothing is sampled in vain".to_owned()
        };
        writeln!(
            out,
            "assumed:
  {matrix_fraction} of the stated operations in passes over many tokens (0.52 to 0.60 on one H100 at 7B)
  {decode_fraction} of the roofline in decoding (0.50 to 0.54 there) and in the optimiser
  communication hides behind {overlap_fraction} of the computation beside it
  all responses of the expected length but one, which goes on alone to the longest; {kept}"
        )
    }
}

fn dtype(dtype: Dtype) -> String {
    format!("{dtype:?}").to_lowercase()
}
