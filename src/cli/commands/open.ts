import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { trimmedEnd } from '../../domain/trimmed-end.ts';
import { systemClock } from '../../runtime/clock.ts';
import { commandRunner } from '../../runtime/command.ts';
import { type ClientContext, EXIT, folderOf } from '../context.ts';
import { type ConnectionOptions, withService } from '../service-connection.ts';

const KEPT_SECONDS = 60;
const PAGE = /^console-[0-9a-f]{16}\.html$/;

/**
 * `postern open`: opens a page that leads to the console with the key in the fragment of its address, which no browser
 * sends. The page is a file of this user alone: an address given to a browser would be in the process list.
 */
export function open(options: ConnectionOptions, context: ClientContext): Promise<number> {
  return withService(options, context, async ({ client, key, place }) => {
    // The service's own word, over its socket: another program could be at the port that the configuration names.
    const { url = place } = await client.status();
    const folder = folderOf(options, context);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const run = commandRunner(context.environment.env);
    removeOldPages(folder);
    const page = join(folder, `console-${randomBytes(8).toString('hex')}.html`);
    writeFileSync(page, pageTo(`${trimmedEnd(url, /\//)}/console#key=${encodeURIComponent(key)}`), {
      mode: 0o600,
      flag: 'wx',
    });
    // It outlives this command, which would otherwise hold the terminal for a minute.
    await run('/bin/sh', ['-c', `(sleep ${KEPT_SECONDS}; rm -f -- "$1") >/dev/null 2>&1 &`, 'sh', page], {
      hasOwnGroup: true,
    });
    const opener = context.environment.platform === 'darwin' ? 'open' : 'xdg-open';
    const { code } = await run(opener, [page]);
    if (code === 0) {
      context.stdout(`Opened the console of ${url} in the browser.`);
      return EXIT.ok;
    }
    context.stderr(
      `There is no browser that ${opener} can open.`,
      `Open this file within ${KEPT_SECONDS} seconds, in a browser on this machine: ${page}`,
    );
    return EXIT.crash;
  });
}

/** Those of a machine that was switched off within the minute. */
function removeOldPages(folder: string): void {
  for (const name of readdirSync(folder).filter((name) => PAGE.test(name))) {
    const page = join(folder, name);
    const ageMs = systemClock.now() - (statSync(page, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (ageMs > KEPT_SECONDS * 1000) rmSync(page, { force: true });
  }
}

function pageTo(address: string): string {
  const safe = address.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<meta charset="utf-8">',
    '<meta name="referrer" content="no-referrer">',
    `<meta http-equiv="refresh" content="0; url=${safe}">`,
    '<title>Postern</title>',
    `<p><a href="${safe}">Open the console</a></p>`,
    '</html>',
    '',
  ].join('\n');
}
