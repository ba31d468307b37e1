"""Setting up coding agents and editors: their configuration, a plugin for Claude Code, a skill."""
