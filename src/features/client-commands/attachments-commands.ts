import { rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { AttachmentContent, AttachmentForm } from '../../client/postern-client.ts';
import { EXIT } from '../../core/cli/context.ts';
import { upload } from '../../core/cli/files.ts';
import { oneLine } from '../../core/cli/output/text.ts';
import { Refusal, type Served } from '../../core/cli/service-connection.ts';
import { errorCode } from '../../core/model/errors.ts';
import { safeFileName } from '../../core/model/file-name.ts';

export interface GetOptions {
  readonly out?: string;
  readonly as?: 'jpeg' | 'm4a';
  readonly max?: number;
}

/** `postern attachments get`: writes an attachment of a message to a file. */
export async function getAttachment(
  messageId: string,
  n: number,
  { out, as, max }: GetOptions,
  { client, answer }: Served,
): Promise<void> {
  const file = await client.attachments.get(messageId, n, formOf(as, max));
  const path = await save(file, out);
  answer({ path, type: file.type }, `Wrote ${oneLine(path)}.`);
}

/** `postern attachments upload`: uploads a file, which programs then send by its id. */
export async function uploadAttachment(path: string, _options: object, { client, answer }: Served): Promise<void> {
  const uploaded = await upload(client, path);
  answer(uploaded, uploaded.id);
}

function formOf(as: GetOptions['as'], max: number | undefined): AttachmentForm {
  if (as === undefined) return {};
  return as === 'jpeg' ? { as, ...(max !== undefined && { max }) } : { as };
}

/**
 * Writes an attachment to a new file that only the user can read, and returns its path. Without `path`, uses the
 * attachment's name, made safe: it names no other folder and is never read as an option.
 */
async function save({ name, content }: AttachmentContent, path: string | undefined): Promise<string> {
  const target = path ?? safeFileName(name).replace(/^-/, '_');
  try {
    const file = await open(target, 'wx', 0o600);
    try {
      await pipeline(content, file.createWriteStream());
    } catch (error) {
      // A part would pass for the whole, and be in the way of the next try.
      rmSync(target, { force: true });
      throw error;
    }
    return target;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EEXIST') {
      throw new Refusal(EXIT.failed, `${target} already exists. Nothing was written.`, 'Name another file with --out.');
    }
    throw new Refusal(EXIT.failed, `${target} could not be written (${code ?? 'the connection broke'}).`);
  }
}
