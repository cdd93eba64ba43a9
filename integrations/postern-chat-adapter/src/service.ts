/** A message as Postern's API has it. */
export interface PosternMessage {
  readonly id: string;
  readonly conversation_id: string;
  readonly sender: string;
  readonly body: string | null;
  readonly attachments: readonly string[];
  readonly timestamp: string;
  readonly is_from_me: boolean;
}

/** A send that waits for the owner's decision. */
export interface HeldSend {
  readonly approval: { readonly id: string };
}

interface Asked {
  readonly method?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The HTTP API of one service. */
export class PosternService {
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.#url = `${url.replace(/\/+$/, '')}/api/v1`;
    this.#key = key;
  }

  /** Throws with the service's own sentence, which names every mistake. */
  async ask<Answer>(path: string, { method = 'GET', body, headers = {} }: Asked = {}): Promise<Answer> {
    const answer = await fetch(this.#url + path, {
      method,
      headers: { 'X-API-Key': this.#key, ...(body && { 'Content-Type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const json = (text === '' ? {} : JSON.parse(text)) as Answer & { readonly detail?: string; readonly code?: string };
    if (!answer.ok) throw new Error(`Postern: ${json.detail ?? answer.status} (${json.code ?? answer.status})`);
    return json;
  }
}
