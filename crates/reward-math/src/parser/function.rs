//! Which commands and words name fractions, letters and functions.

pub(super) fn is_fraction(name: &str) -> bool {
    matches!(name, "frac" | "dfrac" | "tfrac" | "cfrac" | "nicefrac" | "sfrac" | "flatfrac")
}

/// Commands that begin a factor and are no function.
pub(super) fn starts_primary(name: &str) -> bool {
    is_fraction(name)
        || is_letter_command(name)
        || matches!(
            name,
            "sqrt" | "surd" | "cbrt" | "pi" | "binom" | "dbinom" | "tbinom" | "lfloor" | "lceil"
        )
        || matches!(
            name,
            "lvert"
                | "sum"
                | "prod"
                | "boxed"
                | "fbox"
                | "infty"
                | "overline"
                | "vec"
                | "bar"
                | "hat"
                | "mathbb"
                | "angle"
                | "triangle"
                | "det"
                | "root"
        )
}

pub(super) fn is_letter_command(name: &str) -> bool {
    const GREEK: &[&str] = &[
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "varepsilon",
        "zeta",
        "eta",
        "theta",
        "vartheta",
        "iota",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
        "rho",
        "sigma",
        "tau",
        "upsilon",
        "phi",
        "varphi",
        "chi",
        "psi",
        "omega",
        "Gamma",
        "Delta",
        "Theta",
        "Lambda",
        "Xi",
        "Pi",
        "Sigma",
        "Phi",
        "Psi",
        "Omega",
        "ell",
        "hbar",
        "emptyset",
        "varnothing",
    ];
    GREEK.contains(&name)
}

/// The canonical name of a known function.
pub(crate) fn function_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "sin" => "sin",
        "cos" => "cos",
        "tan" | "tg" => "tan",
        "cot" | "ctg" | "cotg" => "cot",
        "sec" => "sec",
        "csc" | "cosec" => "csc",
        "arcsin" | "asin" => "arcsin",
        "arccos" | "acos" => "arccos",
        "arctan" | "atan" | "arctg" => "arctan",
        "sinh" => "sinh",
        "cosh" => "cosh",
        "tanh" => "tanh",
        "cis" => "cis",
        "Re" => "Re",
        "Im" => "Im",
        "ln" => "ln",
        "log" | "lg" => "log",
        "coth" => "coth",
        "sech" => "sech",
        "csch" => "csch",
        "arccot" | "acot" | "arcctg" => "arccot",
        "arcsec" | "asec" => "arcsec",
        "arccsc" | "acsc" => "arccsc",
        "arsinh" | "asinh" | "arcsinh" => "arsinh",
        "arcosh" | "acosh" | "arccosh" => "arcosh",
        "artanh" | "atanh" | "arctanh" => "artanh",
        "floor" => "floor",
        "ceil" | "ceiling" => "ceil",
        "sgn" | "signum" => "sgn",
        "exp" => "exp",
        "abs" => "abs",
        "gcd" => "gcd",
        "lcm" => "lcm",
        "max" => "max",
        "min" => "min",
        _ => return None,
    })
}

pub(super) fn inverse_name(name: &str) -> Option<&'static str> {
    match name {
        "sin" => Some("arcsin"),
        "cos" => Some("arccos"),
        "tan" => Some("arctan"),
        "cot" => Some("arccot"),
        "sec" => Some("arcsec"),
        "csc" => Some("arccsc"),
        "sinh" => Some("arsinh"),
        "cosh" => Some("arcosh"),
        "tanh" => Some("artanh"),
        _ => None,
    }
}
