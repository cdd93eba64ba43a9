// The preferences of this browser.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { Segments } from '../../parts/choices.tsx';
import { Button } from '../../parts/parts.tsx';
import { currentKey } from '../../service/api.ts';
import { forgetKey, isRemembered, keepKey } from '../../service/kept-key.ts';
import { enterSends, hasLetters, keepPreference, MODIFIER, schemeNow } from '../../service/preferences.ts';
import { isOwner } from '../../service/service.ts';
import { SettingRow } from './setting-row.tsx';

interface SwitchProps {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly isOn: boolean;
  readonly change: (isOn: boolean) => void;
}

const SwitchRow = ({ id, name, text, isOn, change }: SwitchProps): VNode => (
  <SettingRow name={name} text={text}>
    <input
      type="checkbox"
      // biome-ignore lint/a11y/useAriaPropsForRole: a check box has its own state.
      role="switch"
      class="switch"
      id={id}
      aria-label={name}
      defaultChecked={isOn}
      onChange={({ currentTarget }) => change(currentTarget.checked)}
    />
  </SettingRow>
);

export const BrowserCard = (): VNode => (
  <section class="card">
    <SettingRow name="Theme" text="Follows the system unless you choose.">
      <ThemeChoice />
    </SettingRow>
    <SwitchRow
      id="enter-sends"
      name="Enter sends"
      text="Shift+Enter starts a new line."
      isOn={enterSends()}
      change={(isOn) => keepPreference('enter', isOn ? 'sends' : 'breaks', 'sends')}
    />
    <SwitchRow
      id="letters"
      name="Letters as shortcuts"
      text={`n, / and g with a letter. ${MODIFIER}K and Escape always work.`}
      isOn={hasLetters()}
      change={(isOn) => keepPreference('letters', isOn ? 'on' : 'off', 'on')}
    />
    <SwitchRow
      id="remembers"
      name="Keep me signed in"
      text="Keeps the key on this device, not only in this tab."
      isOn={isRemembered()}
      change={(isOn) => keepKey(currentKey(), isOn)}
    />
    <SettingRow
      name={isOwner() ? 'Signed in as the owner' : 'Signed in with a limited key'}
      text={isOwner() ? 'This key may do everything.' : 'This page shows only what the key may see.'}
    >
      <Button kind="bad" id="sign-out" run={signOut}>
        Sign out
      </Button>
    </SettingRow>
  </section>
);

function ThemeChoice(): VNode {
  const scheme = useSignal(schemeNow());
  return (
    <Segments
      label="Theme"
      choices={[
        ['auto', 'System'],
        ['light', 'Light'],
        ['dark', 'Dark'],
      ]}
      value={scheme.value}
      choose={(chosen) => {
        scheme.value = chosen;
        keepPreference('scheme', chosen, 'auto');
      }}
    />
  );
}

function signOut(): void {
  forgetKey();
  location.reload();
}
