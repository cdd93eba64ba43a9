// Makes Swagger UI show each operation's error answers in one collapsible table.

/**
 * Returns a plugin for Swagger UI.
 * @param {any} system
 */
export const foldedOperation = ({ React }) => {
  const element = React.createElement;

  const refusals = (/** @type {[string, string][]} */ entries) =>
    element(
      'details',
      { className: 'refusals' },
      element('summary', null, `Refusals: ${entries.map(([status]) => status).join(', ')}`),
      element(
        'table',
        null,
        element(
          'tbody',
          null,
          ...entries.map(([status, text]) =>
            element(
              'tr',
              { key: status },
              element('th', { scope: 'row' }, status),
              element('td', null, ...words(text)),
            ),
          ),
        ),
      ),
    );

  /** Renders text, with the parts between backticks as code. */
  const words = (/** @type {string} */ text) =>
    text.split('`').map((part, at) => (at % 2 === 0 ? part : element('code', { key: at }, part)));

  const isRefusal = (/** @type {string} */ status) => /^[45]|^default$/.test(status);

  const wrapped = (/** @type {any} */ Responses) => (/** @type {any} */ props) => {
    const { responses } = props;
    // Takes the error answers from `responses`, where Swagger UI has resolved the references. In `specJson` they are
    // unresolved, so the descriptions are missing.
    const refused = responses.entrySeq().filter((/** @type {[string]} */ [status]) => isRefusal(status));
    const shown = refused
      .map((/** @type {[string, any]} */ [status, answer]) => [
        status === 'default' ? 'Other' : status,
        answer.get('description'),
      ])
      .toJS();
    return element(
      React.Fragment,
      null,
      element(Responses, {
        ...props,
        responses: responses.filterNot((/** @type {any} */ _, /** @type {string} */ status) => isRefusal(status)),
      }),
      shown.length === 0 ? null : refusals(shown),
    );
  };

  return { wrapComponents: { responses: wrapped } };
};
