#!/bin/sh
# Puts beside the compiled code what the compiler does not copy, and the promised entry dist/main.js.
set -eu
cd "$(dirname "$0")/.."
find src installer \( -name '*.applescript' -o -name '*.sql' -o -name '*.html' -o -name '*.css' -o -name '*.js' -o -name '*.svg' -o -name '*.icns' \) | while read -r file; do
  mkdir -p "dist/$(dirname "$file")"
  cp "$file" "dist/$file"
done
for compiled in src installer; do
  echo '{"type": "module"}' > "dist/$compiled/package.json"
done
echo '{"type": "commonjs"}' > dist/package.json
cat > dist/main.js <<'JS'
#!/usr/bin/env node
// Until the program takes them over, a signal ends the process at once: nothing runs yet that must be stopped first.
// Under a supervisor 0 would mean "do not start it again" (decision T3).
const terminated = process.argv.includes('--supervised') ? 143 : 0;
process.once('SIGTERM', () => process.exit(terminated));
process.once('SIGINT', () => process.exit(0));
// A name nobody answers for holds a thread until the system gives it up, and half of them may look up names: one for
// each webhook there can be. libuv reads this before the first is used; loading a module would be that, so this is none.
process.env.UV_THREADPOOL_SIZE ??= '128';
import('./program/main.mjs');
JS
chmod +x dist/main.js
