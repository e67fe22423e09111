//! Answers made to exhaust a verifier; the benchmark times the same ones.

fn nested(open: &str, close: &str, count: usize) -> String {
    open.repeat(count) + "1" + &close.repeat(count)
}

fn joined(range: std::ops::Range<u32>, separator: &str, piece: impl Fn(u32) -> String) -> String {
    range.map(piece).collect::<Vec<_>>().join(separator)
}

fn matrix(order: usize, entry: &str) -> String {
    let row = vec![entry; order].join("&");
    format!(r"\begin{{pmatrix}}{}\end{{pmatrix}}", vec![row; order].join(r"\\"))
}

/// Products, powers and determinants of matrices.
pub(crate) fn matrices() -> Vec<String> {
    let (two, four, column) = (matrix(2, "a"), matrix(4, "7"), vec!["3"; 2000].join(r"\\"));
    let long = joined(0..2000, "+", |n| format!("x_{{{n}}}"));
    vec![
        format!("{two}^{{1000}}"),
        format!("{four}^{{1000}}"),
        format!("{four}^{{1000000000}}"),
        format!("{four}^{{-{}}}", "9".repeat(4000)),
        two.repeat(500),
        four.repeat(400),
        vec![four.as_str(); 400].join("+"),
        vec![matrix(4, r"\frac{1}{97}"); 200].join(r"\cdot"),
        format!("({long}){}", matrix(40, "5")),
        format!(r"\frac{{{}}}{{{long}}}", matrix(40, "5")),
        format!(r"\det{}", matrix(4, &joined(0..400, "+", |n| format!("x_{{{n}}}")))),
        format!("{}^{{-1}}", matrix(4, &joined(0..200, "+", |n| format!("x_{{{n}}}")))),
        nested(r"\det(", ")", 30).replace('1', &four),
        format!("{}{four}{}", "(".repeat(20), r")^{9}".repeat(20)),
        format!(
            r"\begin{{pmatrix}}{column}\end{{pmatrix}}^T\begin{{pmatrix}}{column}\end{{pmatrix}}"
        ),
        format!(
            r"\begin{{pmatrix}}{column}\end{{pmatrix}}\begin{{pmatrix}}{column}\end{{pmatrix}}^T"
        ),
        vec![format!(r"\det{four}"); 300].join(", "),
        vec![matrix(100, "1"); 2].concat(),
    ]
}

/// Derivatives and limits that grow with each rule, and derivations of many rows.
pub(crate) fn calculus() -> Vec<String> {
    let product = joined(1..200, "", |n| format!(r"\sin(x^{{{n}}})"));
    let tower = nested(r"\sin(x\cdot ", ")", 28);
    vec![
        format!(r"\frac{{d}}{{dx}}({product})"),
        format!(r"{}({}){}", r"\frac{d}{dx}(".repeat(12), "x^x", ")".repeat(12)),
        format!(r"\lim_{{x\to 0}}\frac{{{product}}}{{{product}}}"),
        format!(r"\lim_{{x\to 0}}\frac{{{tower}}}{{{tower}}}"),
        format!(r"\lim_{{x\to\infty}}\left(1+{tower}\right)^{{x^9}}"),
        joined(0..300, "+", |n| format!(r"\lim_{{x\to 0}}\frac{{\sin {n}x}}{{x}}")),
        joined(0..2000, ", ", |n| format!("x_{n} = {n}")),
        joined(0..32, r"\\", |n| format!("x_{{{n}}} = {}", joined(0..40, "+", |k| k.to_string()))),
        joined(0..2000, r"\Rightarrow ", |n| format!("x = {n}")),
        format!(
            r"\begin{{aligned}}{}\end{{aligned}}",
            joined(0..31, r"\\", |n| format!("x^{n}&=(x+y)^{{99}}"))
        ),
    ]
}

/// Logic, cycles, special functions, sums in sums, steps and prose of many parts.
pub(crate) fn statements() -> Vec<String> {
    let sums = joined(0..40, " ", |n| format!(r"\sum_{{k_{{{n}}}=2}}^{{9}}"));
    let sentences =
        joined(0..500, " ", |n| format!("It is smaller than {n}, not twice {n} (or so)."));
    vec![
        format!("P({}A{})", "{".repeat(8000), "}".repeat(8000)),
        format!("P({})", vec![r"A\cap B'"; 2000].join(r"\cup ")),
        vec![r"P(A\mid B)"; 2000].join("+"),
        nested(r"\neg(", ")", 4000).replace('1', "p"),
        joined(0..5000, r"\ ", |n| n.to_string()).replacen('0', "(0", 1) + ")",
        r"\zeta(10^{100000})".to_owned(),
        format!(r"\Gamma({}.5)", "9".repeat(5000)),
        r"\Gamma(10^{20})".to_owned(),
        format!("{sums} k_{{0}}"),
        vec![format!("{sums} k_{{1}}"); 20].join("+"),
        format!(r"\Theta({})", nested(r"\log(", ")", 60).replace('1', "n")),
        joined(0..2000, r"\Rightarrow ", |n| format!("x_{{{n}}}=10+10=20")),
        joined(0..32, r",\quad ", |n| format!("x_{{{n}}}=400+{n}={}", 400 + n)),
        format!(r"x\ge 2{}", r"\text{ equality iff }x=1".repeat(1000)),
        format!("{sentences} So there are {} of them.", "four and ".repeat(400)),
        vec!["twenty-one"; 3000].join(" "),
        format!("{{\"answer\": {}", "[\"1\",".repeat(4000)),
        r"25\,\frac{\text m}{\text s}".repeat(1500),
        r"\text{Since }a,\text{ b, so the c d }e\text{ is }".repeat(900) + "f",
        format!(r"{}=1=1", r"\mid\text{so } x=1; y=2=2, ".repeat(1200)),
        format!(r"{}x=1", r"x=2\text{ (rejected)}, ".repeat(1200)),
        format!("{}{}", "(A".repeat(60), "B)^{-1}".repeat(60)),
        format!("{} = 1", vec!["(AB)^{-1}"; 3000].join("")),
        format!("5 {}", "J/(kg*K)".repeat(3000)),
        format!(
            r"{}, \varphi=\sqrt{{{}}}",
            vec![r"\varphi"; 4000].join("+"),
            "2+".repeat(4000) + "1"
        ),
        format!(r"{}, \varphi=\sqrt{{{}}}", vec![r"\varphi"; 80].join("+"), "2+".repeat(80) + "1"),
        format!(
            r"\operatorname{{span}}\{{{}\}}",
            vec![format!("({}1)", "2147483647/3,".repeat(15)); 16].join(",")
        ),
        format!(r"\operatorname{{span}}\{{({}1)\}}", format!("{}/7,", "9".repeat(2000)).repeat(15)),
        format!(
            r"\{{{}\}}\times\{{{}\}}",
            joined(0..64, ",", |n| n.to_string()),
            nested("(", ")", 60)
        ),
        vec![format!(r"\{{{}\}}", joined(0..8, ",", |n| n.to_string())); 8].join(r"\times"),
        format!("[1; {}2]", "2, ".repeat(3000)),
        "[1; 0, 0, 0]".to_owned(),
        format!(r"5{}, 6", r"\checkmark".repeat(2900)),
        format!(r"[999999999; \overline{{{}}}]", ["999999999"; 6].join(",")),
        format!(r"{}\overline{{A}}", r"\overline{A}+".repeat(2000)),
        format!("{} A", "~A & B | ".repeat(2000)),
        format!("{}Zoe: 1", "Ana: 12, Ben: 15, ".repeat(1500)),
        format!(
            r"\begin{{pmatrix}}{}\\{}\end{{pmatrix}}",
            joined(1..2000, "&", |n| n.to_string()),
            joined(1..2000, "&", |n| (2000 - n).to_string())
        ),
        format!(r"\text{{largest}}=3,\quad {}2=2 \checkmark", "1+1=2, ".repeat(3000)),
        format!(r"\text{{Area}}=\text{{base}}{}=12", r"\times\text{height}=3".repeat(1500)),
    ]
}

/// Values behind steps, places, restatements and roundings.
pub(crate) fn values() -> Vec<String> {
    vec![
        r"so $x$ at $1$ ".repeat(2000),
        "½ ".repeat(4000) + "cups",
        "1 OR ".repeat(4000) + "2",
        r"1\text{, i.e. }".repeat(1000) + "1",
        format!(r"({}y)=(\pm1,\pm2,\pm3,\pm4)", "x,".repeat(3000)),
        format!(r"{}y+z=3", r"y=1,\ z=2,\ ".repeat(600)),
        format!(r"x=1\implies {}x=3", "x+".repeat(3000)),
        format!(r"\angle {}=3", "A_{1}".repeat(1500)),
        r"{}^\circ\mathbf{1\ m}\,{\rm s}".repeat(300),
        format!("x = {}7π − 3 ≈ 2.8", "1 + ".repeat(2000)),
        format!(r"a=\frac{{1}}{{3}}{}\approx 33.3\%", "=0.33".repeat(1500)),
        format!(r"x=1\approx 2\times 10^{{{}}}", i64::MIN),
        format!("101_{{{}}}", i32::MIN),
        format!(r"\{{n \in \mathbb{{Z}} : {0} < n < {0}.5\}}", i64::MAX),
        format!(r"\sum_{{n={}}}^{{\infty}} \frac{{1}}{{n^2 + 1}}", i64::MIN),
        format!(r"\sum_{{n={}}}^{{\infty}} \frac{{1}}{{n^2}}", i64::MAX),
        format!(r"\sum_{{n={}}}^{{\infty}} x^n = 1 + x + x^2 + \cdots", i64::MAX),
    ]
}

/// Powers, factorials, sums and polynomials whose values are far too large.
#[expect(clippy::too_many_lines, reason = "one list")]
pub(crate) fn towers() -> Vec<String> {
    [
        "9^{9^{9^9}}",
        "9^9^9^9^9",
        "9**9**9**9",
        "10^{10^{10}}+1",
        "9^{-9^{9^9}}",
        r"\sqrt{9^{9^9}}",
        r"\ln(9^{9^{9^9}})",
        r"\sin(9^{9^{9^9}})",
        "e^{e^{e^{e^{10}}}}",
        r"9^{9^{9^{9}}} \bmod 10",
        r"\lfloor 9^{9^9}/2\rfloor",
        "1000000000!",
        "10000!",
        "(10!)!",
        "10^9!!",
        "20000!!",
        r"\binom{1000000000}{500000000}",
        r"\binom{20000}{10000}",
        r"\binom{n}{16}\binom{m}{16}\binom{k}{16}",
        r"\sum_{k=1}^{10^{12}}\frac1k",
        r"\sum_{k=1}^{10000}\frac1k",
        r"\sum_{i=1}^{100}\sum_{j=1}^{100}\sum_{k=1}^{100} ijk",
        r"\sum_{k=0}^{9223372036854775807} 2^k",
        r"\sum_{k=0}^{9223372036854775806} 1^{3k}",
        r"\sum_{k=0}^{10^9} (\frac23)^{k-10^9}",
        r"\sum_{k=1}^{500} \frac{k^k}{7^k+1}",
        r"1+2+2^2+\cdots+2^{n!^{n!}}",
        r"(x+1)^{99}+(x+2)^{99}+\cdots+(x+n)^{99}",
        r"\prod_{k=1}^{10000}(1+\frac1k)",
        r"\sum_{k=1}^{9999}\sin k",
        r"\sum_{k=1}^{1,234} \ln(½)",
        "(x+y)^{1000000}",
        "(x+1)^{10^{100}}",
        "(x+y)^{5000}(x-y)^{5000}",
        "(a+b+c+d+e+f)^{60}",
        r"(\sqrt{x}+\sqrt{y}+\sqrt z+1)^{40}",
        r"(\sin x+\cos x+\tan x)^{30}",
        r"(\frac1{x}+\frac1{y+1}+\frac{1}{z+2})^{25}",
        "(x+y+z)^{n+m+k+5}",
        r"\sin(1000000000x)",
        r"\sin(\sin(\sin(\sin(x+y+z+w)+x)+y)+z)",
        r"\sqrt[1000000]{2}",
        r"\sqrt[-7^{1e9}]{2}",
        "e^{7^{-10^9}}",
        r"\sin(7^{-10^9})",
        r"\cos(7^{-10^9})",
        r"\arctan(7^{-10^9})",
        r"\arcsin(7^{-10^9})",
        r"\tanh(7^{-10^9})",
        r"\ln(1+7^{-10^9})",
        r"\sqrt{1+7^{-10^9}}",
        r"\sqrt[3]{7^{-10^9}}",
        r"\sqrt[999]{2}+\sqrt[997]{3}",
        r"2^{\frac{1}{999983}}",
        r"2^{123456789/987654321}",
        "(1+i)^{100000}",
        r"i^{i^{i^{i}}}",
        r"\tanh(\sinh(\cosh(\sinh(3))))",
        "1e999999999",
        "1e-999",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Brackets within brackets.
pub(crate) fn nests() -> Vec<String> {
    let mut nests = Vec::new();
    for (open, close) in [
        ("(", ")"),
        ("{", "}"),
        ("[", "]"),
        (r"\frac{1}{1+", "}"),
        (r"\sqrt{", "}"),
        (r"\sqrt{2+", "}"),
        (r"\sqrt[3]{2+", "}"),
        (r"\left(", r"\right)"),
        (r"\{1,", r"\}"),
        ("(1,", ")"),
        ("x^{", "}"),
        ("x_{", "}"),
        ("|x+", "|"),
        (r"\boxed{", "}"),
        (r"\text{", "}"),
        (r"\sin(", ")"),
        (r"\ln(", ")"),
        (r"\{x|", r"\}"),
        (r"{1\choose ", "}"),
        (r"\begin{pmatrix}", r"\end{pmatrix}"),
        // Readings that are tried and undone.
        (r"1\frac{x+", "}{2}"),
        (r"\{", r",y\mid z>2\}"),
        (r"\begin{cases}x=", r"\end{cases}"),
        (r"\begin{cases}", r"\\ 2\end{cases}"),
    ] {
        nests.extend([20, 60, 2000, 100_000].map(|count| nested(open, close, count)));
    }
    nests.push(nested("{", "}", 500_000));
    nests
        .extend(["(", "[", "{", r"\sin(", r"\frac", "^", "-", "|"].map(|open| open.repeat(30_000)));
    nests
}

/// Long numbers, sums and lists.
#[expect(clippy::too_many_lines, reason = "one list")]
pub(crate) fn lengths() -> Vec<String> {
    let sevens = "7".repeat(4000);
    vec![
        "1".repeat(100_000),
        sevens.clone(),
        format!(r"\sqrt{{{sevens}}}"),
        format!(r"\sqrt[3]{{{sevens}}}"),
        format!(r"\ln {sevens}"),
        format!(r"\sin({sevens})"),
        format!("{sevens}^{{100}}"),
        format!(r"\frac{{{sevens}}}{{{}}}", "3".repeat(4000)),
        format!("{}!", "7".repeat(40)),
        format!("0.{}", "3".repeat(15_000)),
        format!(r"0.\overline{{{}}}", "142857".repeat(600)),
        format!("0.{}...", "123456789012".repeat(300)),
        "1+".repeat(8000) + "1",
        "2*".repeat(8000) + "1",
        "1/".repeat(8000) + "1",
        r"1\pm".repeat(2000) + "1",
        r"\frac{1}{2}\frac{1}{3}".repeat(1000),
        joined(2..200, "+", |k| format!(r"\sqrt{{{k}}}")),
        joined(2..14, "*", |k| format!(r"(1+\sqrt{{{}}})", 2 * k + 1)),
        format!(r"\frac{{1}}{{{}}}", joined(2..19, "+", |k| format!(r"\sqrt{{{k}}}"))),
        joined(2..800, "+", |k| format!(r"\ln {k}")),
        joined(1..300, "+", |k| format!(r"\arctan\frac1{{{k}}}")),
        "1,".repeat(100_000),
        joined(0..2000, ",", |k| format!("(1,2,3,4,{k})")) + r"\text{ and permutations}",
        joined(0..3000, ",", |k| format!("{k}k")) + ", k=1,2,\\ldots,60",
        format!(r"\{{({}k):1\le k\le 60\}}", "k,".repeat(4000)),
        joined(1..4000, "+", |k| k.to_string()) + r"+\cdots+9999",
        joined(1..4000, r"\cdot", |k| k.to_string()) + r"\cdots n",
        joined(1..3000, ",", |k| k.to_string()) + r"\pmod{4001}",
        joined(1..2000, "=", |k| format!("{k}x")),
        joined(1..2000, "+", |k| format!("(1,{k})")),
        format!("{}n", "f(x)=a,b,c,d,".repeat(2000)),
        "1,".repeat(15_000) + "1",
        format!(r"({}2,\pm2)", "1,".repeat(2800)),
        format!(r"({}\pm2)", "1,".repeat(2000)),
        format!(r"({}\pm1,\pm2,\pm3,\pm4)", "1,".repeat(250)),
        format!(r"({}\pm1,\pm2,\pm3,\pm4)", "1,".repeat(12_000)),
        joined(0..3000, ",", |k| k.to_string()),
        joined(0..2500, ",", |k| format!("x_{{{k}}}")),
        joined(2..1500, ",", |k| format!(r"\sqrt{{{k}}}")),
        joined(2..1500, ",", |k| format!(r"\sin {k}")),
        joined(0..2000, ",", |k| format!("x={k}")),
        joined(0..2000, ",", |k| format!("x>{k}")),
        format!("({})", joined(0..5000, ",", |k| k.to_string())),
        joined(0..500, r"\cup", |k| format!("({},{})", 2 * k, 2 * k + 1)),
        joined(1..60, r"\cup", |k| format!(r"(\sqrt{{{}}},\sqrt{{{}}})", 2 * k, 2 * k + 1)),
        joined(0..2000, "<", |k| format!("x_{{{k}}}")),
        vec!["1"; 8000].join("="),
        joined(1..4000, ":", |k| k.to_string()),
        matrix(60, "1"),
        matrix(100, "x"),
        "1 or ".repeat(6000) + "1",
        r"\text{By the law, }".repeat(1500) + "x=1=1",
        "x<2 or ".repeat(4000) + "x>3",
        r"\prod_{n=1}^{3000}\frac{n+\sqrt2}{n+\sqrt3}=".repeat(300) + "7",
        "1".repeat(4000) + "_2",
        "6".repeat(1024) + "_7",
        format!("0.{}_3", "2".repeat(1022)),
        joined(0..8, ",", |k| format!("{k}{}_{{8}}", "7".repeat(1000))),
        joined(0..30, ",", |k| format!("0.{k}{}_{{36}}", "1".repeat(1000))),
        format!("({})_{{-4}}", "3".repeat(1024)),
    ]
}

/// Long texts for the extraction.
pub(crate) fn texts() -> Vec<String> {
    [
        "a",
        "ab ",
        "no ",
        " ",
        "\n",
        "$",
        "$x$ and ",
        "#### ",
        "**",
        "\"",
        "\\",
        "&",
        "½",
        "１",
        "²",
        "<sup>",
        "答案",
        "answer is ",
        "B is correct ",
        r"\boxed{",
        r"\boxed{1}",
        r"$\boxed{\blacksquare}$",
        "\n\nProblem 2: 3.",
        "i.e. 4. ",
        "<answer>",
    ]
    .iter()
    .map(|piece| piece.repeat(1_000_000 / piece.len()) + "5")
    .collect()
}
