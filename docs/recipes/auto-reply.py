"""An auto-reply bot. Usage: POSTERN_URL=http://127.0.0.1:3001 POSTERN_KEY_FILE=key.txt python3 auto-reply.py"""
import json, os, time, urllib.request

URL, KEY = os.environ["POSTERN_URL"], open(os.environ["POSTERN_KEY_FILE"]).read().strip()


def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + "/api/v1" + path, data, {"X-API-Key": KEY, "Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


newest = call("/messages?limit=1")
after = int(newest[0]["id"]) if newest else 0
while True:
    try:
        for event in call(f"/events?after={after}&include=details"):  # nothing is missed, however long the service was away
            after = int(event["data"]["id"])
            if event["type"] != "message.received" or event["data"].get("details", {}).get("mirror"):
                continue  # a mirror is the copy of a message to oneself
            if "ping" in event["data"]["body"].lower():
                call("/messages", {"recipient": event["data"]["conversation_id"], "body": "pong"})
    except OSError as error:  # away, busy, or it refused the answer, which is not tried again
        print(error)
    time.sleep(2)  # the default limit is 60 requests a minute
