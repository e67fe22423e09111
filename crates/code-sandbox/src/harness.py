# Runs on standard input: {"token", "kind", "tests" | "function" + "calls"}; the program lies in program.py.
# Says on standard output, after the token, how each test went. What was expected of a call is not here.
import os, sys

os.closerange(3, 4096)


def _main():
    import json, types

    job = json.loads(sys.stdin.buffer.read())
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)

    def say(**found):
        out.write(job["token"] + json.dumps(found) + "\n")
        out.flush()

    def words(error):
        try:
            text = str(error)
        except BaseException:
            text = ""
        return (type(error).__name__ + (": " + text if text else ""))[:400]

    with open("program.py", encoding="utf-8") as file:
        source = file.read()
    module = types.ModuleType("solution")
    sys.modules["solution"] = module
    scope = module.__dict__
    try:
        exec(compile(source, "program.py", "exec"), scope)
    except BaseException as error:
        say(broken=words(error))
        os._exit(0)
    if job["kind"] == "statements":
        for number, test in enumerate(job["tests"], 1):
            try:
                before = dict(scope)
                exec(compile(test, "test %d" % number, "exec"), scope)
                for name, function in list(scope.items()):
                    if name.startswith("test_") and callable(function):
                        if before.get(name) is not function:
                            function()
            except BaseException as error:
                say(failed=words(error))
                os._exit(0)
            say(passed=number)
        os._exit(0)
    function = scope.get(job["function"])
    if function is None and "Solution" in scope:
        function = getattr(scope["Solution"](), job["function"], None)
    if not callable(function):
        say(broken="no function " + job["function"])
        os._exit(0)
    for arguments in job["calls"]:
        try:
            result = function(*arguments)
            say(result=result)
        except BaseException as error:
            say(failed=words(error))
            os._exit(0)
    os._exit(0)


_main()
