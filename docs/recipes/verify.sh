#!/bin/sh
# Verify a Postern webhook in the shell, with openssl. Usage: POSTERN_SECRET=... sh verify.sh "$X_WEBHOOK_SIGNATURE" < body
# The secret is hashed as a key inside openssl and so is in its arguments for a moment: on a shared machine use another recipe.
set -eu
: "${POSTERN_SECRET:?is not set}"
expected="sha256=$(openssl dgst -sha256 -hmac "$POSTERN_SECRET" | sed 's/^.*= //')"
if [ "$expected" = "${1:-}" ]; then
  echo genuine
else
  echo forged
  exit 1
fi
