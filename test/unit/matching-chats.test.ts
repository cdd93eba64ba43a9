import { expect, test } from '@jest/globals';
import { matchingChats } from '../../src/core/model/folded.ts';

const CHATS = [
  { id: 'any;-;+15550100', name: '', isGroup: false, participants: ['+15550100'] },
  { id: 'iMessage;+;chat42', name: 'Garden', isGroup: true, participants: ['+15550100', 'ben@example.com'] },
];
const nameOf = (address: string): string | undefined => (address === '+15550100' ? 'Ana Silva' : undefined);

test.each([
  ['ana', ['any;-;+15550100', 'iMessage;+;chat42']],
  ['(555) 0100', ['any;-;+15550100', 'iMessage;+;chat42']],
  ['garden', ['iMessage;+;chat42']],
  ['chat42', ['iMessage;+;chat42']],
  ['any;-;+15550100', ['any;-;+15550100']],
  // The beginning of an id is no word that anybody knows.
  ['ny', []],
  ['message', []],
])('%j finds the conversations that have it where a person sees it', (text, found) => {
  expect(matchingChats(CHATS, text, nameOf)).toEqual(found);
});
