import type { AccessControl } from '../../core/http/access-control.ts';
import { unauthorized } from '../../core/http/api-keys.ts';
import { isForm, readUploads } from '../../core/http/attachments/uploads.ts';
import type { Exchange } from '../../core/http/exchange.ts';
import type { OriginPolicy } from '../../core/http/origin-policy.ts';
import { problemAnswer } from '../../core/http/problem-answer.ts';
import type { Problem } from '../../core/http/problem-document.ts';
import { mediaType } from '../../core/model/media-types.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { problem } from '../../core/model/problems.ts';
import { WrongKeyDelay } from '../../core/runtime/wrong-key-delay.ts';
import { parseQuery } from '../../core/schema/query-parameters.ts';
import type { Wire, WireAnswer, WireRequest } from './wire.ts';

export interface WireListenerParts {
  readonly wire: Wire;
  readonly clock: Clock;
}

/**
 * Serves the port at which Postern speaks another program's protocol. Admits and reads requests, and writes the
 * answers.
 */
export class WireListener {
  readonly #parts: WireListenerParts;
  readonly #wrongKeys: WrongKeyDelay;

  constructor(parts: WireListenerParts) {
    this.#parts = parts;
    this.#wrongKeys = new WrongKeyDelay(parts.clock);
  }

  async receive(exchange: Exchange, access: AccessControl, guard: OriginPolicy): Promise<void> {
    try {
      this.#send(exchange, await this.#answer(exchange, access, guard));
    } catch (error) {
      exchange.noteDefect(error);
      const { status, body, headers } = problemAnswer(error);
      const { code, detail, hint, parts_sent: partsSent = [] } = body as Problem & { parts_sent?: readonly string[] };
      const answer = this.#parts.wire.failure({ status, code, detail, hint, partsSent });
      const { 'Content-Type': _type, ...others } = headers ?? {};
      exchange.send({ status: answer.status, body: answer.body, headers: others });
    }
  }

  async #answer(exchange: Exchange, access: AccessControl, guard: OriginPolicy): Promise<WireAnswer> {
    const { wire } = this.#parts;
    const path = pathOf(exchange);
    const query = parseQuery(exchange.rawQuery, false);
    const keys = wire.keyNames.flatMap((name) => query.getAll(name));
    for (const name of wire.keyNames) query.delete(name);
    const [key, ...others] = new Set(keys);
    const isAdmitted = await access.admitWire(exchange, guard, others.length === 0 ? key : undefined);
    if (!isAdmitted) {
      await this.#wrongKeys.wait();
      throw unauthorized();
    }
    const { caller, id: requestId, method } = exchange;
    const endpoint = wire.find({ method, path, caller });
    const { body, uploadIds } = await this.#bodyOf(exchange, endpoint.takesForm);
    try {
      const files = caller.uploads.files(uploadIds);
      const request: WireRequest = { method, path, query, caller, body, files, requestId };
      const answer = await endpoint.answer(request);
      if (answer.isUncounted === true) await access.uncount(caller);
      return answer;
    } finally {
      await caller.uploads.remove(uploadIds);
    }
  }

  async #bodyOf(
    exchange: Exchange,
    takesForm: boolean,
  ): Promise<{ readonly body: unknown; readonly uploadIds: readonly string[] }> {
    const { headers, method } = exchange.request;
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    if (!hasBody || method === 'GET' || method === 'HEAD') return { body: undefined, uploadIds: [] };
    if (!takesForm || !isForm(exchange)) return { body: await exchange.json(), uploadIds: [] };
    const { fields, files } = await readUploads(exchange);
    return { body: Object.fromEntries(fields), uploadIds: files.map(({ id }) => id) };
  }

  #send(exchange: Exchange, { status, body, file, route }: WireAnswer): void {
    if (route !== undefined) exchange.route = route;
    if (file === undefined) {
      exchange.send({ status, body });
      return;
    }
    const { bytes } = file;
    exchange.send({
      status,
      stream: { bytes, read: () => file.read(0, bytes - 1), close: () => file.close() },
      headers: { 'Content-Type': mediaType(file.mimeType), 'Content-Disposition': 'attachment' },
    });
  }
}

/** Returns the decoded segments of a path. Throws `invalid_path`. */
function pathOf({ path }: Exchange): readonly string[] {
  try {
    const segments = path.split('/').slice(1).map(decodeURIComponent);
    if (path.startsWith('/') && !segments.some((segment) => segment.includes('\0'))) return segments;
  } catch {
    // Malformed percent-encoding.
  }
  throw problem('invalid_path');
}
