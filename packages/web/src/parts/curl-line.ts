import { HEADERS } from '@reeve/contract'

/** A request as a person would type it. */
export interface ApiCall {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With parameters filled in and encoded: `/v1/job/web`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
}

interface Surroundings {
  readonly address: string
  readonly hasToken: boolean
}

/** The secret is never in it: a line that is copied is also pasted into chats. */
export function curlLine(call: ApiCall, { address, hasToken }: Surroundings): string {
  const { method = 'GET', path, query = {}, body } = call
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') search.set(name, String(value))
  const url = `${address}${path}${search.size === 0 ? '' : `?${search.toString()}`}`
  const isGovernance = path.startsWith('/api/v2')
  const header = isGovernance
    ? 'Authorization: Bearer $REEVE_TOKEN'
    : `${HEADERS.token}: $REEVE_TOKEN`
  return [
    'curl',
    ...(method === 'GET' ? [] : ['-X', method]),
    ...(hasToken || isGovernance ? ['-H', `"${header}"`] : []),
    ...(isGovernance && body !== undefined
      ? ['-H', quoted('Content-Type: application/vnd.api+json')]
      : []),
    quoted(url),
    ...(body === undefined ? [] : ['-d', quoted(JSON.stringify(body))]),
  ].join(' ')
}

/** For a shell: single quotes protect everything but themselves. */
export function quoted(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
