"""Whole replies in good order, in which the examples of the rules change one line."""

__all__ = ["BLOCKING_REPLY", "CRITIC_REPLY", "FAILURE_REPLY", "NOTED_REPLY", "QUESTIONS_REPLY"]

NOTED_REPLY = """\
{
  "status": "success",
  "confidence": "medium",
  "confidence_notes": "The retention time is a guess",
  "deliverables": [
    {"path": ".roomodes", "type": "config", "description": "Mode definitions"}
  ],
  "summary": "Built the modes of the pipeline",
  "next_action": "ready_for_review"
}
"""

QUESTIONS_REPLY = """\
{
  "status": "questions",
  "questions": [
    {
      "id": "q1",
      "question": "Should several sessions run at once?",
      "context": "It decides the schema of the state",
      "default": "single-session",
      "options": ["single-session", "multi-session"]
    },
    {"id": "q2", "question": "Which store holds the state?"}
  ],
  "partial_work": {"completed": ["agent topology"], "blocked_on": ["schema of the state"]},
  "recommendation": "single-session"
}
"""

FAILURE_REPLY = """\
{
  "status": "failure",
  "error": {
    "type": "missing_input",
    "message": "Cannot find user-request.md in .factory/context/",
    "recoverable": true
  },
  "attempted": "Tried to read the context files",
  "recommendation": "Put the request into .factory/context/user-request.md"
}
"""

CRITIC_REPLY = """\
{
  "status": "success",
  "summary": "All nine requirements are met",
  "verdict": "PASS",
  "requirements_checked": 9,
  "concerns": ["Long runs may want a memory"],
  "next_action": "proceed_to_build"
}
"""

BLOCKING_REPLY = """\
{
  "status": "success",
  "summary": "The review found one blocking issue",
  "verdict": "BLOCKING",
  "requirements_checked": 7,
  "blocking_issues": [
    {
      "id": "B1",
      "category": "stm_mechanism",
      "title": "No memory defined",
      "description": "The schema of state.json is missing",
      "resolution": "Add a section on the memory"
    }
  ],
  "next_action": "return_to_architect"
}
"""
