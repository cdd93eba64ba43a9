import type { ListedAttachment } from '../core/model/listed-attachment.ts';
import type { Upload } from '../core/model/upload.ts';
import { has, notPostern, parsed } from './postern-error.ts';
import { queryOf } from './request.ts';
import type { TransportRequest, TransportResponse } from './transport.ts';

/** A file to upload. */
export interface FileToSend {
  /** The name that the receiver sees. */
  readonly name: string;
  /** For example `image/jpeg`. */
  readonly type?: string;
  /** At most 100 MB. A stream is sent in pieces, while it is still being read. */
  readonly content: Uint8Array | AsyncIterable<Uint8Array>;
}

/** The form in which an attachment is requested: unchanged, or converted. */
export type AttachmentForm =
  | { readonly as?: undefined }
  /** A picture that every program can show. `max` limits its longer side, in pixels. */
  | { readonly as: 'jpeg'; readonly max?: number }
  /** A recording that every program can play. */
  | { readonly as: 'm4a' };

/** The bytes of an attachment. */
export interface AttachmentContent {
  /** The name was chosen by somebody else: never use it as a path. */
  readonly name: string;
  readonly type: string;
  readonly content: AsyncIterable<Uint8Array>;
}

/** The transport that carries these calls to the service. */
export interface AttachmentTransport {
  readonly address: string;
  pages<Item>(first: string, member: keyof Item & string): AsyncGenerator<Item, void>;
  request(method: string, path: string, request: Partial<TransportRequest>): Promise<TransportResponse>;
}

/** Uploads files to send, and downloads files of messages. */
export class AttachmentsApi {
  readonly #transport: AttachmentTransport;

  constructor(transport: AttachmentTransport) {
    this.#transport = transport;
  }

  /**
   * Uploads a file. To send it, pass the `id` of the answer in `attachment_ids`, with the same key and within 24 hours.
   */
  async upload({ name, type = 'application/octet-stream', content }: FileToSend): Promise<Upload> {
    const { address } = this.#transport;
    const { status, text } = await this.#transport.request('POST', 'attachments', {
      headers: {
        'Content-Type': type,
        'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(name.replaceAll(/\p{Surrogate}/gu, '_'))}`,
      },
      body: content,
    });
    const upload = parsed(await text());
    if (!has(upload, 'expires_at')) throw notPostern(status, address);
    return upload as Upload;
  }

  /** Yields the attachments of a conversation, the newest first, page after page. */
  inConversation(id: string, page: { readonly limit?: number } = {}): AsyncGenerator<ListedAttachment, void> {
    return this.#transport.pages(`conversations/${encodeURIComponent(id)}/attachments${queryOf(page)}`, 'message_id');
  }

  /** Downloads a message's n-th attachment, counted from 0. */
  async get(messageId: string, n = 0, form: AttachmentForm = {}): Promise<AttachmentContent> {
    const path = `messages/${encodeURIComponent(messageId)}/attachments/${n}${queryOf(form)}`;
    const { status, header, bytes } = await this.#transport.request('GET', path, {});
    const encoded = /filename\*=UTF-8''([^;]*)/.exec(header('content-disposition') ?? '')?.[1];
    if (encoded === undefined) throw notPostern(status, this.#transport.address);
    const type = header('content-type') ?? 'application/octet-stream';
    return { name: decodeURIComponent(encoded), type, content: bytes() };
  }
}
