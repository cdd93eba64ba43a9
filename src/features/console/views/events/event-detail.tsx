// One event as JSON.

import type { VNode } from 'preact';
import { number } from '../../../../core/model/figures.ts';
import { Button, Icon, IconButton } from '../../parts/parts.tsx';
import { copy } from '../../parts/toast.ts';
import { curlOf } from '../../service/api.ts';
import type { LiveEvent } from '../../service/live.ts';
import { consoleOf, macOf } from '../../service/place.ts';
import { pathOfConversation } from '../../service/route.ts';
import { may } from '../../service/service.ts';
import { exactTimeOf, fullTimeOf } from '../../service/words.ts';
import { conversationIdOf, type ListedEvent, sendAtOf } from './event-words.ts';

export const SeenAt = ({ atMs, isPrecise = false }: { readonly atMs: number; readonly isPrecise?: boolean }): VNode => (
  <time dateTime={new Date(atMs).toISOString()} title={fullTimeOf(atMs)}>
    {exactTimeOf(atMs, isPrecise)}
  </time>
);

interface DetailProps {
  readonly taken: ListedEvent;
  readonly step: (by: number) => void;
  readonly close: () => void;
}

export function EventDetail({ taken, step, close }: DetailProps): VNode {
  const { event } = taken;
  const written = 'timestamp' in event.data ? event.data.timestamp : undefined;
  const isScheduled = sendAtOf(event) !== undefined;
  const message = may('read') ? messagePath(event) : undefined;
  const row = rowOf(event);
  return (
    <>
      <div class="row">
        <h2 class="grow">{event.type}</h2>
        <IconButton kind="mini bare flip" icon="down" label="Newer event" run={() => step(-1)} />
        <IconButton kind="mini bare" icon="down" label="Older event" run={() => step(1)} />
        <IconButton kind="mini bare" icon="x" label="Close" run={close} />
      </div>
      <dl class="kv">
        {taken.isExact && <dt>Seen here</dt>}
        {taken.isExact && (
          <dd>
            <SeenAt atMs={taken.atMs} isPrecise />
          </dd>
        )}
        {written && <dt>{isScheduled ? 'To be sent' : 'Written'}</dt>}
        {written && <dd class="num">{exactTimeOf(written)}</dd>}
        {taken.count && <dt>Shown here</dt>}
        {taken.count && <dd>the newest of {number(taken.count)}</dd>}
      </dl>
      <div class="row wrap">
        {message !== undefined && (
          <a class="btn" href={message}>
            <Icon name="chat" />
            Open message
          </a>
        )}
        {row !== undefined && (
          <Button run={() => copy(curlOf(`events?after=${row - 1}&limit=1`))}>
            <Icon name="copy" />
            Copy as curl
          </Button>
        )}
      </div>
      <Json value={event} />
    </>
  );
}

/** Returns the address of the event's message; undefined if the message is gone or unknown. */
function messagePath(event: LiveEvent): string | undefined {
  const conversation = conversationIdOf(event);
  if (conversation === undefined || event.type === 'messages.changed' || event.type === 'message.removed') {
    return undefined;
  }
  const id = 'message_id' in event.data ? event.data.message_id : '';
  const hash = pathOfConversation(conversation, id || event.data.id);
  const mac = macOf(event.data);
  return mac === undefined ? hash : consoleOf(mac, hash);
}

/** Returns the row with which the event can be read again; undefined if it cannot. */
function rowOf({ type, data }: LiveEvent): number | undefined {
  if (type === 'message.updated' || !('id' in data)) return undefined;
  const row = Number(data.id);
  return Number.isFinite(row) ? row : undefined;
}

const TOKEN = /("(?:[^"\\]|\\.)*")(?=\s*:)|("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*)|true|false|null/g;

/** Shows a value as coloured JSON. */
function Json({ value }: { readonly value: unknown }): VNode {
  const text = JSON.stringify(value, undefined, 2);
  return (
    <div class="code">
      <pre class="json">{text.split('\n').map(jsonLine)}</pre>
      <Button kind="mini icon bare" aria-label="Copy JSON" run={() => copy(text)}>
        <Icon name="copy" />
      </Button>
    </div>
  );
}

/** Draws a line of JSON. The rest of a long line is indented further, so that it does not look like another line. */
function jsonLine(text: string): VNode {
  const parts: (string | VNode)[] = [];
  let end = 0;
  for (const { 0: found, 1: key, 2: string, 3: figure, index } of text.matchAll(TOKEN)) {
    const kind = key !== undefined ? 'k' : string !== undefined ? 's' : figure !== undefined ? 'n' : 'z';
    parts.push(text.slice(end, index), <span class={kind}>{found}</span>);
    end = index + found.length;
  }
  return (
    <span class="block" style={{ '--in': text.search(/\S/) + 2 }}>
      {parts}
      {text.slice(end)}
    </span>
  );
}
