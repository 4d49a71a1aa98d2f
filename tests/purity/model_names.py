"""Structure, not names: no model or family is named in code outside core/data. Comments may point
at the library file they mirror; a trainer or a tool whose name contains a model's is no model."""
import source_text

NAMES = (
    r"(?<!o)llama(?!_?factory|\.cpp)|qwen|mistral|gemma|mixtral|deepseek|falcon|gpt_?neox|bloom"
    r"|phi-?[1-4]|granite|\bcohere(?!n)|mamba|rwkv"
)


def check(path, text):
    code = source_text.without_comments(text)
    return [
        f"{path}:{line}: {match[0]}"
        for line, match in source_text.lines_matching(f"(?i:{NAMES})", code)
    ]


if __name__ == "__main__":
    source_text.finish(
        [
            problem
            for path, text in source_text.files(
                "core", "agent", "web", "site", suffixes=[".h", ".cpp", ".cu", ".mjs", ".js"]
            )
            for problem in check(path, text)
        ]
    )
