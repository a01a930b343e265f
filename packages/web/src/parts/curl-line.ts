import { HEADERS } from '@reeve/contract'

/** A request to show as a curl command. */
export interface ApiCall {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With parameters filled in and encoded: `/v1/job/web`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
}

interface CurlOptions {
  readonly address: string
  readonly hasToken: boolean
}

/** Formats a curl command. It refers to `$REEVE_TOKEN`, because commands are shared. */
export function formatCurl(call: ApiCall, { address, hasToken }: CurlOptions): string {
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
      ? ['-H', quoteShellArg('Content-Type: application/vnd.api+json')]
      : []),
    quoteShellArg(url),
    ...(body === undefined ? [] : ['-d', quoteShellArg(JSON.stringify(body))]),
  ].join(' ')
}

/** Quotes a shell argument with single quotes if necessary. */
export function quoteShellArg(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
