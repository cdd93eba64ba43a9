// Components that every view uses.

import type { ButtonHTMLAttributes, ComponentChildren, TargetedKeyboardEvent, VNode } from 'preact';
import type { SteadyPlace } from './steady.ts';
import { busily, copy } from './toast.ts';

export type Mark = 'good' | 'warn' | 'bad' | 'off';

type Kind = { readonly kind?: string | undefined };

/** Joins the names of classes; leaves out what is false or empty. */
export const classes = (...names: readonly (string | false | undefined)[]): string => names.filter(Boolean).join(' ');

/**
 * Shows one of the page's symbols. Screen readers skip it, so a word must stand beside it, or its button needs a label.
 */
export const Icon = ({ name }: { readonly name: string }): VNode => (
  <svg class="i" aria-hidden="true">
    <use href={`#i-${name}`} />
  </svg>
);

/** A dot and a word. */
export const State = ({ kind, text }: { readonly kind: Mark; readonly text: string }): VNode => (
  <span class={`state ${kind}`}>
    <span class={`dot ${kind}`} />
    {text}
  </span>
);

export const Tag = ({ kind, children }: Kind & { readonly children: ComponentChildren }): VNode => (
  <span class={classes('tag', kind)}>{children}</span>
);

type ButtonProps = Kind &
  Omit<ButtonHTMLAttributes, 'onClick' | 'class'> & {
    /** The button is busy until the action ends. An error is shown as a toast. */
    readonly run: (control: HTMLButtonElement) => unknown;
  };

/** `kind` is `first`, `bare`, `bad`, `mini`, `icon` or a mixture. */
export const Button = ({ kind, run, children, ...props }: ButtonProps): VNode => (
  <button
    type="button"
    class={classes('btn', kind)}
    onClick={({ currentTarget: control }) => void busily(control, () => run(control))}
    {...props}
  >
    {children}
  </button>
);

interface IconButtonProps extends Omit<ButtonProps, 'children' | 'aria-label' | 'title'> {
  readonly icon: string;
  readonly label: string;
}

/** A button that shows only a symbol. */
export const IconButton = ({ icon, label, kind = 'bare', ...props }: IconButtonProps): VNode => (
  <Button {...props} kind={`icon ${kind}`} aria-label={label} title={label}>
    <Icon name={icon} />
  </Button>
);

/** Returns a text with commands of which no word is broken at a hyphen, such as that of an option. */
export const unbroken = (text: string): ComponentChildren =>
  text.split(/(\S*-\S*)/).map((word, index) => (index % 2 === 0 ? word : <span class="whole">{word}</span>));

/** Shows one or more lines with a button that copies them. */
export const CodeLine = ({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }): VNode => (
  <div class="code">
    <pre>{unbroken(text)}</pre>
    <Button kind="mini icon bare" aria-label={label} run={() => copy(text)}>
      <Icon name="copy" />
    </Button>
  </div>
);

interface EmptyProps {
  readonly icon: string;
  readonly title: string;
  readonly text: string;
  readonly children?: ComponentChildren;
}

export const Empty = ({ icon, title, text, children }: EmptyProps): VNode => (
  <div class="empty">
    <span class="mark">
      <Icon name={icon} />
    </span>
    <h2>{title}</h2>
    <p>{text}</p>
    {children}
  </div>
);

const NOTE_ICONS = { accent: 'info', warn: 'alert', bad: 'alert' };

interface NoteProps {
  readonly kind?: keyof typeof NOTE_ICONS;
  readonly children: ComponentChildren;
}

export const Note = ({ kind, children }: NoteProps): VNode => (
  <div class={classes('note', kind)}>
    <Icon name={kind === undefined ? 'info' : NOTE_ICONS[kind]} />
    <div class="grow">{children}</div>
  </div>
);

interface HeadProps {
  readonly title: string;
  readonly text?: string;
  readonly back?: readonly [href: string, label: string];
  readonly beside?: ComponentChildren;
  /** The buttons of the view. */
  readonly children?: ComponentChildren;
}

/** The title of a view, with its buttons. */
export const PageHead = ({ title, text, back, beside, children }: HeadProps): VNode => (
  <div class="head">
    {back && (
      <a class="btn icon bare" href={back[0]} aria-label={back[1]}>
        <Icon name="left" />
      </a>
    )}
    <h1 dir="auto">{title}</h1>
    {beside}
    {children && <div class="row push">{children}</div>}
    {text && <p>{text}</p>}
  </div>
);

interface CardProps {
  readonly title: string;
  readonly class?: string;
  readonly id?: string;
  /** Shown beside the title. */
  readonly beside?: ComponentChildren;
  readonly children: ComponentChildren;
}

export const Card = ({ title, class: name, id, beside, children }: CardProps): VNode => (
  <section class={classes('card', name)} id={id}>
    <header>
      <h2>{title}</h2>
      {beside}
    </header>
    {children}
  </section>
);

/** A column's name; with its class, such as `num`. */
export type Column = string | readonly [name: string, kind: string];

interface TableProps {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Id of the body. */
  readonly id?: string;
  /** Keeps the rows in their places; see `useSteady`. */
  readonly place?: SteadyPlace<HTMLTableElement>;
  readonly children: ComponentChildren;
}

/** Moves the focus between the first links of the rows of a table or a list. */
export function moveRow(event: TargetedKeyboardEvent<HTMLElement>): void {
  const row = event.target instanceof Element ? event.target.closest('tr, li') : null;
  const other = { ArrowDown: row?.nextElementSibling, ArrowUp: row?.previousElementSibling }[event.key];
  const link = other?.querySelector('a');
  if (!link) return;
  event.preventDefault();
  link.focus();
}

/** A table whose name only screen readers say. On a phone each of its rows is a card. */
export const Table = ({ name, columns, id, place, children }: TableProps): VNode => (
  <table class="table cards" {...place}>
    <caption class="unseen">{name}</caption>
    <thead>
      <tr>
        {columns.map((column) => {
          const [text, kind] = typeof column === 'string' ? [column] : column;
          return (
            <th key={text} scope="col" class={kind}>
              {text === 'Actions' ? <span class="unseen">{text}</span> : text}
            </th>
          );
        })}
      </tr>
    </thead>
    <tbody id={id} data-rows onKeyDown={moveRow}>
      {children}
    </tbody>
  </table>
);

interface Fact {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly class?: string;
  readonly title?: string;
}

/** Names and values, one pair a line. */
export const Facts = ({ facts }: { readonly facts: readonly Fact[] }): VNode => (
  <dl class="kv">
    {facts.map(({ name, value, ...props }) => [
      <dt key={name}>{name}</dt>,
      <dd key={`${name} value`} {...props}>
        {value}
      </dd>,
    ])}
  </dl>
);

const RING = 2 * Math.PI * 8;
const SOON_S = 3600;

/**
 * Shows the time left until `until`, and a ring that is full at `from` and empty at `until`. Both are amber during the
 * last hour.
 */
export function Countdown({ from, until }: { readonly from: string; readonly until: string }): VNode {
  const end = Date.parse(until);
  const leftS = (end - Date.now()) / 1000;
  const share = Math.max(0, Math.min(1, (end - Date.now()) / (end - Date.parse(from) || 1)));
  return (
    <span class={`left small ${leftS < SOON_S ? 'soon' : 'quiet'}`}>
      <svg viewBox="0 0 20 20" aria-hidden="true">
        <circle cx={10} cy={10} r={8} />
        <circle cx={10} cy={10} r={8} stroke-dasharray={`${(RING * share).toFixed(1)} ${RING.toFixed(1)}`} />
      </svg>
      {leftWords(leftS)}
    </span>
  );
}

function leftWords(leftS: number): string {
  if (leftS <= 0) return 'over';
  if (leftS < 60) return 'less than a minute left';
  return leftS < SOON_S ? `${Math.ceil(leftS / 60)} min left` : `${Math.ceil(leftS / 3600)} h left`;
}
