import type { VNode } from 'preact';
import { Exactly } from './exactly.tsx';

/** Matches what stands between quotation marks, which may hold others. */
const QUOTED = /(?<=“)((?:[^“”]|“[^“”]*”)+)(?=”)/;

/**
 * A sentence whose quotations keep their own direction, so that one from right to left does not move the words around
 * it. So does `who`, a name with which the sentence may begin.
 */
export function Quoting({ text, who = '' }: { readonly text: string; readonly who?: string }): VNode {
  const name = who !== '' && text.startsWith(`${who} `) ? who : '';
  const parts = text.slice(name.length).split(QUOTED);
  return (
    <>
      {name !== '' && <bdi>{name}</bdi>}
      {parts.map((part, index) => (index % 2 === 0 ? part : <bdi>{part}</bdi>))}
    </>
  );
}

/** Names with commas between them. Each keeps its own direction. */
export const Names = ({ names }: { readonly names: readonly string[] }): VNode => (
  <>{names.length < 2 ? names[0] : names.map((name, index) => [index > 0 && ', ', <bdi key={name}>{name}</bdi>])}</>
);

/**
 * Names in a sentence, such as "Ana, Ben and Cho". Each keeps its own direction, and its invisible characters are
 * marked.
 */
export const NameList = ({ names }: { readonly names: readonly string[] }): VNode => (
  <>
    {names.map((name, index) => [
      index > 0 && (index === names.length - 1 ? ' and ' : ', '),
      <bdi key={name}>
        <Exactly text={name} />
      </bdi>,
    ])}
  </>
);
