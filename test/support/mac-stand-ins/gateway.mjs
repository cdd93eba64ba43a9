// A small gateway, installed by tests instead of the real one. It reads its behaviour from gateway.json at every
// request, so that a test can grant a permission while the installer waits.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const state = process.env.MAC_STAND_IN;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const behaviour = () => JSON.parse(readFileSync(join(state, 'gateway.json'), 'utf8'));

/**
 * Returns macOS's answer to the agent about Messages. TCC remembers a "Don't Allow" and from then on answers at once,
 * whoever asks and after every restart, until `tccutil reset` (Apple TN3127; the 0.3 s are of macOS 26.5). `dialog`
 * says what the user does; `none`: no dialog appears at all (reported of 27.0).
 */
function automation({ dialog, permissions, reasons }) {
  if (dialog === undefined) return { state: permissions.automation, reason: reasons?.automation };
  const path = join(state, 'tcc.json');
  const tcc = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  if (tcc.AppleEvents === 'refused' || dialog === 'none') return { state: 'denied', reason: 'no_dialog' };
  if (dialog === 'allow') return { state: 'granted' };
  writeFileSync(path, JSON.stringify({ ...tcc, AppleEvents: 'refused' }));
  return { state: 'denied', reason: 'refused' };
}

/** macOS refuses Full Disk Access to a bundle whose hash is not the one in its entry. */
function readsMessages({ permissions }) {
  const read = (path) => (existsSync(path) ? readFileSync(path, 'latin1') : '');
  const entries = JSON.parse(read(join(process.env.MAC_STAND_IN_SHARED, 'tcc-of-all.json')) || '{}');
  const bundle = read(join(process.env.HOME, 'Applications', 'Postern.app', 'Contents', 'MacOS', 'Postern'));
  const granted = entries.SystemPolicyAllFiles;
  const isStale = granted !== undefined && !bundle.includes(`# cdhash ${granted}\n`);
  return permissions.full_disk_access === 'granted' && !isStale;
}

const config = join(process.argv[process.argv.indexOf('--config-dir') + 1], 'config.toml');
if (!existsSync(config)) {
  writeFileSync(config, `[server]\nport = ${behaviour().port}\n[auth]\napi_key = "cardboard"\n`, { mode: 0o600 });
  process.exit(0);
}
if (behaviour().migrates?.includes(version)) {
  const database = join(dirname(config), 'state.db');
  writeFileSync(database, `of ${version}`);
  writeFileSync(`${database}-wal`, 'more');
}
if (behaviour().broken?.includes(version)) {
  process.stderr.write('this version is broken\n');
  process.exit(1);
}
const port = Number(/port = (\d+)/.exec(readFileSync(config, 'utf8'))[1]);
let checks = 0;
const receive = (request, response) => {
  const now = behaviour();
  const answer = (status, body, headers = {}) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  if (request.url === '/api/v1/health') {
    const connected = readsMessages(now);
    const message = connected
      ? null
      : (now.details?.full_disk_access ?? 'No permission to open the Messages database.');
    return answer(200, { status: 'ok', version, backend: { connected, message } });
  }
  if (request.headers['x-api-key'] !== 'cardboard') return answer(401, {});
  if (request.url === '/api/v1/permissions/check') {
    checks += 1;
    if (now.busyChecks >= checks) return answer(429, {}, { 'retry-after': '1' });
    const permissions = Object.entries(now.permissions).map(([name, known]) => {
      const { state, reason } = name === 'automation' ? automation(now) : { state: known, reason: now.reasons?.[name] };
      return { name, state, detail: now.details?.[name] ?? '', ...(reason === undefined ? {} : { reason }) };
    });
    return answer(200, { permissions });
  }
  if (request.url === '/api/v1/diagnostics?seconds=0' && now.diagnostics !== undefined)
    return answer(200, now.diagnostics);
  return answer(404, {});
};
const socketPath = join(dirname(config), 'postern.sock');
const ready = () => writeFileSync(join(state, 'ready'), String(process.pid));
createServer(receive).listen(port, '127.0.0.1', () => {
  rmSync(socketPath, { force: true });
  createServer(receive).listen(socketPath, ready);
});
process.on('SIGTERM', () => {
  rmSync(socketPath, { force: true });
  process.exit(0);
});
