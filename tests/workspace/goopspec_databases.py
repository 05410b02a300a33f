"""Databases as GoopSpec 1.x keeps them: its tables, in the journal mode that it uses."""

import json
import sqlite3
from pathlib import Path

__all__ = ["make_database", "opened"]

_TABLES = """
    CREATE TABLE workflows (
        id TEXT PRIMARY KEY, state TEXT NOT NULL DEFAULT '{}', created_at INTEGER);
    CREATE TABLE waves (
        id INTEGER PRIMARY KEY AUTOINCREMENT, workflow_id TEXT NOT NULL,
        wave_number INTEGER NOT NULL, title TEXT NOT NULL DEFAULT '',
        status TEXT NOT NULL DEFAULT 'pending', UNIQUE(workflow_id, wave_number));
    CREATE TABLE wave_tasks (
        id INTEGER PRIMARY KEY AUTOINCREMENT, wave_id INTEGER NOT NULL, workflow_id TEXT NOT NULL,
        task_index INTEGER NOT NULL, description TEXT NOT NULL DEFAULT '', agent TEXT,
        status TEXT NOT NULL DEFAULT 'pending', UNIQUE(wave_id, task_index));
    CREATE TABLE verifications (
        id INTEGER PRIMARY KEY AUTOINCREMENT, workflow_id TEXT NOT NULL, wave_id INTEGER,
        check_name TEXT NOT NULL, status TEXT NOT NULL, detail TEXT, created_at INTEGER);
    CREATE TABLE blockers (
        id INTEGER PRIMARY KEY AUTOINCREMENT, workflow_id TEXT NOT NULL, wave_id INTEGER,
        description TEXT NOT NULL DEFAULT '', severity TEXT NOT NULL DEFAULT 'medium',
        status TEXT NOT NULL DEFAULT 'open', resolution TEXT, created_at INTEGER,
        resolved_at INTEGER);
"""
STATE = {
    "phase": "execute",
    "mode": "standard",
    "depth": "standard",
    "interviewComplete": True,
    "specLocked": True,
    "acceptanceConfirmed": False,
    "currentWave": 2,
    "totalWaves": 2,
    "autopilot": False,
    "lazyAutopilot": False,
}
_ROWS = """
    INSERT INTO waves (id, workflow_id, wave_number, title, status) VALUES
        (1, 'login', 1, 'Foundation', 'done'), (2, 'login', 2, 'Core', 'in_progress'),
        (3, 'other', 1, 'Else', 'pending');
    INSERT INTO wave_tasks (wave_id, workflow_id, task_index, description, agent, status) VALUES
        (1, 'login', 1, 'Table', 'executor-high', 'done'),
        (1, 'login', 2, 'Types', 'executor-low', ' Completed '),
        (2, 'login', 1, 'Service', 'executor-medium', 'in_progress'),
        (2, 'login', 2, 'Endpoint', NULL, 'pending'),
        (3, 'other', 1, 'Elsewhere', NULL, 'done');
    INSERT INTO verifications (workflow_id, wave_id, check_name, status, detail) VALUES
        ('login', 1, 'test', 'failed', '2 failed'), ('login', 1, 'test', 'passed', '12 passed'),
        ('login', 2, 'lint', 'failed', 'unused import'), ('other', 3, 'test', 'failed', '');
    INSERT INTO blockers (workflow_id, description, severity, status) VALUES
        ('login', 'No key for the payment service', 'high', 'open'),
        ('login', 'Old one', 'low', 'resolved'),
        ('other', 'Not ours', 'low', 'open');
"""


def make_database(project: Path) -> Path:
    """Write `.goopspec/goopspec.db` with two workflows, `login` active, and return its path."""
    connection = opened(project)
    connection.close()
    return project / ".goopspec" / "goopspec.db"


def opened(project: Path) -> sqlite3.Connection:
    """Write the database and return GoopSpec's connection, with its newest rows in the log."""
    place = project / ".goopspec" / "goopspec.db"
    place.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(place)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.executescript(_TABLES)
    rows = [
        ("_meta", {"activeWorkflowId": "login"}),
        ("login", STATE),
        ("other", {**STATE, "phase": "idle"}),
    ]
    connection.executemany(
        "INSERT INTO workflows (id, state) VALUES (?, ?)", [(id, json.dumps(v)) for id, v in rows]
    )
    connection.executescript(_ROWS)
    connection.commit()

    return connection
