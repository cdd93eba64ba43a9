import type { BusinessCard } from '../../client/content-types.ts';
import {
  dictionaryIn,
  dictionaryOf,
  isList,
  numberIn,
  parseJson,
  present,
  type RowBudget,
} from '../../core/chatdb/public.ts';

type Dictionary = ReadonlyMap<string, unknown>;

/**
 * Returns a business's question, or the answer to one, from a balloon's decoded archive; undefined for an unknown kind.
 */
export function businessCardOf(payload: Dictionary, budget: RowBudget): BusinessCard | undefined {
  const data = payload.get('data');
  const text = data instanceof Uint8Array ? Buffer.from(data).toString('utf8') : data;
  const content = dictionaryOf(typeof text === 'string' ? parseJson(text, budget) : undefined);
  const reader = new CardReader(payload, budget);
  if (content.has('quick-reply')) return reader.quickReply(dictionaryOf(content.get('quick-reply')));
  if (content.has('listPicker')) return reader.listPicker(content);
  if (content.has('dynamic')) return reader.form(dictionaryOf(content.get('dynamic')));
  return undefined;
}

class CardReader {
  readonly #payload: Dictionary;
  readonly #budget: RowBudget;

  constructor(payload: Dictionary, budget: RowBudget) {
    this.#payload = payload;
    this.#budget = budget;
  }

  quickReply(reply: Dictionary): BusinessCard {
    const options = this.#list(reply.get('items')).map((item) => this.#title(item));
    return {
      type: 'quick_reply',
      ...present({
        summary: this.#budget.textIn(reply, 'summaryText') ?? this.#summary(),
        options: options.length > 0 ? options : undefined,
        selected: this.#budget.shown(options[numberIn(reply, 'selectedIndex') ?? -1]),
      }),
    };
  }

  /**
   * Returns a question with choices, or the answer to one. In an answer, the first section contains the chosen items.
   */
  listPicker(content: Dictionary): BusinessCard {
    const isAnswer = content.has('replyMessage');
    const sections = this.#list(dictionaryOf(content.get('listPicker')).get('sections'));
    const items = sections.flatMap((section, index) =>
      this.#list(section.get('items')).map((item) => ({
        title: this.#title(item),
        ...present({ subtitle: this.#budget.textIn(item, 'subtitle') }),
        selected: isAnswer && index === 0,
      })),
    );
    const received = dictionaryOf(content.get('receivedMessage'));
    const summary = this.#budget.textIn(received, 'title') ?? this.#summary();
    return { type: 'list_picker', ...present({ summary }), items };
  }

  form(dynamic: Dictionary): BusinessCard {
    const answers = this.#list(dynamic.get('selections')).map((selection) => ({
      question: this.#budget.textIn(selection, 'subtitle') ?? this.#title(selection),
      answers: this.#list(selection.get('items')).map((item) => this.#title(item)),
    }));
    const summary = this.#summary();
    if (answers.length > 0) return { type: 'form_response', ...present({ summary }), answers };
    const shown = dictionaryIn(this.#payload, 'userInfo');
    const [title, subtitle] = ['caption', 'subcaption'].map((name) => this.#budget.textIn(shown, name));
    return { type: 'form_request', ...present({ title, subtitle, summary }) };
  }

  #summary(): string | undefined {
    return this.#budget.textIn(this.#payload, 'ldtext');
  }

  #title(item: Dictionary): string {
    return this.#budget.textIn(item, 'title') ?? '';
  }

  #list(value: unknown): readonly Dictionary[] {
    return isList(value) ? this.#budget.items(value).map(dictionaryOf) : [];
  }
}
