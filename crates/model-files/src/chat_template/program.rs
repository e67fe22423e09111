//! Instructions of a chat template, with a guard after each that makes a value.

use std::collections::BTreeMap;

use minijinja::machinery::{
    CodeGenerator, Instruction, Instructions, Token, Vm, WhitespaceConfig, make_string_output,
    parse, tokenize,
};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error as JinjaError, Value};

use super::guard::{GUARD, GUARD_OF_KEPT};

const NAME: &str = "chat_template";

/// Longest source, in bytes; the longest template in use has some 20 thousand.
const LONGEST_SOURCE_BYTES: usize = 64 << 10;

/// Most tokens of one tag: operators and filters of a tag nest, and the parser recurses.
const MOST_TOKENS_OF_A_TAG: usize = 1024;

/// Most products. The parser works out products of constants, among them repeated strings.
const MOST_PRODUCTS: usize = 4;

/// Largest whole number of a template with products.
const LARGEST_FACTOR: u64 = 256;

/// A chat template as instructions. Their text lives as long as the process, as the model does.
pub(super) struct Program {
    instructions: Instructions<'static>,
    blocks: BTreeMap<&'static str, Instructions<'static>>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Program").finish_non_exhaustive()
    }
}

impl Program {
    /// Compiles a source as `transformers` sets Jinja2 up: the line break after a block tag is removed.
    pub(super) fn compile(source: String) -> Result<Self, String> {
        if source.len() > LONGEST_SOURCE_BYTES {
            return Err(format!("{} bytes, at most {LONGEST_SOURCE_BYTES}", source.len()));
        }
        let whitespace = WhitespaceConfig {
            keep_trailing_newline: false,
            lstrip_blocks: true,
            trim_blocks: true,
        };
        check_tokens(&source, whitespace)?;
        let source: &'static str = source.leak();
        let tree =
            parse(source, NAME, SyntaxConfig, whitespace).map_err(|error| error.to_string())?;
        let mut generator = CodeGenerator::new(NAME, source);
        generator.compile_stmt(&tree);
        let (instructions, blocks) = generator.finish();
        let blocks = blocks.into_iter().map(|(name, block)| (name, guarded(&block))).collect();
        Ok(Self { instructions: guarded(&instructions), blocks })
    }

    /// Renders the template with `values`.
    pub(super) fn run(
        &self,
        environment: &Environment<'_>,
        values: Value,
    ) -> Result<String, JinjaError> {
        let mut text = String::new();
        let mut output = make_string_output(&mut text);
        let machine = Vm::new(environment);
        machine.eval(&self.instructions, values, &self.blocks, &mut output, AutoEscape::None)?;
        Ok(text)
    }
}

/// Refuses tags that nest deeply and products that the parser would work out to long strings.
fn check_tokens(source: &str, whitespace: WhitespaceConfig) -> Result<(), String> {
    let (mut of_tag, mut products, mut largest) = (0, 0, 0);
    for token in tokenize(source, false, SyntaxConfig, whitespace) {
        match token.map_err(|error| error.to_string())?.0 {
            Token::VariableStart | Token::BlockStart => of_tag = 0,
            Token::Mul => products += 1,
            Token::Int(number) => largest = largest.max(number),
            Token::Int128(_) => largest = u64::MAX,
            _ => {}
        }
        of_tag += 1;
        if of_tag > MOST_TOKENS_OF_A_TAG {
            return Err(format!("a tag has more than {MOST_TOKENS_OF_A_TAG} tokens"));
        }
    }
    if products > MOST_PRODUCTS || (products > 0 && largest > LARGEST_FACTOR) {
        return Err(format!(
            "{products} products and numbers up to {largest}, expected at most {MOST_PRODUCTS} \
             products, and numbers up to {LARGEST_FACTOR} beside them"
        ));
    }
    Ok(())
}

/// Returns the instructions with a guard after each that makes a value, and around each that keeps one.
fn guarded(plain: &Instructions<'static>) -> Instructions<'static> {
    let mut with_guards = Instructions::new(plain.name(), plain.source());
    let groups: Vec<Vec<Instruction<'static>>> =
        (0..).map_while(|index| plain.get(index)).map(group).collect();
    let mut starts = vec![0];
    for group in &groups {
        starts.push(starts.last().copied().unwrap_or(0) + u32::try_from(group.len()).unwrap_or(0));
    }
    let moved = |target: u32| {
        let target = usize::try_from(target).unwrap_or(usize::MAX);
        starts[target.min(groups.len())]
    };
    for (index, group) in (0..).zip(&groups) {
        for instruction in group {
            let instruction = match instruction.clone() {
                Instruction::Iterate(target) => Instruction::Iterate(moved(target)),
                Instruction::Jump(target) => Instruction::Jump(moved(target)),
                Instruction::JumpIfFalse(target) => Instruction::JumpIfFalse(moved(target)),
                Instruction::JumpIfFalseOrPop(target) => {
                    Instruction::JumpIfFalseOrPop(moved(target))
                }
                Instruction::JumpIfTrueOrPop(target) => Instruction::JumpIfTrueOrPop(moved(target)),
                Instruction::BuildMacro(name, target, flags) => {
                    Instruction::BuildMacro(name, moved(target), flags)
                }
                other => other,
            };
            match plain.get_line(index).and_then(|line| u16::try_from(line).ok()) {
                Some(line) => with_guards.add_with_line(instruction, line),
                None => with_guards.add(instruction),
            };
        }
    }
    with_guards
}

/// Returns an instruction with its guards.
fn group(instruction: &Instruction<'static>) -> Vec<Instruction<'static>> {
    // The last number says that the filter is looked up each time.
    let guard = |name| Instruction::ApplyFilter(name, Some(1), u8::MAX);
    match instruction {
        // Text goes the way of values, whose output is bounded.
        Instruction::EmitRaw(text) => {
            vec![Instruction::LoadConst(Value::from(*text)), Instruction::Emit]
        }
        // The value lies below the namespace that will hold it.
        Instruction::SetAttr(_) => {
            vec![Instruction::Swap, guard(GUARD_OF_KEPT), Instruction::Swap, instruction.clone()]
        }
        Instruction::Add
        | Instruction::Mul
        | Instruction::StringConcat
        | Instruction::Slice
        | Instruction::BuildList(_)
        | Instruction::BuildMap(_)
        | Instruction::BuildKwargs(_)
        | Instruction::MergeKwargs(_)
        | Instruction::ApplyFilter(..)
        | Instruction::CallFunction(..)
        | Instruction::CallMethod(..)
        | Instruction::CallObject(_)
        | Instruction::EndCapture => vec![instruction.clone(), guard(GUARD)],
        other => vec![other.clone()],
    }
}
