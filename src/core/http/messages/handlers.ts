import type { Mistake } from '../../model/errors.ts';
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_RULE } from '../../model/idempotency-key.ts';
import type { CallerSender, SendAnswer } from '../../model/ports/sending-ports.ts';
import { invalidRequest, problem } from '../../model/problems.ts';
import { MAX_ATTACHMENTS } from '../../model/upload.ts';
import { withoutJunk } from '../../model/without-junk.ts';
import { countedSend } from '../../runtime/send-counter.ts';
import { checkBody } from '../../schema/mistakes.ts';
import { pageLink } from '../../schema/page-link.ts';
import { readQuery } from '../../schema/query-parameters.ts';
import { isForm, readUploads } from '../attachments/uploads.ts';
import type { Exchange } from '../exchange.ts';
import { fittingMessages } from '../fitting-list.ts';
import type { Handler } from '../router.ts';
import { attachmentPath, messageQuery, rendered, sendBody, singleMessageQuery } from './schema.ts';

const REPLAYED = { 'Idempotent-Replayed': 'true' };

/** The handlers that read and send messages. */
export const HANDLERS = {
  async listMessages({ query, caller }) {
    const { junk, ...asked } = readQuery(messageQuery, query);
    const { conversation_id: conversationId, since: sinceNs, include_hidden: withHidden, ...others } = asked;
    const { page, content } = await fittingMessages(others.limit, async (limit) => {
      const found = await caller.reader.listMessages({ conversationId, sinceNs, withHidden, ...others, limit });
      return junk === false ? { ...found, items: withoutJunk(found.items, (message) => message, caller) } : found;
    });
    if (page.next === undefined) return { status: 200, content };
    const link = pageLink(messageQuery, query, { cursor: page.next, offset: undefined });
    return { status: 200, content, headers: { Link: link } };
  },

  async getMessage(exchange) {
    const id = exchange.param('id');
    const { include } = readQuery(singleMessageQuery, exchange.query);
    const message = await exchange.caller.reader.message(id, { include });
    if (message === undefined) throw problem('message_not_found');
    return { status: 200, body: message };
  },

  async sendMessage(exchange) {
    const answer = isForm(exchange) ? await sendForm(exchange) : await send(exchange, await exchange.json());
    if (answer.kind === 'dry_run') return { status: 200, body: answer.dryRun };
    const { replayed } = answer;
    if (answer.kind === 'deferred') {
      const { path, body } = answer.deferred;
      return { status: 202, body, headers: { Location: path, ...(replayed && REPLAYED) } };
    }
    const { confirmed, message } = answer;
    return {
      status: confirmed ? 201 : 202,
      body: message,
      headers: {
        ...(confirmed && { Location: `messages/${message.id}` }),
        ...(replayed && REPLAYED),
      },
    };
  },
} satisfies Readonly<Record<string, Handler>>;

/**
 * Sends the message that a form describes, with the files in the form. Always removes the uploaded files afterwards.
 */
async function sendForm(exchange: Exchange): Promise<SendAnswer> {
  const { fields, files } = await readUploads(exchange);
  const ids = files.map(({ id }) => id);
  try {
    return await send(exchange, exchange.strictly(bodyOfForm(fields, ids)));
  } finally {
    await exchange.caller.uploads.remove(ids);
  }
}

async function send(exchange: Exchange, body: unknown): Promise<SendAnswer> {
  const { sender, uploads } = exchange.caller;
  const key = exchange.header('idempotency-key');
  const { attachment_ids: ids = [], ...request } = await readSend(exchange, body);
  const answer = await countedSend(
    sender.send({
      ...request,
      requestId: exchange.id,
      ...(ids.length > 0 && { uploads: uploads.files(ids) }),
      ...(key !== undefined && { idempotencyKey: { kind: 'client', key } }),
    }),
    exchange.counters,
  );
  if (answer.kind !== 'dry_run') await uploads.discard(ids);
  return answer;
}

/**
 * Reads a send. Throws all its mistakes together: those in the header, the body and the files on disk (decision D7).
 */
async function readSend(exchange: Exchange, body: unknown) {
  const { sender } = exchange.caller;
  const checked = checkBody(sendBody, body);
  const inHeader = headerMistakes(exchange.header('idempotency-key'));
  if (checked.ok && inHeader.length === 0) {
    const { dry_run: dryRun = false, attachments = [], ...message } = await rendered(checked.value);
    return { ...message, attachments, ...(dryRun && { dryRun }) };
  }
  const inBody = checked.ok ? [] : checked.mistakes;
  throw invalidRequest([...inHeader, ...inBody, ...(await attachmentMistakes(body, sender))]);
}

/** Returns the mistakes in an Idempotency-Key (decision D9). */
function headerMistakes(idempotencyKey: string | undefined): readonly Mistake[] {
  if (idempotencyKey === undefined || IDEMPOTENCY_KEY.test(idempotencyKey)) return [];
  return [{ pointer: 'Idempotency-Key', message: IDEMPOTENCY_KEY_RULE }];
}

/** Checks the files at the paths in the body's `attachments`. The pointers of the mistakes refer to the body. */
async function attachmentMistakes(body: unknown, sender: CallerSender): Promise<readonly Mistake[]> {
  const given = (body as { readonly attachments?: unknown } | null)?.attachments;
  if (!Array.isArray(given)) return [];
  const paths = given.slice(0, MAX_ATTACHMENTS).flatMap((item, index) => {
    const path = attachmentPath.safeParse(item);
    return path.success ? [{ path: path.data, index }] : [];
  });
  const found = await sender.attachmentMistakes(paths.map(({ path }) => path));
  return found.map(({ pointer, message }) => {
    const index = paths[Number(pointer.slice('/attachments/'.length))]?.index;
    return { pointer: index === undefined ? pointer : `/attachments/${index}`, message };
  });
}

/** The fields that a form may repeat. */
const LISTS: ReadonlySet<string> = new Set(['attachments', 'attachment_ids']);

/**
 * Converts the fields of a form to the JSON body of the same send. In `attachment_ids`, the ids of the form's files
 * (`uploadIds`) come before the ids in the fields.
 */
function bodyOfForm(fields: readonly (readonly [string, string])[], uploadIds: readonly string[]): unknown {
  // The body has no prototype, because a client could send a field named `__proto__`.
  const body = Object.create(null) as Record<string, unknown>;
  body.body = '';
  for (const [name, value] of fields) {
    const given = fields.filter(([other]) => other === name).map(([, one]) => one);
    if (LISTS.has(name)) body[name] = given;
    // Any other repeated field becomes an array, which the schema refuses.
    else body[name] = given.length > 1 ? given : plain(name, value);
  }
  const ids = [...uploadIds, ...((body.attachment_ids as readonly string[] | undefined) ?? [])];
  return { ...body, ...(ids.length > 0 && { attachment_ids: ids }) };
}

function plain(name: string, value: string): unknown {
  return name === 'dry_run' && (value === 'true' || value === 'false') ? value === 'true' : value;
}
