//! Unit tests of a row, in the layouts that data sets of programming tasks use.

use serde_json::{Map, Value};
use thiserror::Error;

/// Tests that a program must pass, all of them.
#[derive(Debug, Clone, PartialEq)]
pub enum UnitTests {
    /// Python statements run in order after the program; one that raises fails. Functions `test_…` that they define are
    /// called.
    Statements(Vec<String>),
    /// Runs of the program as a script.
    Streams(Vec<Stream>),
    /// Calls of a function of the program, or of a method of its class `Solution`.
    Calls {
        /// Name of the function.
        function: String,
        /// One entry per call.
        calls: Vec<Call>,
    },
}

/// One run of the program as a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// Standard input.
    pub stdin: String,
    /// Expected standard output.
    pub stdout: String,
}

/// One call of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Arguments of the call.
    pub arguments: Vec<Value>,
    /// Expected result; tuples are lists here.
    pub result: Value,
}

/// Why a text holds no tests, naming the test.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct UnitTestsError(String);

/// Name of the function to call, if any, with input and output.
type Test<'a> = (Option<&'a str>, &'a Value, &'a Value);

impl UnitTests {
    /// Reads the tests of a row.
    ///
    /// | text | known from | means |
    /// |---|---|---|
    /// | `["assert f(1) == 2", …]`, or the statements as plain text | MBPP, `KodCode`, `AceCode` | statements |
    /// | `{"inputs": ["1 2\n", …], "outputs": ["3\n", …]}` | APPS, TACO, PRIME | standard input and output |
    /// | the same with `"fn_name": "f"`, each input a list of arguments | APPS, TACO, PRIME | calls |
    /// | `[{"input": …, "output": …, "type": "stdin_stdout" \| "functional"}]` | `LiveCodeBench`, SYNTHETIC-1 | either |
    ///
    /// JSON within a JSON string is unpacked.
    ///
    /// # Errors
    ///
    /// [`UnitTestsError`].
    pub fn read(text: &str) -> Result<Self, UnitTestsError> {
        let unpacked: Option<String> = serde_json::from_str(text).ok();
        let text = unpacked.as_deref().unwrap_or(text);
        let tests = match serde_json::from_str(text) {
            Ok(Value::Array(list)) => Self::of_list(&list)?,
            Ok(Value::Object(object)) => Self::of_object(&object)?,
            // Only one level: no layout nests strings deeper.
            _ if text.contains("assert") => Self::Statements(vec![text.to_owned()]),
            _ => return Err(layout(text)),
        };
        if tests.count() == 0 {
            return Err(UnitTestsError("expected at least one test, found none".to_owned()));
        }
        Ok(tests)
    }

    fn of_list(list: &[Value]) -> Result<Self, UnitTestsError> {
        if let Some(statements) = texts(list) {
            return Ok(Self::Statements(statements));
        }
        Self::of_tests((1..).zip(list).map(|(number, test)| {
            let Value::Object(test) = test else {
                return Err(fault(number, "expected an object with `input` and `output`"));
            };
            let (Some(input), Some(output)) = (test.get("input"), test.get("output")) else {
                return Err(fault(number, "expected `input` and `output`"));
            };
            let name = name_of_function(test);
            if name.is_none() && is_functional(test) {
                return Err(fault(
                    number,
                    "is a call, expected `fn_name` with the function's name",
                ));
            }
            Ok((name, input, output))
        }))
    }

    fn of_object(object: &Map<String, Value>) -> Result<Self, UnitTestsError> {
        let list = |name: &str| object.get(name).and_then(Value::as_array);
        let (Some(inputs), Some(outputs)) = (list("inputs"), list("outputs")) else {
            return Err(layout(&Value::Object(object.clone()).to_string()));
        };
        if inputs.len() != outputs.len() {
            let (inputs, outputs) = (inputs.len(), outputs.len());
            return Err(UnitTestsError(format!(
                "expected as many outputs as inputs, found {inputs} inputs and {outputs} outputs"
            )));
        }
        let name = name_of_function(object);
        Self::of_tests(inputs.iter().zip(outputs).map(|(input, output)| Ok((name, input, output))))
    }

    /// Calls if the tests name one function, streams if they name none.
    fn of_tests<'a>(
        tests: impl Iterator<Item = Result<Test<'a>, UnitTestsError>>,
    ) -> Result<Self, UnitTestsError> {
        let (mut function, mut calls, mut streams) = (None, Vec::new(), Vec::new());
        for (number, test) in (1..).zip(tests) {
            let (name, input, output) = test?;
            let Some(name) = name else {
                let stream = Stream::read(input, output);
                streams.push(stream.ok_or_else(|| fault(number, "expected texts"))?);
                continue;
            };
            if function.get_or_insert(name) != &name {
                return Err(fault(number, "names another function than the first"));
            }
            calls.push(Call::read(input, output).map_err(|problem| fault(number, &problem))?);
        }
        match function {
            None => Ok(Self::Streams(streams)),
            Some(name) if streams.is_empty() => {
                Ok(Self::Calls { function: name.to_owned(), calls })
            }
            Some(_) => Err(fault(1, "expected calls or streams, found both")),
        }
    }

    /// Number of tests.
    pub fn count(&self) -> usize {
        match self {
            Self::Statements(tests) => tests.len(),
            Self::Streams(tests) => tests.len(),
            Self::Calls { calls, .. } => calls.len(),
        }
    }
}

impl Stream {
    fn read(input: &Value, output: &Value) -> Option<Self> {
        Some(Self { stdin: lines(input)?, stdout: lines(output)? })
    }
}

impl Call {
    /// Reads a call. Arguments are a list, or a text with one JSON value a line; the result is a value, or a text with
    /// one.
    fn read(input: &Value, output: &Value) -> Result<Self, String> {
        let arguments = match input {
            Value::Array(list) => list.clone(),
            Value::String(text) => text
                .lines()
                .filter(|line| !line.trim().is_empty())
                .map(serde_json::from_str)
                .collect::<Result<_, _>>()
                .map_err(|error| format!("arguments are no JSON values, one a line: {error}"))?,
            other => return Err(format!("arguments are {other}, expected a list")),
        };
        let result = match (input, output) {
            (Value::String(_), Value::String(text)) => serde_json::from_str(text)
                .map_err(|error| format!("the result is no JSON value: {error}"))?,
            _ => output.clone(),
        };
        Ok(Self { arguments, result })
    }
}

/// Returns a text, or joins a list of lines to one.
fn lines(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(list) => texts(list).map(|lines| lines.join("\n")),
        _ => None,
    }
}

fn texts(list: &[Value]) -> Option<Vec<String>> {
    list.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

fn name_of_function(test: &Map<String, Value>) -> Option<&str> {
    test.get("fn_name").and_then(Value::as_str).filter(|name| !name.is_empty())
}

fn is_functional(test: &Map<String, Value>) -> bool {
    let kind = test.get("type").or_else(|| test.get("testtype")).and_then(Value::as_str);
    matches!(kind, Some("functional" | "function_call"))
}

fn layout(text: &str) -> UnitTestsError {
    let start: String = text.chars().take(60).collect();
    UnitTestsError(format!(
        "expected assert statements, pairs of `input` and `output`, or `inputs` and `outputs`, found {start:?}"
    ))
}

fn fault(number: usize, problem: &str) -> UnitTestsError {
    UnitTestsError(format!("test {number}: {problem}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stream(stdin: &str, stdout: &str) -> Stream {
        Stream { stdin: stdin.to_owned(), stdout: stdout.to_owned() }
    }

    #[test]
    fn statements_stand_in_a_list_or_as_they_are() {
        let tests = UnitTests::Statements(vec!["assert f(1) == 2".to_owned(), "f(2)".to_owned()]);
        let text = json!(["assert f(1) == 2", "f(2)"]).to_string();
        assert_eq!(UnitTests::read(&text), Ok(tests.clone()));
        assert_eq!(UnitTests::read(&json!(text).to_string()), Ok(tests));
        let plain = "from solution import f\ndef test_f():\n    assert f(1) == 2\n";
        assert_eq!(UnitTests::read(plain), Ok(UnitTests::Statements(vec![plain.to_owned()])));
    }

    #[test]
    fn streams_and_calls_have_the_layouts_of_the_usual_sets() {
        let streams = UnitTests::Streams(vec![stream("1 2\n", "3\n"), stream("4", "5\n6")]);
        let apps = json!({"inputs": ["1 2\n", "4"], "outputs": ["3\n", ["5", "6"]]});
        let each = json!([
            {"input": "1 2\n", "output": "3\n", "testtype": "stdin"},
            {"input": "4", "output": "5\n6"},
        ]);
        for text in [apps, each] {
            assert_eq!(UnitTests::read(&text.to_string()), Ok(streams.clone()));
        }
        let call = Call { arguments: vec![json!([1, 2]), json!("a")], result: json!(3) };
        let calls = UnitTests::Calls { function: "f".to_owned(), calls: vec![call] };
        let apps = json!({"fn_name": "f", "inputs": [[[1, 2], "a"]], "outputs": [3]});
        let each = json!([{"input": "[1, 2]\n\"a\"", "output": "3", "type": "functional", "fn_name": "f"}]);
        for text in [apps, each] {
            assert_eq!(UnitTests::read(&text.to_string()), Ok(calls.clone()), "{text}");
        }
    }

    #[test]
    fn what_is_no_test_is_refused_with_its_place() {
        let cases = [
            ("42", "found \"42\""),
            ("the answer is 42", "expected assert statements"),
            ("[]", "at least one test"),
            ("{\"inputs\": [], \"outputs\": []}", "at least one test"),
            ("{\"inputs\": [\"1\"], \"outputs\": []}", "found 1 inputs and 0 outputs"),
            ("{\"cases\": 3}", "expected assert statements"),
            ("[{\"input\": \"1\"}]", "test 1: expected `input` and `output`"),
            ("[{\"input\": \"1\", \"output\": \"1\"}, 5]", "test 2: expected an object"),
            ("[{\"input\": \"1\", \"output\": null}]", "test 1: expected texts"),
            ("[{\"input\": \"1\", \"output\": \"1\", \"type\": \"functional\"}]", "`fn_name`"),
            ("{\"fn_name\": \"f\", \"inputs\": [5], \"outputs\": [1]}", "test 1: arguments are 5"),
        ];
        for (text, expected) in cases {
            let error = UnitTests::read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
