"""Opens what each extra is for: a table, a model file, a service, workers. Run by ``benchmarks.floors``.

Run: python -m benchmarks.floor_loaders NAME, in a folder for its files. Exit code 0 where it works.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
from sklearn.linear_model import LogisticRegression

import isonomia as iso
from isonomia.models import load_model

X = np.random.default_rng(0).normal(size=(400, 2))
Y = (X[:, 0] > 0).astype(int)
COLUMNS = {"a": X[:, 0], "b": X[:, 1]}
HALF = "P[a > 0] >= 0.3"


def _approves(model: Any, **options: Any) -> None:
    """A model of whether ``a`` is positive keeps what is claimed of those for whom it clearly is."""
    verdict = iso.check("P[prediction > 0.5 | a > 0.5] >= 0.8", model, iso.Census(COLUMNS), seed=1, **options)
    assert verdict.answer == "holds", verdict


def _counted(table: Any) -> None:
    assert iso.check(HALF, population=iso.Census(table), seed=1).answer == "holds"


def pandas() -> None:
    from pandas import DataFrame

    _counted(DataFrame(COLUMNS))


def polars() -> None:
    from polars import DataFrame

    _counted(DataFrame(COLUMNS))
    _counted(DataFrame(COLUMNS).lazy())


def arrow() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    _counted(pa.table(COLUMNS))
    pq.write_table(pa.table(COLUMNS), "people.parquet")
    _counted("people.parquet")


def duckdb() -> None:
    import duckdb as database
    import pyarrow as pa

    _counted(database.from_arrow(pa.table(COLUMNS)))


def onnx() -> None:
    from onnx import TensorProto, helper, numpy_helper

    weights = numpy_helper.from_array(np.array([[9.0], [0.0]], np.float32), "w")
    shapes = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, n]) for name, n in (("x", 2), ("y", 1))]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Sigmoid", ["z"], ["y"])]
    graph = helper.make_graph(nodes, "g", shapes[:1], shapes[1:], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    Path("m.onnx").write_bytes(model.SerializeToString())
    _approves(load_model("m.onnx"))


def skops() -> None:
    from skops.io import dump

    dump(LogisticRegression().fit(X, Y), "m.skops")
    _approves(load_model("m.skops"))


def xgboost() -> None:
    from xgboost import DMatrix, train

    booster = train({"objective": "binary:logistic"}, DMatrix(X, Y), 5)
    for name in ("m.json", "m.ubj"):
        booster.save_model(name)
        _approves(load_model(name, features=["a", "b"]))


def lightgbm() -> None:
    from lightgbm import Dataset, train

    train({"objective": "binary", "verbose": -1}, Dataset(X, Y), 20).save_model("m.txt")
    _approves(load_model("m.txt", features=["a", "b"]))


def mlflow() -> None:
    from mlflow.sklearn import save_model

    save_model(LogisticRegression().fit(X, Y), "folder", serialization_format="cloudpickle", pip_requirements=[])
    _approves(load_model("folder", trust_pickle=True))
    _approves(load_model("folder", trust_pickle=True, flavour="python_function"))


def http() -> None:
    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["instances"]
            body = json.dumps({"predictions": [int(row["a"] > 0) for row in rows]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answers)
    Thread(target=server.serve_forever, daemon=True).start()
    _approves(load_model(f"http://127.0.0.1:{server.server_port}/", features=["a", "b"]))
    server.shutdown()


def app() -> None:
    import uvicorn

    from isonomia.app.server import application

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    port = listener.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(application(Path.cwd(), "token", port), log_level="error"))
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        request = Request(f"http://127.0.0.1:{port}/", headers={"Cookie": "isonomia=token"})
        with urlopen(request) as page:
            assert b"Tables in this folder" in page.read()
    finally:
        server.should_exit = True
        thread.join()


def postgres() -> None:
    from psycopg import pq

    assert pq.version() >= 180004, pq.version()  # libpq before can be made to write beyond its buffers by a server


def dask() -> None:
    _approves(LogisticRegression().fit(X, Y), executor="dask:2")


def ray() -> None:
    _approves(LogisticRegression().fit(X, Y), executor="ray:2")


EXTRAS: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (pandas, polars, arrow, duckdb, onnx, skops, xgboost, lightgbm, mlflow, http, app, postgres, dask, ray)
}


if __name__ == "__main__":
    EXTRAS[sys.argv[1]]()
