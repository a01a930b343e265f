/** What the list of jobs is narrowed to; all of it is in the address. */
export interface JobFilter {
  /** A part of the id, or a whole filter expression. */
  readonly text: string
  readonly status: string
  readonly type: string
  /** The API orders by the last change, from either end. */
  readonly order: 'newest' | 'oldest'
}

export function readJobFilter(search: URLSearchParams): JobFilter {
  return {
    text: search.get('q') ?? '',
    status: search.get('status') ?? '',
    type: search.get('type') ?? '',
    order: search.get('order') === 'oldest' ? 'oldest' : 'newest',
  }
}

/** Words that only an expression has. */
const EXPRESSION = /\s(?:==|!=|contains|matches|in|not in|is|and|or)\s/

/** The filter expression of the API; undefined when everything is wanted. */
export function filterExpression({
  text,
  status,
  type,
}: Omit<JobFilter, 'order'>): string | undefined {
  const parts = [
    ...(text === '' ? [] : [EXPRESSION.test(text) ? `(${text})` : `ID contains ${quote(text)}`]),
    ...(status === 'stopped' ? ['Stop == true'] : []),
    ...(status === '' || status === 'stopped' ? [] : [`Status == ${quote(status)}`]),
    ...(type === '' ? [] : [`Type == ${quote(type)}`]),
  ]
  return parts.length === 0 ? undefined : parts.join(' and ')
}

/** The expression's strings end at a quote and know no escapes but in the other form. */
function quote(text: string): string {
  return text.includes('"') ? `\`${text.replaceAll('`', '')}\`` : `"${text}"`
}
