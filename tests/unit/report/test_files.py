"""Files that are written: a bad place is known before the work, and nothing is left behind by asking."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from isonomia.errors import UsageError
from isonomia.report.files import need_writable, write_file, write_table
from raising import raises


def test_asking_whether_a_file_can_be_written_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text("earlier")
    need_writable(tmp_path / "kept.json", "--json")
    need_writable(tmp_path / "new.json", "--json")
    assert (tmp_path / "kept.json").read_text() == "earlier"
    assert not (tmp_path / "new.json").exists()


@contextmanager
def _full_disk(size: int) -> Iterator[None]:
    """No file can be made larger than so many bytes: the system refuses it as it does where the disk is full."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("report.html", lambda path: write_file("new" * 100_000, path, "the report")),
        ("people.csv", lambda path: write_table({"x": range(100_000)}, path)),
        ("people.parquet", lambda path: write_table({"x": range(100_000)}, path)),
    ],
)
def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    name: str, write: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text("earlier")
    with _full_disk(10_000), pytest.raises(UsageError, match="expected a file that can be written for"):
        write(path)
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]
    write(path)
    assert path.stat().st_size > 100_000


@pytest.mark.skipif(os.name == "nt", reason="links and permissions are others there")
def test_a_file_that_is_written_anew_keeps_its_permissions_and_the_links_to_it(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("earlier")
    (tmp_path / "report.html").chmod(0o640)
    (tmp_path / "latest.html").symlink_to("report.html")
    write_file("new", tmp_path / "latest.html", "the report")
    assert (tmp_path / "latest.html").is_symlink()
    assert (tmp_path / "report.html").read_text() == "new"
    assert (tmp_path / "report.html").stat().st_mode & 0o777 == 0o640


def test_what_is_not_a_file_is_written_to_as_it_is(tmp_path: Path) -> None:
    need_writable(Path(os.devnull), "--json")
    write_file("text", Path(os.devnull), "--json")
    assert not Path(os.devnull).is_file()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        write_file("text", tmp_path / "pipe", "--json")
        assert os.read(reader, 10) == b"text"
        os.close(reader)


def test_a_name_as_long_as_the_system_allows_can_be_written(tmp_path: Path) -> None:
    write_file("text", tmp_path / ("a" * 250 + ".txt"), "the report")
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(UsageError, match=r"expected a file that can be written for the report, but .*too long"):
        write_file("text", tmp_path / ("a" * 300), "the report")


def test_a_place_that_cannot_be_written_is_told_with_what_it_was_for(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere" / "x.json", tmp_path):
        with raises(UsageError, "--json"):
            need_writable(path, "--json")
        with pytest.raises(UsageError, match="expected a file that can be written for the report, but "):
            write_file("text", path, "the report")


def test_a_text_is_written_the_same_on_every_system(tmp_path: Path) -> None:
    write_file("é\n\ud800\n", tmp_path / "x.txt", "the report")
    assert (tmp_path / "x.txt").read_bytes() == "é\n?\n".encode()
