import { createReadStream, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { PosternClient, Upload } from '../../client/postern-client.ts';
import { errorCode } from '../model/errors.ts';
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
