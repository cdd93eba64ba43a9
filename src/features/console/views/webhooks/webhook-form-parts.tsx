// Parts of a webhook's form: its secret, and what stands beside it.

import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { Field } from '../../parts/choices.tsx';
import { Button, Card, CodeLine, Icon } from '../../parts/parts.tsx';
import { copy, toast } from '../../parts/toast.ts';
import { commandOf } from '../../service/service.ts';

interface SecretProps {
  readonly secret: string;
  readonly isStored: boolean;
  readonly change: (secret: string) => void;
}

export function SecretField({ secret, isStored, change }: SecretProps): VNode {
  const field = useRef<HTMLInputElement>(null);
  const make = (): void => {
    // Base64 of 24 bytes needs no padding. Libraries decode all of it, so no character may be left out.
    const bytes = crypto.getRandomValues(new Uint8Array(24));
    change(`whsec_${btoa(String.fromCharCode(...bytes))}`);
    requestAnimationFrame(() => field.current?.select());
    toast('Give this secret to the receiver now: it is not shown again');
  };
  return (
    <div class="row with-field">
      <div class="grow">
        <Field
          label="Secret"
          hint={`Signs each delivery, so that your receiver knows who sent it.${secret === '' ? '' : ' Shown only now.'}`}
        >
          <input
            class="input mono"
            type="text"
            maxLength={256}
            autocomplete="off"
            spellcheck={false}
            placeholder={isStored ? 'Unchanged' : ''}
            ref={field}
            value={secret}
            onInput={({ currentTarget }) => change(currentTarget.value)}
          />
        </Field>
      </div>
      {secret !== '' && (
        <Button kind="icon" aria-label="Copy the secret" run={() => copy(secret)}>
          <Icon name="copy" />
        </Button>
      )}
      <Button run={make}>Make one</Button>
    </div>
  );
}

interface SampleProps {
  readonly url: string;
  readonly events: readonly string[];
  readonly isSigned: boolean;
}

/** Returns the path of an address that may not be complete yet. */
const pathIn = (url: string): string => (URL.canParse(url) ? new URL(url).pathname : '/');

/** Returns a delivery as the form would have it. */
const sampleOf = ({ url, events, isSigned }: SampleProps): readonly string[] => [
  `POST ${pathIn(url)}`,
  'X-Webhook-Delivery: 6f1c…',
  ...(isSigned ? ['X-Webhook-Signature: sha256=9f2c…'] : []),
  '',
  '{',
  `  "type": "${events.find((type) => type.startsWith('message.')) ?? 'message.received'}",`,
  '  "data": {',
  '    "id": "48210",',
  '    "conversation_id": "any;-;+15550100",',
  '    "sender": "+15550100",',
  '    "body": "I can bring the ladder",',
  '    …',
  '  }',
  '}',
];

/** An example of a delivery, and a command for somebody without a receiver. */
export const Beside = (props: SampleProps): VNode => (
  <aside class="stack loose">
    <Card title="What your receiver gets">
      <div class="body">
        <CodeLine text={sampleOf(props).join('\n')} label="Copy the example" />
      </div>
    </Card>
    <Card title="No receiver yet?">
      <div class="body stack">
        <p class="quiet">This command prints each delivery:</p>
        <CodeLine text={commandOf('webhooks listen')} />
      </div>
    </Card>
  </aside>
);
