import type { AttachmentForm } from '../../client/postern-client.ts';
import { save, upload } from '../../core/cli/files.ts';
import { oneLine } from '../../core/cli/output/text.ts';
import type { Served } from '../../core/cli/service-connection.ts';

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
