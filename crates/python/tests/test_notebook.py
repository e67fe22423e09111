"""The notebook runs from nothing and prints what it is kept with. UPDATE_DOCS=1 keeps what it prints and draws now."""

import os
import pathlib

import pytest

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")

NOTEBOOK = pathlib.Path(__file__).parents[1] / "examples" / "theory.ipynb"


def printed(notebook: dict) -> list[str]:
    """The text that each cell printed; libraries write notes of their own to stderr."""
    outputs = [cell.get("outputs", []) for cell in notebook["cells"]]
    return ["".join(out["text"] for out in cell if out.get("name") == "stdout") for cell in outputs]


def test_the_theory_holds_from_lemma_1_to_the_law(tmp_path: pathlib.Path) -> None:
    import nbformat

    kept = nbformat.read(NOTEBOOK, as_version=4)
    run = nbformat.read(NOTEBOOK, as_version=4)
    folder = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(run, timeout=300, record_timing=False, resources=folder).execute()
    if os.environ.get("UPDATE_DOCS"):
        # Of this machine's Python.
        run["metadata"] = kept["metadata"]
        for cell in run["cells"]:
            if "outputs" in cell:
                cell["outputs"] = [out for out in cell["outputs"] if out.get("name") != "stderr"]
        nbformat.write(run, NOTEBOOK)
    else:
        assert printed(run) == printed(kept)
    drawn = [out for cell in run["cells"] for out in cell.get("outputs", []) if out["output_type"] == "display_data"]
    assert len(drawn) == 4
