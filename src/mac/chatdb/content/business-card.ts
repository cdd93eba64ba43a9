import type { BusinessCard } from '../../../domain/cards.ts';
import { dictionaryIn, dictionaryOf, isList, numberIn, parseJson, present, textIn } from './members.ts';

type Dictionary = ReadonlyMap<string, unknown>;

/**
 * Returns a business's question, or the answer to one, from a balloon's decoded archive; undefined for an unknown kind.
 */
export function businessCardOf(payload: Dictionary): BusinessCard | undefined {
  const data = payload.get('data');
  const text = data instanceof Uint8Array ? Buffer.from(data).toString('utf8') : data;
  const content = dictionaryOf(typeof text === 'string' ? parseJson(text) : undefined);
  const summary = textIn(payload, 'ldtext');
  if (content.has('quick-reply')) return quickReply(dictionaryOf(content.get('quick-reply')), summary);
  if (content.has('listPicker')) return listPicker(content, summary);
  if (content.has('dynamic')) return form(dictionaryOf(content.get('dynamic')), payload, summary);
  return undefined;
}

function quickReply(reply: Dictionary, summary: string | undefined): BusinessCard {
  const options = listOf(reply.get('items')).map(titleOf);
  return {
    type: 'quick_reply',
    ...present({
      summary: textIn(reply, 'summaryText') ?? summary,
      options: options.length > 0 ? options : undefined,
      selected: options[numberIn(reply, 'selectedIndex') ?? -1],
    }),
  };
}

/** Returns a question with choices, or the answer to one. In an answer, the first section contains the chosen items. */
function listPicker(content: Dictionary, summary: string | undefined): BusinessCard {
  const isAnswer = content.has('replyMessage');
  const sections = listOf(dictionaryOf(content.get('listPicker')).get('sections'));
  const items = sections.flatMap((section, index) =>
    listOf(section.get('items')).map((item) => ({
      title: titleOf(item),
      ...present({ subtitle: textIn(item, 'subtitle') }),
      selected: isAnswer && index === 0,
    })),
  );
  return {
    type: 'list_picker',
    ...present({ summary: textIn(dictionaryOf(content.get('receivedMessage')), 'title') ?? summary }),
    items,
  };
}

function form(dynamic: Dictionary, payload: Dictionary, summary: string | undefined): BusinessCard {
  const answers = listOf(dynamic.get('selections')).map((selection) => ({
    question: textIn(selection, 'subtitle') ?? titleOf(selection),
    answers: listOf(selection.get('items')).map(titleOf),
  }));
  if (answers.length > 0) return { type: 'form_response', ...present({ summary }), answers };
  const shown = dictionaryIn(payload, 'userInfo');
  const texts = { title: textIn(shown, 'caption'), subtitle: textIn(shown, 'subcaption'), summary };
  return { type: 'form_request', ...present(texts) };
}

function listOf(value: unknown): readonly Dictionary[] {
  return isList(value) ? value.map(dictionaryOf) : [];
}

function titleOf(item: Dictionary): string {
  return textIn(item, 'title') ?? '';
}
