import type { AttachmentForm } from '../../client/postern-client.ts';
import { type ClientContext, EXIT } from '../context.ts';
import { save, upload } from '../files.ts';
import { json, oneLine } from '../output/text.ts';
import { type ConnectionOptions, withService } from '../service-connection.ts';

export interface GetOptions extends ConnectionOptions {
  readonly out?: string;
  readonly as?: 'jpeg' | 'm4a';
  readonly max?: number;
}

/** `postern attachments get`: writes an attachment of a message to a file. */
export function getAttachment(
  messageId: string,
  n: number,
  { out, as, max, ...options }: GetOptions,
  context: ClientContext,
): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const file = await client.attachments.get(messageId, n, formOf(as, max));
    const path = await save(file, out);
    context.stdout(options.json === true ? json({ path, type: file.type }, 2) : `Wrote ${oneLine(path)}.`);
    return EXIT.ok;
  });
}

/** `postern attachments upload`: uploads a file that programs then send by its id. */
export function uploadAttachment(path: string, options: ConnectionOptions, context: ClientContext): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const uploaded = await upload(client, path);
    context.stdout(options.json === true ? json(uploaded, 2) : uploaded.id);
    return EXIT.ok;
  });
}

function formOf(as: GetOptions['as'], max: number | undefined): AttachmentForm {
  if (as === undefined) return {};
  return as === 'jpeg' ? { as, ...(max !== undefined && { max }) } : { as };
}
