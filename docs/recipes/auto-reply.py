"""An auto-reply bot. Usage: POSTERN_URL=http://127.0.0.1:3001 POSTERN_KEY_FILE=key.txt python3 auto-reply.py"""
import json, os, re, signal, time, urllib.request
from http.client import HTTPException
from urllib.error import HTTPError

URL, KEY = os.environ["POSTERN_URL"], open(os.environ["POSTERN_KEY_FILE"]).read().strip()


def call(path, body=None, accept="application/json", **more):
    data = None if body is None else json.dumps(body).encode()
    headers = {"X-API-Key": KEY, "Content-Type": "application/json", "Accept": accept, **more}
    # A stream has a line at least every 15 s: without one for 60 s the connection is dead.
    return urllib.request.urlopen(urllib.request.Request(URL + "/api/v1" + path, data, headers), timeout=60)


PLACE = "auto-reply.place"  # the offset of the last event that was dealt with, in the current folder
after = open(PLACE).read() if os.path.exists(PLACE) else None
ANSWERED = "auto-reply.answered"  # the guids of the messages that were answered: after a 410 events can come again
answered = set(open(ANSWERED).read().split()) if os.path.exists(ANSWERED) else set()


def remember(guid):
    answered.add(guid)
    with open(ANSWERED, "a") as file:
        file.write(guid + "\n")


def keep(offset):
    with open(PLACE + ".new", "w") as file:
        file.write(str(offset))
    os.replace(PLACE + ".new", PLACE)  # all of it or nothing, also in a crash
    return offset


def problem(error):
    try:
        return json.load(error)
    except ValueError:
        return {}


def send(answer, key):
    try:
        call("/messages", answer, **{"Idempotency-Key": key})
        print("pong to", answer["recipient"])
    except HTTPError as error:
        if error.code in (429, 503):  # not sent, and may be later
            raise
        # Refused, which stays so. After a crash of the service, a 409 says that nobody knows whether it was sent.
        print(error.code, problem(error).get("detail"))


signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl+C ends it without a traceback
print(f"Waiting for a ping at {URL}. Stop with Ctrl+C.")
while True:
    try:
        if after is None:  # the first start: from the newest message on
            newest = json.load(call("/messages?limit=1"))
            after = keep(newest[0]["id"] if newest else 0)
        for line in call(f"/events?after={after}&include=details&junk=false", accept="application/x-ndjson"):
            event = json.loads(line)
            message = event.get("data", {})  # without data it is only a sign that the connection is alive
            details = message.get("details", {})
            # a mirror is the copy of a message to oneself; a late one came long after it was written
            is_new = event.get("type") == "message.received" and not details.get("mirror") and not details.get("late")
            is_new = is_new and message["guid"] not in answered
            if is_new and re.search(r"\bping\b", message["body"], re.IGNORECASE):
                answer = {"recipient": message["conversation_id"], "body": "pong"}
                send(answer, "pong-" + message["guid"])  # the same key sends once within 24 hours
                remember(message["guid"])
            after = keep(event["offset"])
    except HTTPError as error:
        refusal = problem(error)
        print(error.code, refusal.get("detail"))
        if error.code == 401:
            raise SystemExit(refusal.get("hint"))
        if error.code == 410:  # the place is gone: go on where the service says, else with the newest event
            after = keep(refusal.get("resume") or refusal.get("latest") or refusal["highest_row_id"])
    except (OSError, HTTPException) as error:  # away or busy: the event after the kept place comes again
        print(error)
    time.sleep(2)
