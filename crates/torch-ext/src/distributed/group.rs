//! A group of connected processes and their operations.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_int;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tch::{Device, Tensor};

use super::address;
use super::connection::{ALL_TO_ALL, Connection};
use super::error::GroupError;
use super::nccl;
use super::operation::{Call, GroupOperation, ReduceOp};
use super::placement::{Coordinator, Placement, PlacementError};
use super::store::{ERRORS, Store, set_log_level};
use super::traffic::{Counters, Traffic, bytes_sent};
use super::values::one_line;
use super::witness::Witness;
use super::work::{LastStep, Running, Work, lost};
use crate::{TorchError, byte_count};

/// Settings of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupOptions {
    /// Longest time that ranks wait for each other, in joining and in every operation; 10 minutes.
    ///
    /// It must cover how much ranks may differ in speed: the slowest step, and the writing of a checkpoint by one of them.
    pub timeout: Duration,
    /// Longest time that a rank waits for the store to be served; 1 minute.
    ///
    /// It must cover how much later than the others the serving process may start.
    pub connect_timeout: Duration,
    /// Device of the tensors; the CPU by default. Tensors on the CPU always use Gloo; a CUDA device adds NCCL.
    pub device: Device,
}

impl Default for GroupOptions {
    fn default() -> Self {
        let (timeout, connect_timeout) = (Duration::from_mins(10), Duration::from_mins(1));
        Self { timeout, connect_timeout, device: Device::Cpu }
    }
}

/// A group of processes. Every collective must be called by all of them, in the same order, with tensors of the same kind and
/// number of elements: ranks that call different operations hang, fail, abort (Gloo, if sizes differ) or mix up data.
///
/// Tensors are contiguous, of any shape, on the CPU or on the group's CUDA device. Their kind is `Float`, `Double`, `BFloat16`,
/// `Half`, `Int64`, `Int`, `Int8`, `Uint8` or `Bool` (which is sent, never reduced). They are written in place, outside of
/// autograd.
///
/// On the CPU, a reduce-scatter adds in the order of ranks, and sums of `BFloat16` and `Half` are taken in `Float` and
/// rounded once. An all-reduce gives all ranks the same bits, in an order of addition that depends on the number of ranks
/// and elements. NCCL adds in the kind of the tensors.
#[derive(Debug)]
pub struct ProcessGroup {
    /// Connections to the other ranks; `None` for one process: every operation is the identity.
    pub(super) connection: Option<Arc<Connection>>,
    /// Rank of this process in the group.
    rank: usize,
    /// Ranks of the run that are in the group, in the group's order.
    ranks: Vec<usize>,
    /// Place of this process in the whole run.
    placement: Placement,
    name: String,
    store: Store,
    pub(super) options: GroupOptions,
    /// Address at which Gloo listens; `None` leaves it to Gloo.
    address: Option<IpAddr>,
    /// Failure reports of the whole run; `None` for one process.
    witness: Option<Arc<Witness>>,
    counters: Arc<Counters>,
    /// Number of sub-groups made of the same ranks: each has its own keys.
    sub_groups: RefCell<HashMap<Vec<usize>, u64>>,
}

impl ProcessGroup {
    /// A group of one process: every collective is the identity, and the store is a map in memory.
    pub fn single() -> Self {
        let options = GroupOptions::default();
        Self {
            connection: None,
            rank: 0,
            ranks: vec![0],
            placement: Placement::single(),
            name: "world".to_owned(),
            store: Store::in_memory(options.timeout),
            options,
            address: None,
            witness: None,
            counters: Arc::default(),
            sub_groups: RefCell::default(),
        }
    }

    /// Joins the processes of a run. All of them must join, the same number of times.
    ///
    /// # Errors
    ///
    /// [`GroupError`] if the store of rank 0 cannot be reached, some ranks do not join within the time-out (the error lists
    /// them), or the device needs NCCL and that is missing.
    pub fn join(placement: &Placement, options: &GroupOptions) -> Result<Self, GroupError> {
        static JOINED: AtomicU64 = AtomicU64::new(0);
        if placement.world_size == 1 {
            return Ok(Self { options: options.clone(), ..Self::single() });
        }
        if let Device::Cuda(device) = options.device {
            nccl::require(device)?;
        }
        let &Placement { rank, world_size, .. } = placement;
        let missing = || {
            let because = format!("WORLD_SIZE is {world_size}");
            PlacementError::missing("MASTER_ADDR", "the host of rank 0", &because)
        };
        let coordinator = placement.coordinator.as_ref().ok_or_else(missing)?;
        let store = store_of(coordinator, placement, options)?;
        if options.device != Device::Cpu {
            set_log_level(ERRORS);
        }
        // A restarted run, or a process that joins again, must not meet keys of an earlier time.
        let time = JOINED.fetch_add(1, Ordering::Relaxed);
        let store = store.prefixed(&format!("attempt-{}/join-{time}", coordinator.attempt))?;
        let server = (!coordinator.served_by_launcher).then_some(0);
        let witness = Some(Witness::new(store.prefixed("witness")?, rank, server));
        let ranks: Vec<usize> = (0..world_size).collect();
        let store = store.prefixed("world")?;
        let address = address::publish(&store, placement)?;
        meet(&store, placement, &ranks, options.timeout)?;
        let address = address::after_meeting(&store, placement, address)?;
        let (placement, options) = (placement.clone(), options.clone());
        Self { rank, ranks, placement, store, options, address, witness, ..Self::single() }
            .connected()
    }

    /// Makes a group of the listed ranks of this group, which must include this rank. The order of the list is the order of
    /// ranks in the new group. Exactly these ranks must call it, with the same list.
    ///
    /// # Errors
    ///
    /// [`GroupError::Refused`] if the list is invalid; otherwise the errors of [`Self::join`].
    pub fn sub_group(&self, ranks: &[usize]) -> Result<Self, GroupError> {
        let &Placement { rank, world_size, .. } = &self.placement;
        let place = format!("rank {rank} of {world_size}");
        let refuse = |problem: String| {
            GroupError::Refused(format!("{place}: no sub-group of ranks {ranks:?}: {problem}"))
        };
        if let Some(rank) = ranks.iter().find(|&&rank| rank >= self.world_size()) {
            return Err(refuse(format!(
                "expected ranks in 0..{}, found {rank}",
                self.world_size()
            )));
        }
        if let Some(rank) = (1..ranks.len()).find(|&index| ranks[..index].contains(&ranks[index])) {
            return Err(refuse(format!("rank {} is in it twice", ranks[rank])));
        }
        let Some(position) = ranks.iter().position(|&rank| rank == self.rank) else {
            return Err(refuse(format!("expected rank {} to be in it", self.rank)));
        };
        let time = {
            let mut made = self.sub_groups.borrow_mut();
            let count = made.entry(ranks.to_vec()).or_default();
            *count += 1;
            *count
        };
        let members: Vec<usize> = ranks.iter().map(|&rank| self.ranks[rank]).collect();
        let list: Vec<String> = members.iter().map(ToString::to_string).collect();
        let name = format!("{}/{}#{time}", self.name, list.join("-"));
        let store = self.store.prefixed(&name)?;
        let group = Self {
            rank: position,
            ranks: members,
            placement: self.placement.clone(),
            name,
            store,
            options: self.options.clone(),
            address: self.address,
            witness: self.witness.clone(),
            counters: Arc::clone(&self.counters),
            ..Self::single()
        };
        if group.ranks.len() == 1 {
            return Ok(group);
        }
        meet(&group.store, &group.placement, &group.ranks, group.options.timeout)?;
        group.connected()
    }

    /// Connects this group to its ranks, who have met.
    fn connected(self) -> Result<Self, GroupError> {
        let Self { ranks, options, .. } = &self;
        let device = match options.device {
            Device::Cuda(device) => c_int::try_from(device).unwrap_or(c_int::MAX),
            _ => -1,
        };
        let place = (self.rank, ranks.len());
        let (name, address) = (&self.name, self.address);
        let made = Connection::new(&self.store, place, options.timeout, device, name, address);
        let failed = || {
            let (Placement { rank, world_size, .. }, message) =
                (&self.placement, one_line(&TorchError::take()));
            GroupError::Refused(format!(
                "rank {rank} of {world_size} could not connect to ranks {ranks:?}: {message}"
            ))
        };
        let connection = Some(Arc::new(made.ok_or_else(failed)?));
        Ok(Self { connection, ..self })
    }

    /// Rank of this process in the group, `0..world_size`.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of processes in the group.
    pub fn world_size(&self) -> usize {
        self.ranks.len()
    }

    /// Ranks of the run that are in the group; the index in the list is the rank in the group.
    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    /// Place of this process in its run, also in a sub-group.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Traffic of this process so far, by operation, summed over the whole run's group and all its sub-groups.
    pub fn traffic(&self) -> Vec<(GroupOperation, Traffic)> {
        GroupOperation::ALL.into_iter().zip(*self.counters.lock()).collect()
    }

    /// A map that all ranks of this group share.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Passes an operation to the back-end of its tensors.
    pub(super) fn start(
        &self,
        call: Call,
        output: &Tensor,
        input: Option<&Tensor>,
        op: ReduceOp,
        last_step: Option<LastStep>,
    ) -> Result<Work, GroupError> {
        let (Some(connection), Some(witness)) = (&self.connection, &self.witness) else {
            return Ok(Work(None));
        };
        let (output_bytes, input_bytes) = (byte_count(output), input.map_or(0, byte_count));
        let bytes = bytes_sent(call.operation, self.world_size(), output_bytes, input_bytes);
        self.counters.lock()[call.operation as usize].bytes_sent += bytes;
        let adds_here = call.operation == GroupOperation::ReduceScatter && last_step.is_some();
        let code = if adds_here { ALL_TO_ALL } else { call.operation as c_int };
        let Some(operation) = connection.start(code, output, input, op as c_int) else {
            let message = format!("{call}: {}", one_line(&TorchError::take()));
            return Err(lost(&call, message, witness, connection));
        };
        let (connection, witness) = (Arc::clone(connection), Arc::clone(witness));
        let counters = Arc::clone(&self.counters);
        Ok(Work(Some(Running { call, last_step, operation, connection, witness, counters })))
    }
}

/// Serves the store of the run, or connects to it.
fn store_of(
    coordinator: &Coordinator,
    placement: &Placement,
    options: &GroupOptions,
) -> Result<Store, GroupError> {
    let &Placement { rank, world_size, .. } = placement;
    let (host, port) = (&coordinator.host, coordinator.port);
    let is_here = rank == 0 && !coordinator.served_by_launcher;
    let store = if is_here {
        Store::serve(port, options.timeout)
    } else {
        Store::connect(host, port, options.connect_timeout, options.timeout)
    };
    store.map_err(|error| {
        let message = match error {
            GroupError::Store { message, .. } => message,
            GroupError::PortTaken { .. } => {
                format!("{error}; set MASTER_PORT to a free one, the same for every rank")
            }
            other => other.to_string(),
        };
        let text = |action: &str| {
            format!("rank {rank} of {world_size} could not {action} the store at {host}:{port}: {message}")
        };
        if is_here { GroupError::Refused(text("serve")) } else { GroupError::Unreached(text("reach")) }
    })
}

/// Waits until all ranks have registered in the store.
fn meet(
    store: &Store,
    placement: &Placement,
    ranks: &[usize],
    timeout: Duration,
) -> Result<(), GroupError> {
    let &Placement { rank, world_size, .. } = placement;
    let key = |rank: usize| format!("here/{rank}");
    if store.add(&key(rank), 1)? > 1 {
        return Err(GroupError::Refused(format!(
            "rank {rank} of {world_size} has joined already, expected one process a rank"
        )));
    }
    let deadline = Instant::now() + timeout.min(Duration::from_hours(168));
    for &other in ranks {
        if store.wait_for(&key(other), deadline.saturating_duration_since(Instant::now())).is_err()
        {
            let mut missing = Vec::new();
            for &other in ranks {
                if !store.is_set(&key(other))? {
                    missing.push(other);
                }
            }
            if !missing.is_empty() {
                let message = format!(
                    "rank {rank} of {world_size} waited {} s for all to join, without ranks {missing:?}",
                    timeout.as_secs_f64()
                );
                return Err(GroupError::Absent { message, missing });
            }
        }
    }
    Ok(())
}
