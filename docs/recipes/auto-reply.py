"""An auto-reply bot. Usage: POSTERN_URL=http://127.0.0.1:3001 POSTERN_KEY_FILE=key.txt python3 auto-reply.py"""
import json, os, time, urllib.request
from http.client import HTTPException

URL, KEY = os.environ["POSTERN_URL"], open(os.environ["POSTERN_KEY_FILE"]).read().strip()


def call(path, body=None, accept="application/json"):
    data = None if body is None else json.dumps(body).encode()
    headers = {"X-API-Key": KEY, "Content-Type": "application/json", "Accept": accept}
    # A stream has a line at least every 15 s: without one for 60 s the connection is dead.
    return urllib.request.urlopen(urllib.request.Request(URL + "/api/v1" + path, data, headers), timeout=60)


newest = json.load(call("/messages?limit=1"))
after = int(newest[0]["id"]) if newest else 0
while True:
    try:
        for line in call(f"/events?after={after}&include=details", accept="application/x-ndjson"):
            event = json.loads(line)
            after = event["offset"]  # nothing is missed, however long the service was away
            if "type" not in event:
                continue  # only a sign that the connection is alive
            details = event["data"].get("details", {})
            if event["type"] != "message.received" or details.get("mirror") or details.get("late"):
                continue  # a mirror is the copy of a message to oneself; a late one came long after it was written
            if "ping" in event["data"]["body"].lower():
                call("/messages", {"recipient": event["data"]["conversation_id"], "body": "pong"})
    except (OSError, HTTPException) as error:  # away, busy, or it refused the answer, which is not tried again
        print(error)
    time.sleep(2)
