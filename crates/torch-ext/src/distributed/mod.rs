//! Collectives of several processes: libtorch's c10d behind safe types.
//!
//! [`Placement`] is the place of a process in its run. [`Store`] is a small shared map at which processes meet.
//! [`ProcessGroup`] holds the connections and the operations. `docs/distributed.md` tells how processes are started.

mod address;
mod argument;
mod collective;
mod connection;
mod environment;
mod error;
mod group;
mod host_list;
mod nccl;
mod operation;
mod placement;
mod reach;
mod slurm;
mod store;
mod traffic;
mod values;
mod witness;
mod work;

pub use error::GroupError;
pub use group::{GroupOptions, ProcessGroup};
pub use operation::{GroupOperation, ReduceOp};
pub use placement::{Coordinator, Placement, PlacementError};
pub use store::Store;
pub use traffic::Traffic;
pub use work::Work;
