// The choice of one Mac's events, where the service has those of several.

import type { Signal } from '@preact/signals';
import type { VNode } from 'preact';
import { macs } from '../../service/service.ts';

export const MacChoice = ({ chosen }: { readonly chosen: Signal<string> }): VNode | null =>
  macs().length < 2 ? null : (
    <select
      class="input"
      aria-label="Mac"
      value={chosen.value}
      onChange={({ currentTarget: { value } }) => {
        chosen.value = value;
      }}
    >
      <option value="">All Macs</option>
      {macs().map(({ id }) => (
        <option key={id} value={id}>
          {id}
        </option>
      ))}
    </select>
  );
