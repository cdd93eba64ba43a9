// Makes Swagger UI show each operation's error answers in one collapsible table.

/** The parts of React that are used here. Swagger UI brings its own. */
interface React {
  readonly Fragment: unknown;
  createElement(kind: unknown, props: object | null, ...children: readonly unknown[]): unknown;
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
}

/** A plugin of Swagger UI. */
interface Plugin {
  readonly wrapComponents: { readonly responses: (responses: unknown) => (props: ResponsesProps) => unknown };
}

const isRefusal = (status: string): boolean => /^[45]|^default$/.test(status);

export function foldedOperation({ React }: { readonly React: React }): Plugin {
  const element: React['createElement'] = (kind, props, ...children) => React.createElement(kind, props, ...children);

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
      element(responses, { ...props, responses: others }),
      refused.length === 0 ? null : refusals(refused),
    );
  };

  return { wrapComponents: { responses: wrapped } };
}
