"""Verify a Postern webhook in Python. Usage: POSTERN_SECRET=... python3 verify.py "$X_WEBHOOK_SIGNATURE" < body"""
import hashlib, hmac, os, sys


def is_genuine(secret: str, body: bytes, signature: str) -> bool:
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, signature)  # takes the same time wherever they differ


if __name__ == "__main__":
    genuine = is_genuine(os.environ["POSTERN_SECRET"], sys.stdin.buffer.read(), "".join(sys.argv[1:2]))
    print("genuine" if genuine else "forged")
    sys.exit(0 if genuine else 1)
