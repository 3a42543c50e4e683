"""The transport with raw sockets: what odd, broken and hostile clients send."""
import json
import shutil
import socket
import ssl
import subprocess
import time

import pytest

from conftest import PATIENCE, TINY_DENSE, module_server

server = module_server(TINY_DENSE, "--max-model-len", "512", "--max-request-bytes", "100000", "--api-key", "sk-1", "sk-2")
BODY = json.dumps({"prompt": "Hello", "max_tokens": 4, "temperature": 0}).encode()
HEAD = "Host: localhost\r\nAuthorization: Bearer sk-2\r\nContent-Type: application/json\r\n"


def connect(server):
    s = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    return s


def read_all(s):
    data = b""
    while part := s.recv(65536):
        data += part
    return data


def talk(server, data):
    with connect(server) as s:
        s.sendall(data)
        return read_all(s)


def post(body=BODY, extra="Connection: close\r\n", path="/v1/completions"):
    return f"POST {path} HTTP/1.1\r\n{HEAD}{extra}Content-Length: {len(body)}\r\n\r\n".encode() + body


def status(answer):
    return int(answer.split(b" ", 2)[1])


def error(answer):
    return json.loads(answer.split(b"\r\n\r\n", 1)[1])["error"]


def test_byte_by_byte(server):
    with connect(server) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in post():
            s.sendall(bytes([byte]))
        assert status(read_all(s)) == 200


def test_pipelined(server):
    answer = talk(server, post(extra="") * 5 + post())
    assert answer.count(b"HTTP/1.1 200 OK") == 6


def test_expect_100_continue(server):
    with connect(server) as s:
        request = post(extra="Expect: 100-continue\r\nConnection: close\r\n")
        s.sendall(request[: -len(BODY)])
        assert s.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        s.sendall(BODY)
        assert status(read_all(s)) == 200


def test_http10_stream_ends_with_the_connection(server):
    body = json.dumps({"prompt": "Hello", "max_tokens": 4, "stream": True}).encode()
    answer = talk(server, post(body).replace(b"HTTP/1.1", b"HTTP/1.0"))
    head, text = answer.split(b"\r\n\r\n", 1)
    assert b"transfer-encoding" not in head and text.startswith(b"data: {") and text.endswith(b"data: [DONE]\n\n")


def test_absolute_form_and_escapes(server):
    answer = talk(server, b"GET http://localhost/v1%2Fmodels HTTP/1.1\r\n" + HEAD.encode() + b"Connection: close\r\n\r\n")
    assert status(answer) == 200


@pytest.mark.parametrize("body", [b"", b"not json", b"[]", b"3", b"{", b'{"prompt": "\xff\xfe"}', b'{"prompt":' + b"[" * 3000 + b"]" * 3000 + b"}"])
def test_bodies_that_are_no_request(server, body):
    answer = talk(server, post(body))
    assert status(answer) == 400 and error(answer)["code"] == 400


@pytest.mark.parametrize("data, code", [
    (b"GARBAGE\r\n\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    (b"GET / HTTP/3.0\r\n\r\n", 505),
    (b"GET /%zz HTTP/1.1\r\n\r\n", 400),
    (b"POST /v1/completions HTTP/1.1\r\nContent-Length: -5\r\n\r\n", 400),
    (b"POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 413),
    (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 300 + b"\r\n", 431),
    (b"GET /nothing HTTP/1.1\r\n" + HEAD.encode() + b"Connection: close\r\n\r\n", 404),
    (b"GET /v1/completions HTTP/1.1\r\n" + HEAD.encode() + b"Connection: close\r\n\r\n", 405),
    (b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n", 401),
    (b"GET /health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 403),
])
def test_refusals(server, data, code):
    answer = talk(server, data)
    assert status(answer) == code and b'"error"' in answer


BIG = b"x" * 70000


@pytest.mark.parametrize("data", [
    b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nA: " + BIG + b"\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + BIG + b": a\r\n\r\n",
    b"GET /health?" + BIG + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"POST /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: " + BIG + b"\r\n\r\n",
])
def test_header_over_64_kib_does_not_end_the_server(server, data):
    assert status(talk(server, data)) in (200, 405)


def test_headers_over_the_block_limit(server):
    assert status(talk(server, b"GET /health HTTP/1.1\r\nHost: localhost\r\nA: " + b"x" * 5_000_000 + b"\r\n\r\n")) == 431


def test_body_over_the_limit(server):
    assert status(talk(server, post(b'{"prompt": "' + b"x" * 200000 + b'"}'))) == 413


def test_cors_preflight_and_errors(server):
    answer = talk(server, b"OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nOrigin: http://page\r\nAccess-Control-Request-Method: POST\r\n"
                          b"Access-Control-Request-Headers: authorization\r\nConnection: close\r\n\r\n")
    assert status(answer) == 200 and b"access-control-allow-headers: authorization" in answer
    answer = talk(server, b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: http://page\r\nConnection: close\r\n\r\n")
    assert status(answer) == 401 and b"access-control-allow-origin: *" in answer


def test_two_servers_on_one_port(server, serve):
    second = serve(TINY_DENSE, port=server.port, wait=False)
    assert second.process.wait(60) == 1
    assert f"port {server.port} is already in use" in second.log
    assert "layers" not in second.log and "caches" not in second.log   # said before the model is loaded


def test_ready_lines(server):
    log = server.log
    assert "Application startup complete" in log
    assert f"Uvicorn running on http://127.0.0.1:{server.port}" in log
    assert f"ready on http://127.0.0.1:{server.port}" in log


def test_idle_server_answers_at_once(server):
    started = time.monotonic()
    assert status(talk(server, b"GET /v1/models HTTP/1.1\r\n" + HEAD.encode() + b"Connection: close\r\n\r\n")) == 200
    assert time.monotonic() - started < 1 * PATIENCE


def test_tls(serve, tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("skipped: no openssl command to make a certificate")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", cert],
                   check=True, capture_output=True)
    secure = serve(TINY_DENSE, "--ssl-certfile", cert, "--ssl-keyfile", key, wait=False)
    context = ssl.create_default_context(cafile=cert)
    deadline = time.monotonic() + 60
    while "ready on https://" not in secure.log:
        assert time.monotonic() < deadline and secure.process.poll() is None, secure.log
        time.sleep(0.05)
    with context.wrap_socket(connect(secure), server_hostname="localhost") as s:
        s.sendall(post(json.dumps({"prompt": "Hello", "max_tokens": 4, "stream": True}).encode()))
        answer = read_all(s)
        assert status(answer) == 200 and b"data: [DONE]" in answer
    with connect(secure) as plain:   # no TLS: closed, not crashed
        plain.sendall(b"GET /health HTTP/1.1\r\n\r\n")
        plain.settimeout(10)
        plain.recv(1000)
    broken = serve(TINY_DENSE, "--ssl-certfile", key, "--ssl-keyfile", key, wait=False)
    assert broken.process.wait(60) == 1 and "--ssl-certfile" in broken.log


def test_unix_socket(serve, tmp_path):
    path = tmp_path / "hearth.sock"
    server = serve(TINY_DENSE, "--uds", path, wait=False)
    deadline = time.monotonic() + 60
    while "ready on unix:" not in server.log:
        assert time.monotonic() < deadline and server.process.poll() is None, server.log
        time.sleep(0.05)
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(path))
        s.sendall(b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n")
        assert status(read_all(s)) == 200
