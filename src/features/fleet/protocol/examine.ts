import { X509Certificate } from 'node:crypto';
import { statSync } from 'node:fs';
import { isAppError } from '../../../core/model/errors.ts';
import type { FleetSettings } from '../../../core/model/fleet.ts';
import { connectOnce, type Manager, managerOf } from './connect-once.ts';
import { readEnvelope, readFleetFile, readSeed } from './connection.ts';
import { agentKeys, hubKeys } from './envelope.ts';
import { EVENTS, hubName, inboxPrefix, SENDS, STREAMS, sendConsumer } from './layout.ts';
import { storedClockAhead } from './presence.ts';
import { unlessMissing } from './streams.ts';

/** The result of examining a Mac's or a hub's membership. `files` and `missing` hold sentences. */
export interface FleetExamination {
  /** The mistakes in the member's files. */
  readonly files: readonly string[];
  /** Key files that other accounts can read. */
  readonly openFiles: readonly string[];
  /** Why no server accepted the member; undefined if one did, or if mistakes in the files prevented the attempt. */
  readonly refusal?: string;
  /** The streams and queues that the servers lack; undefined if no server could be asked. */
  readonly missing?: readonly string[];
  /** The certificates that the connection needs, and when they expire, in Unix milliseconds. */
  readonly certificates?: readonly { readonly name: string; readonly end: number }[];
  /**
   * How many milliseconds a Mac's clock was ahead of the broker's when the Mac last wrote its presence; undefined for a
   * hub, and if there is no readable presence.
   */
  readonly clockAheadMs?: number | undefined;
}

/** A Mac by its id, or a hub. */
export type FleetMember = { readonly mac: string } | 'hub';

/** Examines the files without asking the servers. */
export function examineFiles(settings: FleetSettings, member: FleetMember): FleetExamination {
  const openFiles = [settings.keyFile, settings.contentKeyFile].filter(isOpen);
  return { files: fileMistakes(settings, member), openFiles };
}

/** Examines the files and asks the servers once as this member. Changes nothing. */
export async function examineFleet(settings: FleetSettings, member: FleetMember): Promise<FleetExamination> {
  const { files, openFiles } = examineFiles(settings, member);
  if (files.length > 0) return { files, openFiles };
  const name = member === 'hub' ? hubName('doctor') : member.mac;
  const ca = settings.caFile === '' ? undefined : readFleetFile(settings.caFile, 'fleet.ca_file');
  const certificates =
    ca === undefined ? [] : [{ name: settings.caFile, end: Date.parse(new X509Certificate(ca).validTo) }];
  try {
    const connection = await connectOnce({
      servers: settings.servers,
      seed: settings.keyFile === '' ? undefined : readSeed(settings.keyFile),
      ca,
      name,
      inboxPrefix: inboxPrefix(name),
      onCertificateEnd: (end) => void certificates.push({ name: "The server's certificate", end }),
    });
    try {
      const jsm = await managerOf(connection);
      const missing = await missingFor(member, jsm);
      const envelope = readEnvelope(settings, agentKeys);
      const clockAheadMs = member === 'hub' ? undefined : await storedClockAhead(jsm, envelope, member.mac);
      return { files, openFiles, missing, certificates, clockAheadMs };
    } finally {
      await connection.close();
    }
  } catch (error) {
    return { files, openFiles, certificates, refusal: (error as Error).message };
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
  if (keyFile !== '') check(() => readSeed(keyFile));
  if (caFile !== '') {
    check(() => {
      if (!isCertificate(readFleetFile(caFile, 'fleet.ca_file'))) mistakes.push(`${caFile} holds no certificate.`);
    });
  }
  check(() => readEnvelope({ contentKeyFile }, member === 'hub' ? hubKeys : agentKeys));
  return mistakes;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).validTo !== '';
  } catch {
    return false;
  }
}

function isOpen(path: string): boolean {
  return path !== '' && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0;
}

async function missingFor(member: FleetMember, jsm: Manager): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const stream of member === 'hub' ? STREAMS : [EVENTS.stream]) {
    const found = await unlessMissing(() => jsm.streams.info(stream));
    if (found === undefined) missing.push(`There is no stream ${stream}.`);
  }
  if (member === 'hub') return missing;
  const queue = await unlessMissing(() => jsm.consumers.info(SENDS.stream, sendConsumer(member.mac)));
  if (queue === undefined) missing.push(`There is no queue of sends for ${member.mac}.`);
  return missing;
}
