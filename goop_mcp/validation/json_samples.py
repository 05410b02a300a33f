"""Complete correct JSON replies, in which the examples of the rules change one line."""

__all__ = ["FACTORY_REPLY"]

FACTORY_REPLY = """\
Architecture is ready.

```json
{
  "status": "success",
  "confidence": "high",
  "deliverables": [
    {
      "path": ".factory/runs/20260121-a1b2/artifacts/system_architecture.md",
      "type": "architecture",
      "description": "Complete system architecture with 4 agents"
    }
  ],
  "summary": "Designed a data pipeline with four agents",
  "metrics": {"agents_defined": 4, "estimated_files": 6},
  "next_action": "ready_for_review"
}
```
"""
