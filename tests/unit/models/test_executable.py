from __future__ import annotations

import gc
import os
import pickle
import sys
import time
from threading import Thread

import numpy as np
import pytest

from isonomia.errors import ModelError, UnreliableModelError, UsageError
from isonomia.models import ask
from isonomia.models.executable import ExecutableModel
from isonomia.populations import Table
from raising import raises

TABLE = Table.of({"x": [1.5, -2.0, 0.25], "name": ["a, b", 'say "hi"', None], "old": [True, False, True]})
LINES = "import csv, sys\nfor row in csv.DictReader(sys.stdin):\n    print({}, flush=True)\n"


@pytest.fixture
def program(tmp_path):
    def make(code, **options):
        (tmp_path / "score.py").write_text(code)
        return ExecutableModel([sys.executable, "-u", "score.py"], folder=tmp_path, **options)

    return make


def predicted(model, table=TABLE):
    try:
        return ask(model, table, False, True).prediction.tolist()
    finally:
        model.close()


@pytest.mark.parametrize("keep_alive", [False, True])
def test_rows_arrive_as_csv_with_names_and_missing_values_empty(program, keep_alive):
    model = program(LINES.format("row['x'] + '|' + row['name'] + '|' + row['old']"), keep_alive=keep_alive)
    assert predicted(model) == ["1.5|a, b|true", '-2.0|say "hi"|false', "0.25||true"]


@pytest.mark.parametrize("keep_alive", [False, True])
def test_rows_arrive_as_json_lines(program, keep_alive):
    code = "import json, sys\nfor line in sys.stdin:\n    row = json.loads(line)\n"
    code += "    print(repr(row['name']) + str(row['old']), flush=True)\n"
    assert predicted(program(code, format="jsonl", keep_alive=keep_alive)) == [
        "'a, b'True",
        "'say \"hi\"'False",
        "NoneTrue",
    ]


@pytest.mark.parametrize(
    ("said", "classes", "values"),
    [
        ("1", (), [1]),
        ("1.0", (), [1.0]),
        ("yes", (), ["yes"]),
        ("True", (), [True]),
        ("1", ("0", "1"), ["1"]),
        ("1", (2, 3), None),
        ("-3", (), [-3]),
        ("007", (), ["007"]),
        ("1e3", (), [1000.0]),
        ("zwölf Prozent", (), ["zwölf Prozent"]),
    ],
)
def test_a_line_is_a_class_a_number_or_text_by_itself(program, said, classes, values):
    model = program(f"import sys\nsys.stdout.reconfigure(encoding='utf-8')\nprint({said!r})\n", classes=classes)
    one = TABLE.slice(0, 1)
    if values is None:
        with raises(ModelError, (2, 3), 0, 1):
            predicted(model, one)
        return
    found = predicted(model, one)
    assert found == values
    assert type(found[0]) is type(values[0])


@pytest.mark.parametrize(("said", "shown"), [("inf", "inf"), ("-Infinity", "-inf"), ("nan", "None"), ("1e999", "inf")])
def test_what_is_no_finite_number_is_refused_and_not_taken_for_a_word(program, said, shown):
    with raises(ModelError, 0, shown):
        predicted(program(f"print({said!r})\n"), TABLE.slice(0, 1))


@pytest.mark.parametrize("keep_alive", [False, True])
def test_predictions_and_scores_of_classes_come_as_csv(program, keep_alive):
    code = "import sys\nsys.stdin.readline()\nprint('prediction,score[no],score[yes]', flush=True)\n"
    code += "for line in sys.stdin: print('yes,0.25,0.75', flush=True)\n"
    model = program(code, answers="csv", keep_alive=keep_alive)
    for _ in range(2):
        answer = ask(model, TABLE, True, True)
        assert answer.prediction.tolist() == ["yes"] * 3
        assert answer.score.tolist() == [[0.25, 0.75]] * 3
        assert answer.classes == ("no", "yes")
    model.close()


def test_predictions_and_scores_come_as_json_lines(program):
    code = 'import sys\nfor line in list(sys.stdin)[1:]: print(\'{"prediction": 1, "score": 0.5}\')\n'
    answer = ask(program(code, answers="jsonl"), TABLE, True, True)
    assert answer.prediction.tolist() == [1, 1, 1]
    assert answer.score.tolist() == [0.5, 0.5, 0.5]


CRASH = "import sys\nfor n, line in enumerate(sys.stdin):\n    if n: print('yes', flush=True)\n    if n == 2:\n"
CRASH += "        print('out of luck', file=sys.stderr)\n        {}\n"


@pytest.mark.parametrize("keep_alive", [False, True])
@pytest.mark.parametrize(("end", "told"), [("sys.exit(7)", 7), ("import os; os.kill(os.getpid(), 9)", "SIGKILL")])
def test_a_crash_half_way_is_told_with_the_exit_code_and_the_end_of_standard_error(program, keep_alive, end, told):
    with raises(ModelError, "score.py", told, 2, 3, "luck"):
        predicted(program(CRASH.format(end), keep_alive=keep_alive))


def test_a_kept_program_is_started_again_after_a_crash(program):
    code = "import os, sys\nsys.stdin.readline()\nfirst = not os.path.exists('been')\nopen('been', 'w').close()\n"
    code += "for n, line in enumerate(sys.stdin):\n    if first and n == 1: sys.exit(3)\n"
    code += "    print(os.getpid(), flush=True)\n"
    model = program(code, keep_alive=True)
    with pytest.raises(ModelError, match="exit code 3 after 1 of 3 answers"):
        ask(model, TABLE, False, True)
    second, third = (ask(model, TABLE, False, True).prediction.tolist() for _ in range(2))
    model.close()
    assert second == third  # the same process


@pytest.mark.parametrize(
    ("code", "options", "message"),
    [
        ("print('yes')", {}, "expected 3 predictions at standard output, one for each row, but got 1"),
        ("print('yes\\n' * 4, end='')", {}, "but got 4"),
        ("", {}, "but got 0"),
        ("print('a,b')", {"answers": "csv"}, "expected columns prediction, score or score"),
        ("print('prediction\\n1,2')", {"answers": "csv"}, "expected 1 values on every line, but row 0 got"),
        ("print('{')", {"answers": "jsonl"}, "expected JSON on every line, but line 0 is '{'"),
        ("print('{}\\n' * 3, end='')", {"answers": "jsonl"}, "expected objects with prediction or score"),
        ("print('1\\n\\n0')", {}, "row 1 of the batch got"),
        ("print('1\\nnan\\n0')", {}, "row 1 of the batch got"),
        ("print('prediction,score\\n1,0.5\\n1,high\\n1,1')", {"answers": "csv"}, "row 1 got high"),
    ],
)
def test_what_are_no_answers_is_refused(program, code, options, message):
    with pytest.raises(ModelError, match=message):
        ask(program("import sys; sys.stdin.read()\n" + code, **options), TABLE, options.get("answers") == "csv", True)


@pytest.mark.parametrize("keep_alive", [False, True])
def test_a_program_that_takes_too_long_is_ended_with_its_children(program, tmp_path, keep_alive):
    code = "import subprocess, sys, time\n"
    code += "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    code += "open('child', 'w').write(str(child.pid))\ntime.sleep(60)\n"
    began = time.monotonic()
    with raises(ModelError, 3, 1.5):
        predicted(program(code, timeout=1.5, keep_alive=keep_alive))
    assert time.monotonic() - began < 55  # of 60
    child = int((tmp_path / "child").read_text())
    for _ in range(200):
        if not _alive(child):
            return
        time.sleep(0.05)
    pytest.fail("the child lives on")


def _alive(number):
    try:
        with open(f"/proc/{number}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
    except OSError:
        return os.path.exists(f"/proc/{number}")


@pytest.mark.parametrize("keep_alive", [False, True])
def test_a_large_batch_does_not_block(program, keep_alive):
    # Far more than a pipe holds, both ways, and a program that answers while it is still being written to.
    code = LINES.format("row['text'] * 4").replace(", flush=True", "")
    code = code.replace("for row", "sys.stdout.reconfigure(line_buffering=True)\nfor row")
    table = Table.of({"text": [f"{i:040d}" for i in range(20_000)]})
    model = program(code, keep_alive=keep_alive)
    assert predicted(model, table) == [f"{i:040d}" * 4 for i in range(20_000)]


def test_one_line_too_many_is_noticed_before_everything_is_off_by_one(program):
    code = (
        "import sys\nsys.stdin.readline()\nfor line in sys.stdin: print('yes', flush=True); print('no', flush=True)\n"
    )
    model = program(code, keep_alive=True)
    ask(model, TABLE.slice(0, 1), False, True)
    time.sleep(0.3)
    with raises(ModelError, repr(b"no\n")):
        ask(model, TABLE.slice(0, 1), False, True)
    model.close()


def test_threads_may_share_a_kept_program(program):
    model = program(LINES.format("row['x']"), keep_alive=True)
    found = {}

    def work(n):
        found[n] = ask(model, Table.of({"x": np.full(50, n)}), False, True).prediction.tolist()

    threads = [Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    model.close()
    assert found == {n: [n] * 50 for n in range(6)}


def test_nothing_goes_through_a_shell(tmp_path):
    trap = tmp_path / "trap"
    model = ExecutableModel(
        [sys.executable, "-c", "import sys; print(sys.argv[1])", f"; touch {trap}; $(touch {trap})"]
    )
    assert predicted(model, TABLE.slice(0, 1)) == [f"; touch {trap}; $(touch {trap})"]
    script = tmp_path / "a; touch trap; $(touch trap) `touch trap`.py"
    script.write_text("print(1)\n")
    assert predicted(ExecutableModel([sys.executable, script.name], folder=tmp_path), TABLE.slice(0, 1)) == [1]
    assert not trap.exists()
    with raises(UsageError, "score --fast", ("score", "--fast"), name="command"):
        ExecutableModel("score --fast")


def test_a_program_that_is_not_there_is_told(tmp_path):
    with raises(UnreliableModelError, "./none", cause=FileNotFoundError):
        predicted(ExecutableModel(["./none"], folder=tmp_path))


@pytest.mark.parametrize(
    ("name", "value", "shown", "meant"),
    [
        ("command", [], ["[]"], None),
        ("command", ["a", 1], [("a", 1)], None),
        ("format", "cvs", [("csv", "jsonl"), "cvs"], "csv"),
        ("answers", "xml", [("lines", "csv", "jsonl"), "xml"], None),
        ("timeout", 0, [0], None),
        ("timeout", float("inf"), [0, "inf"], None),
        ("keep_alive", "no", ["no"], None),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(name, value, shown, meant):
    with raises(UsageError, *shown, name=name, meant=meant):
        ExecutableModel(**{"command": ["score"], name: value})


def test_the_fingerprint_sees_the_program_file(program):
    first = program("print(1)")
    before = first.fingerprint()
    assert pickle.loads(pickle.dumps(first)).fingerprint() == before
    assert program("print(2)").fingerprint() != before
    assert program("print(1)", version="2").fingerprint() != before
    assert first.name == f"{os.path.basename(sys.executable)} score.py"


def test_a_kept_program_ends_when_the_model_is_forgotten(program):
    model = program(
        "import os, sys\nsys.stdin.readline()\nfor line in sys.stdin: print(os.getpid(), flush=True)\n", keep_alive=True
    )
    number = ask(model, TABLE, False, True).prediction[0]
    assert _alive(number)
    del model
    gc.collect()
    assert not _alive(number)


@pytest.mark.parametrize("keep_alive", [False, True])
def test_answers_that_are_not_utf_8_are_refused_and_not_made_alike(program, keep_alive):
    code = "import sys\nfor number, line in enumerate(sys.stdin):\n"
    code += "    number and sys.stdout.buffer.write(b'refus\\xe9\\n' if number % 2 else b'refus\\xe8\\n')\n"
    code += "    sys.stdout.flush()\n"
    with raises(ModelError, "UTF-8", 6, cause=UnicodeDecodeError):
        predicted(program(code, keep_alive=keep_alive))
