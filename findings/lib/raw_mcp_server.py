"""An MCP server that sends exactly the tools and the structured contents it is given as JSON.

Arguments: a list of pages, each a list of tools as `tools/list` sends them, and an object with the
structured content of each tool by name; one with the key `content` is the whole result instead.
"""

import json
import sys

pages, contents = (json.loads(each) for each in sys.argv[1:])


def result_of(method: str, parameters: dict) -> dict | None:
    """Return the result of a request, None for a method that it does not have."""
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "raw", "version": "1"},
        }
    if method == "tools/list":
        number = int(parameters.get("cursor") or 0)
        following = {"nextCursor": str(number + 1)} if number + 1 < len(pages) else {}
        return {"tools": pages[number], **following}
    if method == "tools/call":
        structure = contents[parameters["name"]]
        if "content" in structure:
            return structure
        text = {"type": "text", "text": json.dumps(structure)}
        return {"content": [text], "structuredContent": structure}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = result_of(request["method"], request.get("params") or {})
        answer = {"error": {"code": -32601, "message": "no such method"}}
        if result is not None:
            answer = {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}) + "\n")
        sys.stdout.flush()
