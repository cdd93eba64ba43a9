import type { VNode } from 'preact';
import { visibleParts } from '../../../core/model/visible.ts';

/** Shows a text with every invisible character as a mark, such as ⟨U+202E⟩, and long gaps as ⟨40 blanks⟩. */
export const Exactly = ({ text }: { readonly text: string }): VNode => (
  <>{visibleParts(text).map(({ text: part, isMark }) => (isMark ? <mark>{part}</mark> : part))}</>
);
