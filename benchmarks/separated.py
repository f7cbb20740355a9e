"""What reading CSV takes, next to DuckDB, pyarrow and pandas, and what each of them makes of files that are wrong.

    python -m benchmarks.separated [--rows 1000000 5000000] [--json benchmarks/results/separated.json]

The file of ``benchmarks.measure`` is read in a fresh process for each way: processor time, with the imports taken off,
and the most memory. Then a few rows of files that are wrong are read by every reader, each as strict as it can be.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import write

NAMES = ("group", "sex", "score", "decision", "outcome")


def held(file: str) -> Any:
    """All rows in memory."""
    from isonomia.populations import read_table

    return read_table(file)


def once(file: str) -> Any:
    """A table that is read as it goes: one pass, which finds the types."""
    from isonomia.populations.files import long_files

    return long_files(file.replace("people", "peopl?"))


def counted(file: str) -> Any:
    """The same, and a table by group."""
    import narwhals as nw

    return once(file).frame(["group", "decision"]).group_by("group").agg(nw.col("decision").sum()).collect()


def duckdb_counts(file: str, **options: Any) -> Any:
    """DuckDB, which looks at the first 20,480 rows to find the types."""
    import duckdb

    connection = duckdb.connect()
    return connection.read_csv(file, **options).aggregate('"group", sum(decision)', '"group"').fetchall()


def duckdb_text(file: str) -> Any:
    """DuckDB without guesses: all cells as text, in one thread, strict."""
    import duckdb

    counts = ", ".join(f'count("{name}")' for name in NAMES)
    return duckdb.connect().sql(f"SELECT {counts} FROM {strict(file, NAMES)}").fetchall()


def strict(file: str, names: Any) -> str:
    """DuckDB's reader, as strict as it can be."""
    columns = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
    return (
        f"read_csv('{file}', auto_detect=false, header=true, delim=',', quote='\"', escape='\"', nullstr='', "
        f"parallel=false, strict_mode=true, null_padding=false, columns={{{columns}}})"
    )


def pyarrow_all(file: str) -> Any:
    """The reader of pyarrow, in its own threads."""
    import pyarrow.csv

    return pyarrow.csv.read_csv(file)


def pandas_all(file: str) -> Any:
    """The reader of pandas."""
    import pandas as pd

    return pd.read_csv(file)


WAYS = {
    "Isonomia, held": held,
    "Isonomia, types of all cells": once,
    "Isonomia, types and counts by group": counted,
    "DuckDB, counts by group": duckdb_counts,
    "DuckDB, cells as text, strict": duckdb_text,
    "pyarrow": pyarrow_all,
    "pandas": pandas_all,
}

WRONG = {  # what is wrong, and the rows that the file has, if any
    "a quotation mark left open at row 250,001 of 500,001": b"a,b\n"
    + b"1,x\n" * 250_000
    + b'2,"y\n'
    + b"3,z\n" * 250_000,
    "text behind a quotation mark": b'a,b\n1,"5" pipe\n2,y\n',
    "a cell too many, empty": b"a,b\n1,x,\n2,y,\n",
    "blanks around quotation marks": b'a,b\n1, "x"\n2,"y" \n',
    "line ends of two kinds": b"a,b\n1,x\r\n2,y\n",
    "2.5 after 30,000 whole numbers": b"a,b\n" + b"1,2\n" * 30_000 + b"1,2.5\n",
    "01234 after 30,000 numbers": b"a,b\n" + b"1,2\n" * 30_000 + b"1,01234\n",
}


def found_in(content: bytes) -> dict[str, str]:
    """What each reader makes of a file: its rows, and its last one."""
    import duckdb

    def ours(file: str) -> Any:
        table = held(file)
        return table.rows, tuple(table.row(table.rows - 1).values())

    def of_duckdb(source: str) -> Any:
        rows = duckdb.connect().sql(f"SELECT * FROM {source}").fetchall()
        return len(rows), rows[-1] if rows else ()

    def of_arrow(file: str) -> Any:
        table = pyarrow_all(file)
        return table.num_rows, tuple(table[-1:].to_pylist()[0].values())

    readers = {
        "Isonomia": ours,
        "DuckDB": lambda file: of_duckdb(f"read_csv('{file}')"),
        "DuckDB, strict": lambda file: of_duckdb(strict(file, "ab")),
        "pyarrow": of_arrow,
    }
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "wrong.csv"
        file.write_bytes(content)
        for name, read in readers.items():
            try:
                rows, last = read(str(file))
                made[name] = f"{rows:,} rows, {last!r:.30}"
            except Exception as error:  # each has errors of its own
                made[name] = f"refused: {type(error).__name__}"
    return made


def measured(file: str, way: str) -> dict[str, Any]:
    """Read a file in this process, and say what it took."""
    import duckdb  # noqa: F401
    import pandas as pd  # noqa: F401
    import pyarrow.csv  # noqa: F401

    import isonomia.populations.text_files  # noqa: F401

    began = time.process_time()
    WAYS[way](file)
    taken = time.process_time() - began
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return {"way": way, "cpu_seconds": taken, "peak_mib": int(line.split()[1]) / 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 5_000_000])
    arguments = parser.parse_args()
    times: list[dict[str, Any]] = []
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), rows)
            file = str(Path(folder) / "people.csv")
            for way in WAYS:
                program = (
                    f"import json; from benchmarks.separated import *; print(json.dumps(measured({file!r}, {way!r})))"
                )
                done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
                times.append({"rows": rows, **json.loads(done.stdout[done.stdout.rindex("{") :])})  # DuckDB draws above
        peer = next(item for item in times if item["rows"] == rows and item["way"] == "DuckDB, cells as text, strict")
        for item in (item for item in times if item["rows"] == rows):
            ratio = item["cpu_seconds"] / peer["cpu_seconds"]
            said = f"{item['cpu_seconds']:>7.2f} s {ratio:>6.1f} times DuckDB {item['peak_mib']:>6.0f} MiB"
            print(f"{rows:>10,} rows  {item['way']:38} {said}")
    wrong = {what: found_in(content) for what, content in WRONG.items()}
    for what, made in wrong.items():
        print(what, *(f"    {name:16} {text}" for name, text in made.items()), sep="\n")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"times": times, "wrong": wrong}, indent=2) + "\n")


if __name__ == "__main__":
    main()
