#!/bin/sh
# Puts beside the compiled code what the compiler does not copy, and the promised entry dist/main.js.
set -eu
cd "$(dirname "$0")/.."
find src installer \( -name '*.applescript' -o -name '*.sql' -o -name '*.html' -o -name '*.css' -o -name '*.js' -o -name '*.svg' -o -name '*.icns' \) | while read -r file; do
  mkdir -p "dist/$(dirname "$file")"
  cp "$file" "dist/$file"
done
cat > dist/main.js <<'JS'
#!/usr/bin/env node
// Until the program takes them over, a signal to stop means what it says: nothing runs yet that must be ended first.
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0));
await import('./program/main.js');
JS
chmod +x dist/main.js
