/** The filters of the job list; all of them are in the URL. */
export interface JobFilter {
  /** A part of the ID, or a filter expression. */
  readonly text: string
  readonly status: string
  readonly type: string
  /** Order by the last change. */
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

/** Operators that identify a filter expression. */
const EXPRESSION_OPERATORS = /\s(?:==|!=|contains|matches|in|not in|is|and|or)\s/

/** Returns the filter expression of the API; undefined without filters. */
export function filterExpression({
  text,
  status,
  type,
}: Omit<JobFilter, 'order'>): string | undefined {
  const parts = [
    ...(text === ''
      ? []
      : [EXPRESSION_OPERATORS.test(text) ? `(${text})` : `ID contains ${quote(text)}`]),
    ...(status === 'stopped' ? ['Stop == true'] : []),
    ...(status === '' || status === 'stopped' ? [] : [`Status == ${quote(status)}`]),
    ...(type === '' ? [] : [`Type == ${quote(type)}`]),
  ]
  return parts.length === 0 ? undefined : parts.join(' and ')
}

/** Quotes a string. Expressions have no escapes, so a text with `"` needs backticks. */
function quote(text: string): string {
  return text.includes('"') ? `\`${text.replaceAll('`', '')}\`` : `"${text}"`
}
