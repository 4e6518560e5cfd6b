"""Ask the bench server by lm-evaluation-harness's chat API model, one request an answer.

``bench.throughput --peer`` runs it by a Python that has ``lm-eval[api]``.
"""

import argparse
import json

from lm_eval.api.instance import Instance
from lm_eval.models.api_models import JsonChatStr
from lm_eval.models.openai_completions import LocalChatCompletion

from bench import loops


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--in-flight", type=int, required=True)
    options = parser.parse_args()
    model = LocalChatCompletion(
        base_url=f"{options.url}/chat/completions",
        model="bench",
        num_concurrent=options.in_flight,
        tokenizer_backend=None,
        tokenized_requests=False,
    )
    asked = [
        Instance(
            request_type="generate_until",
            doc={},
            arguments=(
                JsonChatStr(json.dumps([{"role": "user", "content": text}])),
                {"temperature": 0.3, "top_p": 0.5, "max_gen_toks": 256, "until": []},
            ),
            idx=number,
        )
        for number, text in enumerate(loops.prompts(options.requests))
    ]

    def act() -> None:
        found = model.generate_until(asked, disable_tqdm=True)
        assert len(found) == options.requests

    print(loops.measure("lm-evaluation-harness", options.requests, act).row())


if __name__ == "__main__":
    main()
