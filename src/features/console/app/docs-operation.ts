// Makes Swagger UI show samples of each operation's request, and its error answers in one collapsible table.

import { type DescribedOperation, samplesOf } from './docs-samples.ts';

/** The parts of React that are used here. Swagger UI brings its own. */
interface React {
  readonly Fragment: unknown;
  createElement(kind: unknown, props: object | null, ...children: readonly unknown[]): unknown;
  useState<Value>(first: Value): [value: Value, set: (value: Value) => void];
}

/** An operation's answers by status, as Swagger UI keeps them. */
interface Answers {
  filterNot(isOut: (answer: Answer, status: string) => boolean): Answers;
  entrySeq(): Iterable<readonly [status: string, answer: Answer]>;
}

interface Answer {
  get(name: 'description'): string;
}

interface ResponsesProps {
  readonly responses: Answers;
  readonly path: string;
  readonly method: string;
  readonly specSelectors: {
    specJson(): { getIn(path: readonly string[]): { toJS(): unknown } | undefined };
  };
}

/** A plugin of Swagger UI. */
interface Plugin {
  readonly wrapComponents: { readonly responses: (responses: unknown) => (props: ResponsesProps) => unknown };
}

const isRefusal = (status: string): boolean => /^[45]|^default$/.test(status);

/** Makes the component that shows the samples of an operation. */
function sampleBox(React: React): (props: ResponsesProps) => unknown {
  const element: React['createElement'] = (kind, props, ...children) => React.createElement(kind, props, ...children);
  return ({ path, method, specSelectors }: ResponsesProps): unknown => {
    const [chosen, choose] = React.useState('curl');
    const operation = specSelectors.specJson().getIn(['paths', path, method])?.toJS() as DescribedOperation;
    const samples = samplesOf(new URL('.', location.href).href, path, method, operation);
    const text = samples.find(([language]) => language === chosen)?.[1] ?? '';
    const choice = ([language]: readonly [string, string]): unknown =>
      element(
        'button',
        { key: language, type: 'button', 'aria-pressed': language === chosen, onClick: () => choose(language) },
        language,
      );
    const copy = (): void => void navigator.clipboard?.writeText(text);
    return element(
      'div',
      { className: 'sample' },
      element(
        'div',
        { className: 'sample-head' },
        element('h4', null, 'Sample'),
        element('div', { className: 'languages', role: 'group', 'aria-label': 'Language' }, ...samples.map(choice)),
        element('button', { type: 'button', className: 'button', onClick: copy }, 'Copy'),
      ),
      // A region that scrolls needs a way to scroll it by keyboard.
      element('pre', { tabIndex: 0 }, text),
    );
  };
}

export function foldedOperation({ React }: { readonly React: React }): Plugin {
  const element: React['createElement'] = (kind, props, ...children) => React.createElement(kind, props, ...children);
  const Samples = sampleBox(React);

  /** Renders text, with the parts between backticks as code. */
  const words = (text: string): readonly unknown[] =>
    text.split('`').map((part, at) => (at % 2 === 0 ? part : element('code', { key: at }, part)));

  const line = ([status, text]: readonly [status: string, text: string]): unknown =>
    element('tr', { key: status }, element('th', { scope: 'row' }, status), element('td', null, ...words(text)));

  const refusals = (entries: readonly (readonly [status: string, text: string])[]): unknown =>
    element(
      'details',
      { className: 'refusals' },
      element('summary', null, `Refusals: ${entries.map(([status]) => status).join(', ')}`),
      element('table', null, element('tbody', null, ...entries.map(line))),
    );

  const wrapped = (responses: unknown) => (props: ResponsesProps) => {
    // Takes the error answers from `responses`, where Swagger UI has resolved the references. In `specJson` they are
    // unresolved, so the descriptions are missing.
    const refused = [...props.responses.entrySeq()]
      .filter(([status]) => isRefusal(status))
      .map(([status, answer]) => [status === 'default' ? 'Other' : status, answer.get('description')] as const);
    const others = props.responses.filterNot((_, status) => isRefusal(status));
    return element(
      React.Fragment,
      null,
      element(
        'div',
        { className: 'exchange' },
        element(Samples, props),
        element(responses, { ...props, responses: others }),
      ),
      refused.length === 0 ? null : refusals(refused),
    );
  };

  return { wrapComponents: { responses: wrapped } };
}
