import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SignInCode } from '../../client/access-types.ts';
import { isPosternError, type PosternClient } from '../../client/postern-client.ts';
import type { ClientContext } from '../../core/cli/client-context.ts';
import type { ConnectionOptions } from '../../core/cli/context.ts';
import { EXIT, folderOf } from '../../core/cli/context.ts';
import { printable } from '../../core/cli/output/text.ts';
import { type AtPort, atPort, Refusal, reportRefusal, withService } from '../../core/cli/service-connection.ts';
import { escapedHtml, trimmedEnd } from '../../core/model/text.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { commandRunner } from '../../core/runtime/command.ts';

const KEPT_SECONDS = 60;
const PAGE = /^console-[0-9a-f]{16}\.html$/;

/**
 * `postern open`: opens the console. If the service has a Unix socket, a one-time code signs the user in; otherwise the
 * user enters the key. The code is in the URL's fragment, because browsers never send a fragment.
 */
export function open(options: ConnectionOptions, context: ClientContext): Promise<number> {
  return reportRefusal(options, context, async () => {
    const place = atPort(options, context);
    if (place === undefined) {
      return withService(options, context, ({ client }) => openSignedIn(client, options, context));
    }
    const address = `${trimmedEnd(place.url, /\//)}/console`;
    const advice = adviceAt(place);
    if (await isOpened(address, context)) {
      context.stdout(...[`Opened ${address} in the browser.`, ...advice].map(printable));
      return EXIT.ok;
    }
    context.stderr(...[noBrowser(context), `Open this address: ${address}`, ...advice].map(printable));
    return EXIT.failed;
  });
}

/** Says where the key is that the console asks for. */
function adviceAt({ distrust }: AtPort): readonly string[] {
  if (distrust === undefined) {
    return [
      'The console asks for the key of its service. On the machine of the service, "postern config key" prints it.',
    ];
  }
  return [
    `The console asks for the key, because this command found no Unix socket that it can trust. ${distrust.reason}`,
    `The key is api_key in ${distrust.keyFile}. Enter it only if you know that no other program has taken the port.`,
  ];
}

/**
 * Opens the signed-in console through a page that only this user can read. If the browser was started with the
 * console's address, the process list would show the one-time code to other users.
 */
async function openSignedIn(
  client: PosternClient,
  options: ConnectionOptions,
  context: ClientContext,
): Promise<number> {
  const { url } = await signInCode(client);
  const folder = folderOf(options, context);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  removeOldPages(folder);
  const page = join(folder, `console-${randomBytes(8).toString('hex')}.html`);
  writeFileSync(page, pageTo(url), { mode: 0o600, flag: 'wx' });
  // Removes the page in the background, so that this command need not wait for a minute.
  const removal = `(sleep ${KEPT_SECONDS}; rm -f -- "$1") >/dev/null 2>&1 &`;
  await commandRunner(context.environment.env)('/bin/sh', ['-c', removal, 'sh', page], { hasOwnGroup: true });
  if (await isOpened(page, context)) {
    context.stdout(printable(`Opened the console of ${new URL(url).origin} in the browser.`));
    return EXIT.ok;
  }
  context.stderr(
    noBrowser(context),
    `Open this file within ${KEPT_SECONDS} seconds, in a browser on this machine: ${page}`,
  );
  return EXIT.failed;
}

async function signInCode(client: PosternClient): Promise<SignInCode> {
  try {
    return await client.keys.signInCode();
  } catch (error) {
    if (!isPosternError(error) || error.code !== 'not_found') throw error;
    throw new Refusal(
      EXIT.unavailable,
      'The running service is older than this command.',
      'Restart it: postern restart',
    );
  }
}

function openerOf({ environment }: ClientContext): string {
  return environment.platform === 'darwin' ? 'open' : 'xdg-open';
}

async function isOpened(target: string, context: ClientContext): Promise<boolean> {
  const { code } = await commandRunner(context.environment.env)(openerOf(context), [target]);
  return code === 0;
}

function noBrowser(context: ClientContext): string {
  return `${openerOf(context)} could not open a browser.`;
}

/** Removes pages of earlier runs that still exist because the machine was switched off before their removal. */
function removeOldPages(folder: string): void {
  for (const name of readdirSync(folder).filter((name) => PAGE.test(name))) {
    const page = join(folder, name);
    const ageMs = systemClock.now() - (statSync(page, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (ageMs > KEPT_SECONDS * 1000) rmSync(page, { force: true });
  }
}

function pageTo(address: string): string {
  const safe = escapedHtml(address);
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
