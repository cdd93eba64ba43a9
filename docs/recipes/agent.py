"""An agent loop over MCP. Usage: POSTERN_URL=http://127.0.0.1:3001 POSTERN_KEY_FILE=agent.key python3 agent.py"""
import json, os, re, urllib.error, urllib.request

URL, KEY = os.environ["POSTERN_URL"], open(os.environ["POSTERN_KEY_FILE"]).read().strip()
HEADERS = {"X-API-Key": KEY, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def call(tool, **arguments):
    """One tool call: its text, and where to go on."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    request = urllib.request.Request(URL + "/mcp", json.dumps(message).encode(), HEADERS)
    answer = urllib.request.urlopen(request, timeout=60).read().decode()
    result = json.loads(re.search(r"^data: (.*)$", answer, re.M)[1])["result"]
    return result["content"][0]["text"], result.get("structuredContent", {}).get("next")


seen = set()  # the lines that the model has seen: an event can come again, such as after a 410


def model(text):
    """Put your model here. This one believes whatever it reads: what it may do is not up to it, but to its key."""
    for line, row, who, said in re.findall(r"^(\[(\d+)\] \d\d:\d\d (?:.*\()?([+\w.@]+)\)?: (.*))$", text, re.M):
        if line in seen:
            continue
        seen.add(line)
        order = re.search(r"forward .* to (\+\d+)", said)
        if order:
            yield order[1], text, row
        elif said.endswith("?"):
            yield who, "Yes, I think so.", row


print(call("whoami")[0])
_, cursor = call("events_poll")
while True:
    try:
        news, cursor = call("events_wait", after=cursor, timeout_s=25)  # nothing is missed between two calls
        for to, reply, row in model(news):
            key = "agent-" + row  # without it, an equal answer within 10 minutes counts as this one again
            print("to", to + ":", call("messages_send", to=to, text=reply, idempotency_key=key)[0], flush=True)
    except urllib.error.HTTPError as refused:  # the key was revoked, or too many requests
        raise SystemExit(refused.read().decode())
