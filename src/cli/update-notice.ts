import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../config/config-file.ts';
import { cacheFolder } from '../config/environment.ts';
import { DAY_MS } from '../domain/durations.ts';
import { systemClock } from '../runtime/clock.ts';
import { startInBackground } from '../runtime/command.ts';
import { type Context, EXIT, type FolderOptions, folderOf } from './context.ts';
import { invocationOf } from './invocation.ts';
import { oneLine } from './output/text.ts';

/** The state of the update check, which update.json keeps between commands. */
interface Known {
  /** The `update.url` to which this state belongs. A different URL starts with an empty state. */
  readonly source: string;
  readonly askedAt: number;
  readonly notifiedAt: number;
  /** The newest release; absent until `source` has answered once. */
  readonly version?: string;
  readonly url?: string;
}

const ANSWER_LIMIT_MS = 10_000;
const MAX_CHARACTERS = 10_000;
const VERSION = /^v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})$/;

/**
 * Announces a newer release once a day, after a command on a terminal. No command waits for the answer of `update.url`:
 * another process asks at most once a day, and a later command shows the answer.
 */
export function announceUpdate(options: FolderOptions, context: Context): void {
  const source = sourceOf(options, context);
  if (source === '') return;
  const nowMs = systemClock.now();
  const known = knownOf(source, context);
  if (isOver(known.askedAt, nowMs)) {
    if (!keep({ ...known, askedAt: nowMs }, context)) return;
    const { command, args } = invocationOf('check-update', options, context);
    startInBackground(command, args, context.environment.env);
    return;
  }
  const { version = '', url = '' } = known;
  if (!isNewer(version, context.version) || !isOver(known.notifiedAt, nowMs)) return;
  context.stderr(context.paintError('yellow', `Postern ${version} is available; this is ${context.version}. ${url}`));
  keep({ ...known, notifiedAt: nowMs }, context);
}

/** `postern check-update`: fetches the newest version and stores it. Prints nothing, because it runs unattended. */
export async function checkUpdate(options: FolderOptions, context: Context): Promise<number> {
  const source = sourceOf(options, context);
  if (source === '') return EXIT.ok;
  try {
    const answer = await fetch(source, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) });
    const text = answer.ok ? await shortText(answer) : undefined;
    if (text === undefined) return EXIT.unavailable;
    const { version, url } = JSON.parse(text) as { readonly version?: unknown; readonly url?: unknown };
    if (typeof version !== 'string' || !VERSION.test(version) || !isWebAddress(url)) return EXIT.unavailable;
    keep({ ...knownOf(source, context), version: version.replace(/^v/, ''), url: oneLine(url) }, context);
    return EXIT.ok;
  } catch {
    return EXIT.unavailable;
  }
}

/** Reads a short text. Stops after `MAX_CHARACTERS` and returns undefined, because an answer may be endless. */
async function shortText({ body }: Response): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > MAX_CHARACTERS) return undefined;
  }
  return text + decoder.decode();
}

function sourceOf(options: FolderOptions, context: Context): string {
  const reading = readConfig(folderOf(options, context), context.environment);
  return reading.state === 'usable' ? reading.config.update.url : '';
}

/** Reports whether a day has passed; true also after the clock was set back by a day or more. */
function isOver(sinceMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - sinceMs) >= DAY_MS;
}

function isNewer(version: string, than: string): boolean {
  const [one, other] = [version, than].map((text) => (VERSION.exec(text) ?? []).slice(1).map(Number));
  if (one?.length !== 3 || other?.length !== 3) return false;
  const firstDifference = one.findIndex((number, index) => number !== other[index]);
  return firstDifference >= 0 && (one[firstDifference] ?? 0) > (other[firstDifference] ?? 0);
}

function isWebAddress(url: unknown): url is string {
  return typeof url === 'string' && url.length < 500 && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

function fileOf({ environment }: Context): string {
  return join(cacheFolder(environment), 'update.json');
}

function knownOf(source: string, context: Context): Known {
  const nothing = { source, askedAt: 0, notifiedAt: 0 };
  try {
    const known = JSON.parse(readFileSync(fileOf(context), 'utf8')) as Known;
    return known.source === source ? known : nothing;
  } catch {
    return nothing;
  }
}

/**
 * Stores the state. Returns false if that fails. The caller must then not ask for the newest version, because without a
 * stored `askedAt` every command would ask.
 */
function keep(known: Known, context: Context): boolean {
  try {
    mkdirSync(cacheFolder(context.environment), { recursive: true, mode: 0o700 });
    const draft = `${fileOf(context)}.${process.pid}`;
    writeFileSync(draft, JSON.stringify(known), { mode: 0o600 });
    renameSync(draft, fileOf(context));
    return true;
  } catch {
    return false;
  }
}
