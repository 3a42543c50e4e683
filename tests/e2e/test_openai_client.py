"""The official client: chat, streams, log-probabilities, several choices, stop strings, seeds."""
import json

import openai
import pytest

from conftest import GOLDEN, TINY_MOE, client, module_server

server = module_server(TINY_MOE, "--max-model-len", "1024", "--max-num-seqs", "16")
CHATS = json.loads((GOLDEN / "qwen3_5_moe_tiny" / "goldens_bf16" / "chat_replies.json").read_text())
HELLO = CHATS[1]  # thinking off
OFF = {"chat_template_kwargs": {"enable_thinking": False}}


@pytest.fixture
def api(server):
    return client(server)


@pytest.fixture
def model(api):
    return api.models.list().data[0].id


def test_models_are_listed_and_found(api, model):
    card = api.models.retrieve(model)
    assert card.id == model and card.object == "model" and card.max_model_len == 1024
    with pytest.raises(openai.NotFoundError) as error:
        api.models.retrieve("no-such-model")
    assert "no-such-model" in str(error.value)


def test_chat(api, model):
    reply = api.chat.completions.create(model=model, messages=HELLO["messages"], temperature=0, extra_body=OFF)
    choice = reply.choices[0]
    assert choice.message.role == "assistant"
    assert choice.message.content == HELLO["result"]["content"]
    assert choice.finish_reason == "stop"
    assert reply.usage.prompt_tokens == len(HELLO["prompt_ids"])
    assert reply.usage.completion_tokens == len(HELLO["reply_ids"])
    assert reply.id.startswith("chatcmpl-") and reply.object == "chat.completion"


def test_chat_stream_equals_the_whole(api, model):
    chunks = list(api.chat.completions.create(model=model, messages=HELLO["messages"], temperature=0, stream=True,
                                              stream_options={"include_usage": True}, extra_body=OFF))
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == HELLO["result"]["content"]
    assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["stop"]
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == len(HELLO["reply_ids"])
    assert len({c.id for c in chunks}) == 1


def test_chat_logprobs(api, model):
    reply = api.chat.completions.create(model=model, messages=HELLO["messages"], temperature=0, logprobs=True, top_logprobs=3,
                                        extra_body=OFF)
    content = reply.choices[0].logprobs.content
    assert len(content) == len(HELLO["reply_ids"])
    for entry in content:
        assert len(entry.top_logprobs) == 3
        assert entry.token == entry.top_logprobs[0].token
        assert entry.logprob <= 0
    assert bytes(b for e in content[:-1] for b in e.bytes).decode() == HELLO["result"]["content"]


def test_completion_with_logprobs_and_echo(api, model):
    text = HELLO["prompt"]
    reply = api.completions.create(model=model, prompt=text, max_tokens=4, temperature=0, logprobs=2, echo=True)
    choice = reply.choices[0]
    logprobs = choice.logprobs
    n = len(HELLO["prompt_ids"]) + 4
    assert len(logprobs.tokens) == len(logprobs.token_logprobs) == len(logprobs.text_offset) == n
    assert logprobs.token_logprobs[0] is None
    assert choice.text.startswith(text)
    assert all(max(t.values()) >= lp for t, lp in zip(logprobs.top_logprobs[1:], logprobs.token_logprobs[1:]))


def test_three_choices_with_a_seed(api, model):
    ask = dict(model=model, messages=[{"role": "user", "content": "Tell me something"}], n=3, temperature=1.5, max_tokens=12, seed=7,
               extra_body={**OFF, "ignore_eos": True, "top_k": 0, "top_p": 1.0})
    first = api.chat.completions.create(**ask)
    again = api.chat.completions.create(**ask)
    texts = [c.message.content for c in first.choices]
    assert [c.index for c in first.choices] == [0, 1, 2]
    assert texts == [c.message.content for c in again.choices]
    assert len(set(texts)) > 1
    assert first.usage.completion_tokens == 36
    # Choice i draws with seed + i.
    alone = api.chat.completions.create(**{**ask, "n": 1, "seed": 8})
    assert alone.choices[0].message.content == texts[1]


def test_stop_string(api, model):
    whole = HELLO["result"]["content"]
    stop = whole[8:14]
    for stream in (False, True):
        reply = api.chat.completions.create(model=model, messages=HELLO["messages"], temperature=0, stop=[stop, "never"],
                                            stream=stream, extra_body=OFF)
        if stream:
            chunks = [c.choices[0] for c in reply if c.choices]
            text, reason = "".join(c.delta.content or "" for c in chunks), chunks[-1].finish_reason
            stop_reason = chunks[-1].stop_reason
        else:
            text, reason, stop_reason = reply.choices[0].message.content, reply.choices[0].finish_reason, reply.choices[0].stop_reason
        assert text == whole[: whole.index(stop)]
        assert (reason, stop_reason) == ("stop", stop)


def test_length_ends_with_length(api, model):
    reply = api.chat.completions.create(model=model, messages=HELLO["messages"], temperature=0, max_tokens=3, extra_body=OFF)
    assert reply.choices[0].finish_reason == "length" and reply.usage.completion_tokens == 3


def test_special_tokens_in_content_stay_text(api, model):
    reply = api.chat.completions.create(model=model, messages=[{"role": "user", "content": "a<|im_end|>b"}], temperature=0,
                                        max_tokens=1, extra_body={"return_token_ids": True})
    assert reply.prompt_token_ids.count(1026) == 1  # the template's own


def test_nan_fails_that_request_and_no_other(serve):
    server = serve(TINY_MOE, "--max-model-len", "512", env={"VLLM_SERVER_DEV_MODE": "1"})
    api = client(server)
    model = api.models.list().data[0].id
    with pytest.raises(openai.InternalServerError) as error:
        api.completions.create(model=model, prompt="Hello", max_tokens=4, extra_body={"debug_poison": "nan"})
    assert "NaN" in str(error.value)
    reply = api.chat.completions.create(model=model, messages=HELLO["messages"], temperature=0, extra_body=OFF)
    assert reply.choices[0].message.content == HELLO["result"]["content"]


@pytest.mark.parametrize("body, field", [
    ({"messages": []}, "messages"),
    ({"temperature": 3}, "temperature"),
    ({"temperature": "hot"}, "temperature"),
    ({"top_p": 0}, "top_p"),
    ({"top_k": -2}, "top_k"),
    ({"min_p": 1.5}, "min_p"),
    ({"presence_penalty": 2.5}, "presence_penalty"),
    ({"repetition_penalty": 0}, "repetition_penalty"),
    ({"n": 0}, "n"),
    ({"n": 2, "temperature": 0}, "n"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": 5000}, "max_tokens"),
    ({"min_tokens": 9, "max_tokens": 3}, "min_tokens"),
    ({"stop": ""}, "stop"),
    ({"stop": ["a", "b", "c", "d", "e"]}, "stop"),
    ({"logit_bias": {"x": 1}}, "logit_bias"),
    ({"logit_bias": {"99999999": 1}}, "logit_bias"),
    ({"top_logprobs": 3}, "top_logprobs"),
    ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
    ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"prompt_logprobs": 1, "stream": True}, "prompt_logprobs"),
    ({"continue_final_message": True, "add_generation_prompt": True}, "continue_final_message"),
    ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
    ({"response_format": {"type": "json_object"}}, "response_format"),
    ({"guided_json": {}}, "guided_json"),
    ({"chat_template": "x"}, "chat_template"),
    ({"priority": 3}, "priority"),
    ({"use_beam_search": True}, "use_beam_search"),
    ({"allowed_token_ids": []}, "allowed_token_ids"),
    ({"stop_token_ids": [123456789]}, "stop_token_ids"),
    ({"messages": [{"role": "wizard", "content": "x"}]}, "role"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}]}, "image"),
    ({"messages": [{"role": "user", "content": [{"type": "telepathy"}]}]}, "telepathy"),
    ({"model": "no-such-model"}, "no-such-model"),
])
def test_bad_fields_are_named(server, body, field):
    import urllib.error
    import urllib.request

    whole = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4, **body}
    request = urllib.request.Request(server.url + "/v1/chat/completions", json.dumps(whole).encode(), {"Content-Type": "application/json"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=60)
    error = json.load(caught.value)["error"]
    assert caught.value.code == error["code"] == (404 if "model" in body else 400), error
    assert field in error["message"] or field in (error["param"] or ""), error


def test_prompt_one_token_too_long(api, model):
    ids = [5] * 1023
    assert api.completions.create(model=model, prompt=ids, max_tokens=1, temperature=0).usage.total_tokens == 1024
    with pytest.raises(openai.BadRequestError) as error:
        api.completions.create(model=model, prompt=ids + [5], max_tokens=1, temperature=0)
    message = str(error.value)
    assert "maximum context length" in message and "1024" in message
