"""Verify a Postern webhook in Python. Usage: POSTERN_SECRET=... python3 verify.py "$X_WEBHOOK_SIGNATURE" < body"""
import hashlib, hmac, os, sys


def is_genuine(secret: str, body: bytes, signature: str) -> bool:
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    # The same time wherever they differ; as bytes, because it refuses text beyond ASCII, and a forger may send that.
    return hmac.compare_digest(expected.encode(), signature.encode(errors="replace"))


if __name__ == "__main__":
    secret = os.environ.get("POSTERN_SECRET") or sys.exit("POSTERN_SECRET is not set")
    genuine = is_genuine(secret, sys.stdin.buffer.read(), "".join(sys.argv[1:2]))
    print("genuine" if genuine else "forged")
    sys.exit(0 if genuine else 1)
