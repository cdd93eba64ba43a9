// One line of the settings.

import type { ComponentChildren, VNode } from 'preact';

interface RowProps {
  readonly name: ComponentChildren;
  readonly text: string;
  /** The value, or the control that changes it. */
  readonly children: ComponentChildren;
}

export const SettingRow = ({ name, text, children }: RowProps): VNode => (
  <div class="setting">
    <div>
      <b>{name}</b>
      <p>{text}</p>
    </div>
    <div class="val">{children}</div>
  </div>
);
