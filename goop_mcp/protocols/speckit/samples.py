"""Whole replies in good order, in which the examples of the rules change one line."""

__all__ = [
    "ANALYZE_REPLY",
    "CLARIFY_REPLY",
    "CONSTITUTION_REPLY",
    "ERROR_REPLY",
    "FEEDBACK_INPUT",
    "RESEARCH_REPLY",
    "TASKS_REPLY",
    "TEST_REPLY",
    "TIMEOUT_REPLY",
    "WORKFLOW_INPUT",
]

CLARIFY_REPLY = """\
Three questions were asked and answered.

```json
{
  "agent": "clarify",
  "status": "success",
  "timestamp": "2026-01-15T10:30:00Z",
  "execution_time_ms": 1234,
  "result": {
    "spec_file": "specs/007-oauth-login/spec.md",
    "clarifications_resolved": 3,
    "questions_asked": 3,
    "remaining_ambiguities": 0,
    "next_steps": ["plan"]
  }
}
```
"""

RESEARCH_REPLY = """\
{
  "agent": "research",
  "status": "success",
  "timestamp": "2026-01-15T10:30:00Z",
  "execution_time_ms": 1234,
  "result": {
    "research_cache_file": "specs/007-oauth-login/research.json",
    "technologies_researched": [
      {"name": "FastAPI", "context7_id": "/tiangolo/fastapi", "topics": ["security"],
       "snippet_count": 10}
    ],
    "decisions": [
      {"decision": "Where sessions live", "choice": "Redis", "rationale": "Shared by all",
       "alternatives": []}
    ],
    "confidence_level": "HIGH",
    "next_steps": ["plan"]
  }
}
"""

TASKS_REPLY = """\
{
  "agent": "tasks",
  "status": "success",
  "timestamp": "2026-01-15T10:30:00Z",
  "execution_time_ms": 1234,
  "result": {
    "tasks_file": "specs/007-oauth-login/tasks.md",
    "task_count": 3,
    "phases": {"setup": 1, "foundational": 1, "user_stories": 1, "polish": 0},
    "parallelizable_tasks": 1,
    "task_ids": ["T001", "T002", "T003"],
    "dependencies_mapped": true,
    "next_steps": ["analyze"]
  }
}
"""

ANALYZE_REPLY = """\
{
  "agent": "analyze",
  "status": "success",
  "timestamp": "2026-01-15T10:30:00Z",
  "execution_time_ms": 1234,
  "result": {
    "analysis_report": "specs/007-oauth-login/analysis.md",
    "artifacts_analyzed": ["spec.md", "plan.md", "tasks.md"],
    "total_findings": 1,
    "findings_by_severity": {"CRITICAL": 0, "HIGH": 1, "MEDIUM": 0, "LOW": 0},
    "findings": [
      {
        "severity": "HIGH",
        "type": "coverage_gap",
        "message": "REQ-5 has no task",
        "location": "tasks.md:1",
        "recommendation": "Add a task"
      }
    ],
    "coverage_analysis": {
      "total_requirements": 12,
      "requirements_with_tasks": 11,
      "coverage_percentage": 91.67,
      "uncovered_requirements": ["REQ-5"]
    },
    "next_steps": ["implement"]
  }
}
"""

TEST_REPLY = """\
{
  "agent": "test",
  "status": "success",
  "timestamp": "2026-01-15T10:30:00Z",
  "execution_time_ms": 1234,
  "result": {
    "feature_id": "007-oauth-login",
    "overall_status": "PASSED",
    "quality_gates": {
      "tests_passing": {"status": "PASSED", "details": {"total": 45, "passed": 45, "failed": 0}},
      "coverage": {"status": "PASSED", "details": {"overall": 87.5, "required": 80.0}},
      "code_quality": {"status": "PASSED", "details": {"lint_errors": 0, "type_errors": 0}},
      "build_validation": {"status": "PASSED", "details": {"docker_compose": "valid"}}
    },
    "success_criteria": [
      {"id": "SC-001", "description": "A user can log in", "status": "PASSED"}
    ],
    "next_steps": ["review"]
  }
}
"""

ERROR_REPLY = """\
{
  "agent": "tasks",
  "status": "error",
  "timestamp": "2026-01-15T10:30:00Z",
  "execution_time_ms": 12,
  "error": {
    "type": "PrerequisiteError",
    "code": "MISSING_PLAN",
    "message": "plan.md is missing",
    "details": {},
    "recoverable": true,
    "recovery_strategy": "run_prerequisite_agent",
    "suggested_action": {"agent": "plan", "reason": "It writes plan.md"}
  }
}
"""

CONSTITUTION_REPLY = """\
{
  "agent": "plan",
  "status": "error",
  "timestamp": "2026-01-15T10:30:00Z",
  "execution_time_ms": 12,
  "error": {
    "type": "ConstitutionViolationError",
    "code": "TWO_DATABASES",
    "message": "The constitution allows one database",
    "recoverable": false,
    "recovery_strategy": "manual_resolution"
  }
}
"""

TIMEOUT_REPLY = """\
{
  "agent": "test",
  "status": "error",
  "timestamp": "2026-01-15T10:30:00Z",
  "execution_time_ms": 600000,
  "error": {
    "type": "TimeoutError",
    "code": "TESTS_TOO_SLOW",
    "message": "The tests did not end within ten minutes",
    "recoverable": true,
    "recovery_strategy": "fix_and_retry"
  }
}
"""

WORKFLOW_INPUT = """\
WORKFLOW_CONTEXT:
{
  "workflow_id": "7b0c9f0e-4f1f-4a53-9c4e-0a8d6b8d2a11",
  "feature_id": "007-oauth-login",
  "feature_dir": "specs/007-oauth-login/",
  "previous_results": {
    "specify": {"status": "success", "result": {"spec_file": "specs/007-oauth-login/spec.md"}}
  }
}

USER_REQUEST: Add OAuth login
"""

FEEDBACK_INPUT = """\
FEEDBACK_CONTEXT:
{
  "feedback_from": "analyze",
  "iteration": 1,
  "max_iterations": 2,
  "issues_to_fix": [
    {
      "severity": "HIGH",
      "type": "coverage_gap",
      "message": "REQ-5 has no task",
      "location": "tasks.md:1",
      "recommendation": "Add a task"
    }
  ]
}
"""
