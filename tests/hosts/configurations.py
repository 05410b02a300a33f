"""Files as people have them before they install goop-mcp: host, path in the project, text."""

__all__ = ["CONFIGURATIONS"]

CONFIGURATIONS = {
    "claude-servers": (
        "claude-code",
        ".mcp.json",
        '{\n  "mcpServers": {\n    "github": {\n      "command": "gh-mcp"\n    }\n  }\n}\n',
    ),
    "claude-empty-servers": (
        "claude-code",
        ".mcp.json",
        '{\n  "mcpServers": {}\n}\n',
    ),
    "claude-no-servers": (
        "claude-code",
        ".mcp.json",
        "{}",
    ),
    "claude-empty-file": (
        "claude-code",
        ".mcp.json",
        "",
    ),
    "claude-blank-file": (
        "claude-code",
        ".mcp.json",
        "\n\n",
    ),
    "claude-one-line": (
        "claude-code",
        ".mcp.json",
        '{"mcpServers":{"a":{"command":"a","args":[]},"b":{"type":"http","url":"http://127.0.0.1:1/mcp"}}}',
    ),
    "claude-byte-order-mark": (
        "claude-code",
        ".mcp.json",
        '\ufeff{\n  "mcpServers": {\n    "a": {"command": "a"}\n  }\n}\n',
    ),
    "claude-windows": (
        "claude-code",
        ".mcp.json",
        (
            '{\r\n    "mcpServers": {\r\n        "a": {"command": "C:\\\\Programs\\\\a.exe"}\r\n   '
            " }\r\n}\r\n"
        ),
    ),
    "claude-permissions": (
        "claude-code",
        ".claude/settings.json",
        (
            "{\n"
            '  "permissions": {\n'
            '    "allow": ["Bash(npm run *)"],\n'
            '    "deny": ["Read(./.env)"]\n'
            "  },\n"
            '  "env": {"TOKEN": "s3cret"}\n'
            "}\n"
        ),
    ),
    "claude-own-hooks": (
        "claude-code",
        ".claude/settings.json",
        (
            "{\n"
            '\t"hooks": {\n'
            '\t\t"Stop": [\n'
            '\t\t\t{"hooks": [{"type": "command", "command": "say done"}]}\n'
            "\t\t],\n"
            '\t\t"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": ".'
            '/guard.sh"}]}]\n'
            "\t},\n"
            '\t"model": "opus"\n'
            "}\n"
        ),
    ),
    "claude-empty-hooks": (
        "claude-code",
        ".claude/settings.json",
        '{"hooks": {"Stop": [], "SubagentStop": []}}\n',
    ),
    "claude-approved-servers": (
        "claude-code",
        ".claude/settings.json",
        '{\n  "enabledMcpjsonServers": ["github", "goop"],\n  "model": "opus"\n}',
    ),
    "opencode-model": (
        "opencode",
        "opencode.json",
        '{\n  "$schema": "https://opencode.ai/config.json",\n  "model": "a/b"\n}\n',
    ),
    "opencode-comments": (
        "opencode",
        "opencode.jsonc",
        (
            "// ours\n"
            "{\n"
            "  // which model\n"
            '  "model": "a/b", // the good one\n'
            "  /* servers\n"
            "     of the team */\n"
            '  "mcp": {\n'
            '    "docs": {"type": "remote", "url": "https://docs.example/mcp"}, // {not a brace}\n'
            "    // none yet\n"
            "  },\n"
            "}\n"
            "// end"
        ),
    ),
    "opencode-comment-at-end": (
        "opencode",
        "opencode.jsonc",
        (
            '{\n  "mcp": {\n    "a": {"type": "local", "command": ["a"]} // last, and "quoted"\n  }'
            " /* end */\n}\n"
        ),
    ),
    "opencode-only-comment": (
        "opencode",
        "opencode.jsonc",
        "{\n  // nothing yet\n}\n",
    ),
    "opencode-trailing-commas": (
        "opencode",
        "opencode.json",
        (
            '{"instructions": ["A.md", "B.md",], "mcp": {"a": {"type": "local", "command":'
            ' ["a",],},},}\n'
        ),
    ),
    "opencode-four-blanks": (
        "opencode",
        "opencode.json",
        (
            '{\n    "agent": {\n        "build": {"prompt": "say \\"hi\\" // twice, {file:./x}"}\n '
            "   }\n}\n"
        ),
    ),
    "cursor-servers": (
        "cursor",
        ".cursor/mcp.json",
        (
            "{\n"
            '  "mcpServers": {\n'
            '    "browser": {\n'
            '      "command": "npx",\n'
            '      "args": ["-y", "browser"]\n'
            "    }\n"
            "  }\n"
            "}"
        ),
    ),
    "vscode-inputs": (
        "vscode",
        ".vscode/mcp.json",
        (
            "{\n"
            "\t// asked once\n"
            '\t"inputs": [\n'
            '\t\t{"type": "promptString", "id": "key", "password": true}\n'
            "\t],\n"
            '\t"servers": {\n'
            '\t\t"a": {\n'
            '\t\t\t"type": "stdio",\n'
            '\t\t\t"command": "a",\n'
            '\t\t\t"env": {"KEY": "${input:key}"},\n'
            "\t\t},\n"
            "\t},\n"
            "}\n"
        ),
    ),
    "vscode-unicode": (
        "vscode",
        ".vscode/mcp.json",
        '{"servers": {"日本語": {"type": "http", "url": "http://127.0.0.1:1/ü"}}}\n',
    ),
    "claude-instructions": (
        "claude-code",
        "CLAUDE.md",
        "# Project\n\nUse tabs.",
    ),
    "opencode-instructions": (
        "opencode",
        "AGENTS.md",
        "# Rules\r\n\r\n- one\r\n",
    ),
}
"""By a name that says what is special about the file."""
