"""Why a model stopped, in the words of its interface, where that is no ordinary end."""

from typing import Final, Literal, TypeAlias

__all__ = ["StopReason", "advice_on", "stop_reason_of"]

StopReason: TypeAlias = Literal["token_limit", "refusal"]
"""`token_limit`: the reply was cut; `refusal`: the model, or a filter, refused to go on."""

# Anthropic, OpenAI (both interfaces), Gemini, Bedrock, Mistral, ACP, OpenCode, and what frameworks
# make of these.
_REASONS: Final[dict[str, StopReason]] = {
    **dict.fromkeys(
        (
            "error_max_output_tokens",
            "length",
            "max_output_tokens",
            "max_token",
            "max_tokens",
            "messageoutputlengtherror",
            "model_context_window_exceeded",
            "model_length",
        ),
        "token_limit",
    ),
    **dict.fromkeys(
        (
            "blocklist",
            "content_filter",
            "content_filtered",
            "guardrail_intervened",
            "prohibited_content",
            "refusal",
            "safety",
            "spii",
        ),
        "refusal",
    ),
}
_LONGEST = 100
_ADVICE: Final[dict[StopReason, str]] = {
    "token_limit": "Your reply was cut at the token limit: send it shorter.",
    "refusal": "The model refused to go on with your reply: report only what was done until then.",
}


def stop_reason_of(word: object) -> StopReason | None:
    """Return what `word` of an interface means, None for an ordinary end and unknown words."""
    if not isinstance(word, str):
        return None
    # Such as "FinishReason.MAX_TOKENS" and "content-filter".
    last = word[:_LONGEST].rpartition(".")[2]
    return _REASONS.get(last.strip().lower().replace("-", "_"))


def advice_on(reason: StopReason | None) -> str:
    """Return the sentence to an agent whose reply ended so, "" for an ordinary end."""
    return _ADVICE[reason] if reason is not None else ""
