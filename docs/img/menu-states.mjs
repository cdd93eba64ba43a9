// Draws two states of the menu bar plugin from what it really prints: node docs/img/menu-states.mjs, after make build.
// The service behind it is a socket that answers with the menu text of a given report.
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { menuText } from '../../dist/src/core/http/status/menu-text.js';
import { menuPicture } from './menu.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const plugin = fileURLToPath(new URL('../../installer/menubar/postern.30s.sh', import.meta.url));
const permissions = ['full_disk_access', 'automation'].map((name) => ({ name, state: 'granted', detail: '' }));
const fine = {
  version: '0.1.0',
  uptime_s: 90_000,
  backend: { connected: true, message: null },
  newest_event: { row_id: 12, age_s: 125 },
  webhooks: [],
  permissions,
};
/** The reports that the service answers with. */
const REPORTS = [fine, { ...fine, held_sends: 2 }];

/** Runs the plugin as SwiftBar does. Returns its output. */
async function printed(report) {
  const home = mkdtempSync(join(tmpdir(), 'pm-'));
  const support = join(home, 'Library/Application Support/Postern');
  mkdirSync(support, { recursive: true, mode: 0o700 });
  mkdirSync(join(home, 'bin'));
  mkdirSync(join(home, 'Library/LaunchAgents'), { recursive: true });
  writeFileSync(join(support, 'config.toml'), '[server]\nport = 0\n[auth]\napi_key = "none"\n', { mode: 0o600 });
  writeFileSync(join(home, 'Library/LaunchAgents/local.postern.agent.plist'), '');
  writeFileSync(join(home, 'bin/launchctl'), `#!/bin/sh\necho '\tstate = running'\n`);
  chmodSync(join(home, 'bin/launchctl'), 0o755);
  const server = createServer((_request, response) =>
    response.end(menuText(report, 'swiftbar', { url: 'http://127.0.0.1:3001' })),
  );
  await new Promise((resolve) => void server.listen(join(support, 'postern.sock'), resolve));
  try {
    const env = { PATH: `${home}/bin:${process.env.PATH}`, HOME: home, SWIFTBAR: '1' };
    return (await promisify(execFile)('sh', [plugin], { env })).stdout;
  } finally {
    server.close();
    rmSync(home, { recursive: true, force: true });
  }
}

const texts = [];
for (const report of REPORTS) texts.push(await printed(report));
for (const scheme of ['light', 'dark']) {
  for (const [number, text] of texts.entries()) {
    writeFileSync(join(here, `menu-states-${number + 1}-${scheme}.svg`), menuPicture([text], scheme));
  }
}
