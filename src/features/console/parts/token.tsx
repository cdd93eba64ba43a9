// Something chosen, such as a person or a file, with a button that takes it away again.

import type { ComponentChildren, VNode } from 'preact';

interface TokenProps {
  readonly name: string;
  readonly title?: string;
  readonly remove: () => void;
  /** Shown after the name. */
  readonly children?: ComponentChildren;
}

export const Token = ({ name, title, remove, children }: TokenProps): VNode => (
  <span class="token" title={title}>
    <span class="cut" dir="auto">
      {name}
    </span>
    {children}
    <button type="button" aria-label={`Remove ${name}`} onClick={remove}>
      ×
    </button>
  </span>
);
