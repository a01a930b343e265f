import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { Steps } from '@reeve/kit/slices.ts'
import { LIMITS, PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import type { TableName } from '../../state/index.ts'
import { inSlices, type WorkOrigin } from '../context.ts'
import {
  ALL_CONTEXTS,
  CONTEXTS,
  isObjectContext,
  type ObjectContext,
  type SearchScope,
} from './contexts.ts'

interface PrefixRequest {
  readonly text: string
  readonly context: string
  readonly origin: WorkOrigin
}

/** Result of a search: matches by context, and whether each is truncated. */
export interface SearchResult<Match> {
  readonly matches: ReadonlyMap<string, readonly Match[]>
  readonly truncations: ReadonlyMap<string, boolean>
  /** The searched tables. */
  readonly tables: readonly TableName[]
}

/** Finds all objects whose ID or name starts with a text. */
export async function searchPrefix(
  scope: SearchScope,
  { text: prefix, context, origin }: PrefixRequest,
): Promise<Result<SearchResult<string>, Refusal>> {
  const contexts = selectObjectContexts(scope, context)
  if (!contexts.ok) return contexts
  const found = await inSlices(searchContexts(scope, contexts.value, prefix), origin)
  return ok({
    matches: new Map(found.map(([name, { matches }]) => [name, matches])),
    truncations: new Map(found.map(([name, { isTruncated }]) => [name, isTruncated])),
    tables: contexts.value.flatMap((name) => CONTEXTS[name].tables),
  })
}

/** Searches one context per step, up to the number of rows that `takeMatches` examines. */
function* searchContexts(
  scope: SearchScope,
  contexts: readonly ObjectContext[],
  prefix: string,
): Steps<readonly (readonly [ObjectContext, ContextMatches])[]> {
  const found: [ObjectContext, ContextMatches][] = []
  for (const name of contexts) {
    found.push([name, takeMatches(scope, name, prefix)])
    yield
  }
  return found
}

/** Returns the contexts to search: the requested one, or all that the caller may search. */
function selectObjectContexts(
  scope: SearchScope,
  context: string,
): Result<readonly ObjectContext[], Refusal> {
  if (context !== '' && context !== 'all' && !isObjectContext(context))
    return err(unknownContext(context, ALL_CONTEXTS))
  const requested = isObjectContext(context) ? [context] : ALL_CONTEXTS
  const permitted = requested.filter((name) => CONTEXTS[name].isPermitted(scope))
  return permitted.length === 0 ? err(PERMISSION_DENIED) : ok(permitted)
}

/** Maximum number of characters of an unknown context in an error. */
const CHARS_SHOWN_MAX = 64

export function unknownContext(context: string, known: readonly string[]): Refusal {
  const names = known.join(', ')
  return refusal(
    'invalid-input',
    `context must be one of ${names} or all; got "${context.slice(0, CHARS_SHOWN_MAX)}"`,
  )
}

interface ContextMatches {
  readonly matches: readonly string[]
  readonly isTruncated: boolean
}

/**
 * Returns the first matches. If too many hidden rows share the prefix the search stops and is
 * marked truncated.
 */
export function takeMatches(
  scope: SearchScope,
  context: ObjectContext,
  prefix: string,
): ContextMatches {
  const matches: string[] = []
  let examined = 0
  for (const match of CONTEXTS[context].find(scope, prefix)) {
    const isFull = match !== undefined && matches.length === LIMITS.searchMatchesMax
    if (isFull || examined++ === LIMITS.searchRowsMax) return { matches, isTruncated: true }
    if (match !== undefined) matches.push(match)
  }
  return { matches, isTruncated: false }
}
