//! `[algorithm.thermostat]`: what holds an entropy by moving one number of the policy loss.

use rl_losses::{ControlError, DifficultyThermostatSettings, Knob, PolicyLoss, ThermostatSettings};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// `[algorithm.thermostat]`: a knob, and the [`ThermostatSettings`] but where it starts, which is where the policy loss has
/// it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Table", into = "Table")]
#[schemars(!try_from, !into, transform = without_initial)]
pub struct ThermostatSection {
    /// Number of the policy loss that moves to hold an entropy: `"fraction"`, `"coefficient"` or
    /// `"clip-ratio-high"`. It starts at the loss's own value.
    pub knob: Knob,
    /// Accuracies of a group between buckets of difficulty, ascending: `[0.25, 0.75]` makes hard,
    /// middle and easy prompts. The thermostat holds the entropy of each by a `fraction` of its own
    /// tokens.
    #[schemars(default)]
    accuracy_edges: Vec<f64>,
    #[schemars(flatten)]
    settings: ThermostatSettings,
}

/// Takes the setting that the policy loss gives out of the schema.
fn without_initial(schema: &mut Schema) {
    for key in ["properties", "required"] {
        match schema.get_mut(key) {
            Some(serde_json::Value::Object(properties)) => drop(properties.remove(INITIAL)),
            Some(serde_json::Value::Array(names)) => names.retain(|name| name != INITIAL),
            _ => {}
        }
    }
}

const KNOB: &str = "knob";

const ACCURACY_EDGES: &str = "accuracy_edges";

/// The setting that the policy loss gives.
const INITIAL: &str = "initial";

impl ThermostatSection {
    /// The settings of a thermostat that starts where `loss` stands.
    ///
    /// # Errors
    ///
    /// [`ControlError::NoKnob`] if the loss does not have the knob.
    pub fn settings(&self, loss: &PolicyLoss) -> Result<ThermostatSettings, ControlError> {
        Ok(ThermostatSettings { initial: self.knob.read(loss)?, ..self.settings })
    }

    /// The settings of one thermostat a bucket of difficulty; `None` without `accuracy_edges`.
    ///
    /// # Errors
    ///
    /// [`ControlError::NoKnob`] if the loss does not have the knob.
    pub fn by_difficulty(
        &self,
        loss: &PolicyLoss,
    ) -> Result<Option<DifficultyThermostatSettings>, ControlError> {
        let (accuracy_edges, thermostat) = (self.accuracy_edges.clone(), self.settings(loss)?);
        let settings = DifficultyThermostatSettings { accuracy_edges, thermostat };
        Ok((!self.accuracy_edges.is_empty()).then_some(settings))
    }
}

impl TryFrom<Table> for ThermostatSection {
    type Error = String;

    fn try_from(mut table: Table) -> Result<Self, String> {
        let message = |error: toml::de::Error| error.message().to_owned();
        let missing = |field: &str| format!("missing field `{field}`");
        let knob: Value = table.remove(KNOB).ok_or_else(|| missing(KNOB))?;
        if table.contains_key(INITIAL) {
            return Err(format!("`{INITIAL}` is no field here: the policy loss has the number"));
        }
        let accuracy_edges = table.remove(ACCURACY_EDGES).map(Value::try_into).transpose();
        // Any start within the bounds, until the loss is known.
        let low = table.get("low").cloned().ok_or_else(|| missing("low"))?;
        table.insert(INITIAL.to_owned(), low);
        Ok(Self {
            knob: knob.try_into().map_err(message)?,
            accuracy_edges: accuracy_edges.map_err(message)?.unwrap_or_default(),
            settings: Value::Table(table).try_into().map_err(message)?,
        })
    }
}

impl From<ThermostatSection> for Table {
    fn from(section: ThermostatSection) -> Self {
        let mut table = Self::try_from(section.settings).expect("settings are a table");
        table.remove(INITIAL);
        let knob = Value::try_from(section.knob).expect("a knob is a word");
        table.insert(KNOB.to_owned(), knob);
        table.insert(ACCURACY_EDGES.to_owned(), section.accuracy_edges.into());
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = "knob = \"fraction\"\nlow = 0.001\nhigh = 0.5\ntarget = { start = 1.0, end = 0.5, steps = 9 }";

    #[test]
    fn a_section_is_a_knob_and_the_settings_of_a_thermostat() {
        let section: ThermostatSection = toml::from_str(WRITTEN).unwrap();
        let loss: PolicyLoss = toml::from_str("kl-cov = { fraction = 0.02 }").unwrap();
        let settings = section.settings(&loss).unwrap();
        let expected = ThermostatSettings::new(settings.target, 0.02, 0.001, 0.5).unwrap();
        assert_eq!(settings, expected);
        assert_eq!(section.by_difficulty(&loss), Ok(None));
        let text = format!("{WRITTEN}\naccuracy_edges = [0.25, 0.75]");
        let section: ThermostatSection = toml::from_str(&text).unwrap();
        let by_difficulty = section.by_difficulty(&loss).unwrap().unwrap();
        assert_eq!(
            (by_difficulty.accuracy_edges, by_difficulty.thermostat),
            (vec![0.25, 0.75], settings)
        );
        let again: ThermostatSection = toml::from_str(&toml::to_string(&section).unwrap()).unwrap();
        assert_eq!(again, section);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let refusal = |from: &str, to: &str| {
            let text = WRITTEN.replace(from, to);
            toml::from_str::<ThermostatSection>(&text).unwrap_err().message().to_owned()
        };
        assert_eq!(refusal("knob = \"fraction\"", ""), "missing field `knob`");
        assert_eq!(refusal("low = 0.001", ""), "missing field `low`");
        assert_eq!(
            refusal("low = 0.001", "low = 0.001\ninitial = 0.1"),
            "`initial` is no field here: the policy loss has the number"
        );
        assert!(refusal("fraction", "frction").contains("unknown variant `frction`"));
        assert!(refusal("high = 0.5", "high = 0.5\ngain = 1").contains("unknown field `gain`"));
        assert!(refusal("low = 0.001", "low = -1").contains("`low` is -1"));
    }
}
