import { statSync } from 'node:fs';
import { isAppError } from '../../domain/errors.ts';
import type { FleetSettings } from '../../domain/fleet.ts';
import { connectOnce, type Manager, managerOf } from './connect-once.ts';
import { readFleetFile } from './connection.ts';
import { agentKeys, hubKeys } from './envelope.ts';
import { BUCKETS, EVENTS, hubName, inboxPrefix, SENDS, sendConsumer } from './layout.ts';
import { unlessMissing } from './streams.ts';

/** What was found out about the part of a Mac or a hub in its fleet. Every text is a sentence. */
export interface FleetExamination {
  /** What is wrong with its files; empty when nothing is. */
  readonly files: readonly string[];
  /** Files of keys that others can read. */
  readonly openFiles: readonly string[];
  /** undefined when a server let it in, or when the files kept it from being tried. */
  readonly refusal?: string;
  /** What the servers lack; undefined when none could be asked. */
  readonly missing?: readonly string[];
}

/** Who asks: a Mac by its id, or a hub. */
export type FleetMember = { readonly mac: string } | 'hub';

/** Looks at the files alone. */
export function examineFiles(settings: FleetSettings, member: FleetMember): FleetExamination {
  const openFiles = [settings.keyFile, settings.contentKeyFile].filter(isOpen);
  return { files: fileMistakes(settings, member), openFiles };
}

/** Looks at the files, and asks the servers once in the name of this member. Changes nothing. */
export async function examineFleet(settings: FleetSettings, member: FleetMember): Promise<FleetExamination> {
  const { files, openFiles } = examineFiles(settings, member);
  if (files.length > 0) return { files, openFiles };
  const name = member === 'hub' ? hubName('doctor') : member.mac;
  try {
    const connection = await connectOnce({
      servers: settings.servers,
      seed: settings.keyFile === '' ? undefined : readFleetFile(settings.keyFile, 'fleet.key_file'),
      ca: settings.caFile === '' ? undefined : readFleetFile(settings.caFile, 'fleet.ca_file'),
      name,
      inboxPrefix: inboxPrefix(name),
    });
    try {
      return { files, openFiles, missing: await missingFor(member, await managerOf(connection)) };
    } finally {
      await connection.close();
    }
  } catch (error) {
    return { files, openFiles, refusal: (error as Error).message };
  }
}

function fileMistakes({ keyFile, caFile, contentKeyFile }: FleetSettings, member: FleetMember): readonly string[] {
  const mistakes: string[] = [];
  const check = (read: () => unknown): void => {
    try {
      read();
    } catch (error) {
      if (!isAppError(error)) throw error;
      mistakes.push(error.message);
    }
  };
  if (keyFile !== '') {
    check(() => {
      const seed = readFleetFile(keyFile, 'fleet.key_file').trim();
      if (!/^SU[A-Z2-7]{56}$/.test(seed)) mistakes.push(`${keyFile} does not hold the seed of a user nkey (SU…).`);
    });
  }
  if (caFile !== '') check(() => readFleetFile(caFile, 'fleet.ca_file'));
  if (contentKeyFile !== '') {
    const keysOf = member === 'hub' ? hubKeys : agentKeys;
    check(() => keysOf(readFleetFile(contentKeyFile, 'fleet.content_key_file')));
  }
  return mistakes;
}

function isOpen(path: string): boolean {
  return path !== '' && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0;
}

async function missingFor(member: FleetMember, jsm: Manager): Promise<readonly string[]> {
  const missing: string[] = [];
  const streams =
    member === 'hub'
      ? [EVENTS.stream, SENDS.stream, ...Object.values(BUCKETS).map((bucket) => `KV_${bucket}`)]
      : [EVENTS.stream];
  for (const stream of streams) {
    const found = await unlessMissing(() => jsm.streams.info(stream));
    if (found === undefined) missing.push(`There is no stream ${stream}.`);
  }
  if (member === 'hub') return missing;
  const queue = await unlessMissing(() => jsm.consumers.info(SENDS.stream, sendConsumer(member.mac)));
  if (queue === undefined) missing.push(`There is no queue of sends for ${member.mac}.`);
  return missing;
}
