import { createReadStream, createWriteStream, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { AttachmentContent, PosternClient, Upload } from '../../client/postern-client.ts';
import { errorCode } from '../model/errors.ts';
import { safeFileName } from '../model/file-name.ts';
import { mediaTypeOf } from '../model/media-types.ts';
import { EXIT } from './context.ts';
import { Refusal } from './service-connection.ts';

/** Uploads a file of this machine, because the service may run on another one. */
export async function upload(client: PosternClient, path: string): Promise<Upload> {
  assertFile(path);
  const type = mediaTypeOf('', '', path);
  const content = createReadStream(path);
  try {
    return await client.attachments.upload({ name: basename(resolve(path)), content, ...(type !== null && { type }) });
  } catch (error) {
    throw content.errored === null ? error : unreadable(path, content.errored);
  } finally {
    content.destroy();
  }
}

/**
 * Writes an attachment to a new file that only the user can read, and returns its path. Without `path`, uses the
 * attachment's name, made safe: it names no other folder and is never read as an option.
 */
export async function save({ name, content }: AttachmentContent, path: string | undefined): Promise<string> {
  const target = path ?? safeFileName(name).replace(/^-/, '_');
  try {
    await pipeline(content, createWriteStream(target, { flags: 'wx', mode: 0o600 }));
    return target;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EEXIST') {
      throw new Refusal(EXIT.crash, `${target} already exists. Nothing was written.`, 'Name another file with --out.');
    }
    throw new Refusal(EXIT.crash, `${target} could not be written completely (${code ?? 'the connection broke'}).`);
  }
}

function assertFile(path: string): void {
  try {
    if (statSync(path).isFile()) return;
  } catch (error) {
    throw unreadable(path, error);
  }
  throw new Refusal(EXIT.refusedInput, `${path} is not a regular file. Nothing was sent.`);
}

function unreadable(path: string, error: unknown): Refusal {
  return new Refusal(EXIT.refusedInput, `The file ${path} cannot be read (${errorCode(error)}). Nothing was sent.`);
}
