//! Equations of motion of the cart and its pole, without friction.
//!
//! Source: Florian 2007, [Correct equations for the dynamics of the cart-pole
//! system](https://coneural.org/florian/papers/05_cart_pole.pdf), Eqs. 23 and 24 with friction 0, as
//! the benchmark `CartPole-v1` has them.

/// Gravity, m/s².
pub const GRAVITY: f64 = 9.8;
/// Mass of the cart, kg.
pub const CART_MASS: f64 = 1.0;
/// Mass of the pole, kg.
pub const POLE_MASS: f64 = 0.1;
/// Half the length of the pole, m.
pub const HALF_LENGTH: f64 = 0.5;
/// Force of each action, N: 0 pushes towards negative positions, 1 towards positive ones.
pub const FORCES: [f64; 2] = [-10.0, 10.0];
/// Time between two pushes, s.
pub const STEP_SECONDS: f64 = 0.02;
/// The pole has fallen where it leans further than this, rad: 12°.
pub const ANGLE_LIMIT: f64 = 12.0 * 2.0 * std::f64::consts::PI / 360.0;
/// The cart has left the track where it is further out than this, m.
pub const POSITION_LIMIT: f64 = 2.4;

/// Position and velocity of the cart, angle of the pole and its rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct State {
    /// Position of the cart, m.
    pub position: f64,
    /// Velocity of the cart, m/s.
    pub velocity: f64,
    /// Angle of the pole from upright, rad.
    pub angle: f64,
    /// Angular velocity of the pole, rad/s.
    pub spin: f64,
}

impl State {
    /// The state [`STEP_SECONDS`] later under a force, N, by one explicit Euler step: positions move with
    /// the velocities from before.
    #[must_use]
    pub fn after(self, force: f64) -> Self {
        let total_mass = CART_MASS + POLE_MASS;
        let pole_moment = POLE_MASS * HALF_LENGTH;
        let (sin, cos) = (self.angle.sin(), self.angle.cos());
        let pull = (force + pole_moment * (self.spin * self.spin) * sin) / total_mass;
        let spin_rate = (GRAVITY * sin - cos * pull)
            / (HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * (cos * cos) / total_mass));
        let acceleration = pull - pole_moment * spin_rate * cos / total_mass;
        Self {
            position: self.position + STEP_SECONDS * self.velocity,
            velocity: self.velocity + STEP_SECONDS * acceleration,
            angle: self.angle + STEP_SECONDS * self.spin,
            spin: self.spin + STEP_SECONDS * spin_rate,
        }
    }

    /// Returns true if the pole has fallen or the cart has left the track.
    pub fn has_failed(self) -> bool {
        self.position.abs() > POSITION_LIMIT || self.angle.abs() > ANGLE_LIMIT
    }

    /// Position, velocity, angle and spin: what the policy sees, and the order of the benchmark.
    pub fn observation(self) -> [f64; 4] {
        [self.position, self.velocity, self.angle, self.spin]
    }
}

impl From<[f64; 4]> for State {
    fn from([position, velocity, angle, spin]: [f64; 4]) -> Self {
        Self { position, velocity, angle, spin }
    }
}
