// Controls of forms and filters: segments, chips, fields, options.

import { type ComponentChildren, cloneElement, type InputHTMLAttributes, type VNode } from 'preact';
import { Icon } from './parts.tsx';
import { useUniqueId } from './unique-id.ts';

const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Returns the step of an arrow key; undefined for any other key. */
export const stepOf = (key: string): number | undefined => STEPS[key];

/** Moves the focus by a step among these elements; from the last to the first. */
export function moveFocus(all: readonly HTMLElement[], step: number): void {
  const from = all.indexOf(document.activeElement as HTMLElement);
  all[(from + step + all.length) % all.length]?.focus();
}

interface SegmentsProps<Value extends string> {
  readonly label: string;
  readonly choices: readonly (readonly [Value, text: string])[];
  readonly value: Value;
  readonly choose: (value: Value) => unknown;
}

/** A control for choosing one of two to five values. */
export const Segments = <Value extends string>({ label, choices, value, choose }: SegmentsProps<Value>): VNode => (
  <div
    class="seg"
    role="group"
    aria-label={label}
    onKeyDown={({ key, currentTarget }) => {
      const step = stepOf(key);
      if (step !== undefined) moveFocus([...currentTarget.querySelectorAll('button')], step);
    }}
  >
    {choices.map(([each, text]) => (
      <button key={each} type="button" aria-pressed={each === value} onClick={() => choose(each)}>
        {text}
      </button>
    ))}
  </div>
);

interface ChipProps {
  readonly isOn: boolean;
  readonly toggle: (isOn: boolean) => unknown;
  readonly children: ComponentChildren;
  readonly 'data-group'?: string;
}

/** A button that is on or off, such as a filter. */
export const Chip = ({ isOn, toggle, children, ...props }: ChipProps): VNode => (
  <button type="button" class="chip" aria-pressed={isOn} onClick={() => toggle(!isOn)} {...props}>
    {children}
  </button>
);

interface SearchBoxProps {
  readonly label: string;
  readonly type: (text: string) => void;
}

export const SearchBox = ({ label, type }: SearchBoxProps): VNode => (
  <div class="searchbox">
    <Icon name="search" />
    <input
      class="input"
      type="search"
      aria-label={label}
      placeholder={label}
      autocomplete="off"
      spellcheck={false}
      onInput={({ currentTarget }) => type(currentTarget.value.trim())}
    />
  </div>
);

interface FieldProps {
  readonly label: string;
  /** Text below the control. */
  readonly hint?: string;
  /** The control. */
  readonly children: VNode<{ id?: string; 'aria-describedby'?: string | undefined }>;
}

/** A label, a control, and a hint below it. */
export function Field({ label, hint, children }: FieldProps): VNode {
  const id = useUniqueId();
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {cloneElement(children, { id, 'aria-describedby': hintId })}
      {hint !== undefined && (
        <span class="hint" id={hintId}>
          {hint}
        </span>
      )}
    </div>
  );
}

interface OptionProps extends Pick<InputHTMLAttributes, 'name' | 'value' | 'checked' | 'indeterminate' | 'onChange'> {
  readonly type: 'radio' | 'checkbox';
  readonly title: string;
  /** One line about the consequence. */
  readonly text: string;
  /** Shown to somebody who points at the option. */
  readonly tip?: string;
}

/** A radio button or check box with one line about its consequence. */
export const Option = ({ title, text, tip, ...props }: OptionProps): VNode => (
  <label class="option" title={tip}>
    <input {...props} />
    <b>{title}</b>
    <small>{text}</small>
  </label>
);

/** The values of a list of options, each with its title and a line about its consequence. */
export type Choices<Value> = readonly (readonly [value: Value, title: string, text: string])[];

interface RadioOptionsProps<Value> {
  readonly name: string;
  readonly choices: Choices<Value>;
  readonly value: Value;
  readonly choose: (value: Value) => unknown;
}

/** Options of which one is chosen. */
export const RadioOptions = <Value extends string>(props: RadioOptionsProps<Value>): VNode => (
  <>
    {props.choices.map(([value, title, text]) => (
      <Option
        {...{ value, title, text, name: props.name }}
        key={value}
        type="radio"
        checked={props.value === value}
        onChange={() => props.choose(value)}
      />
    ))}
  </>
);

interface CheckOptionsProps<Value> {
  readonly name: string;
  readonly choices: Choices<Value>;
  readonly values: readonly Value[];
  readonly choose: (values: readonly Value[]) => unknown;
}

/** Options of which any number is chosen. */
export const CheckOptions = <Value extends string>(props: CheckOptionsProps<Value>): VNode => (
  <>
    {props.choices.map(([value, title, text]) => (
      <Option
        {...{ value, title, text, name: props.name }}
        key={value}
        type="checkbox"
        checked={props.values.includes(value)}
        onChange={({ currentTarget: { checked } }) =>
          props.choose([...props.values.filter((one) => one !== value), ...(checked ? [value] : [])])
        }
      />
    ))}
  </>
);

interface FieldsetProps {
  readonly title?: string;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export const Fieldset = ({ title, class: name = 'stack', children }: FieldsetProps): VNode => (
  <fieldset class={name}>
    {title && <legend>{title}</legend>}
    {children}
  </fieldset>
);
