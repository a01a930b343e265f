/** Returns the query of a policy; the default is `deny` of its package. */
export function resolveQuery(query: string | null | undefined, code: string): string {
  if (query !== null && query !== undefined && query.trim() !== '') return qualifyQuery(query)
  const name = /^\s*package\s+([^\s;]+)/m.exec(code)?.[1] ?? ''
  return `data.${name}.deny`
}

/** Adds the prefix `data.` to a bare reference. Other terms are unchanged. */
export function qualifyQuery(query: string): string {
  const text = query.trim()
  return BARE_REFERENCE.test(text) ? `data.${text}` : text
}

/**
 * Matches a reference that is not called: a query declares no variables, so it must refer to a
 * document.
 */
const BARE_REFERENCE =
  /^(?!(?:data|input|true|false|null|not|some|every)\b)[a-z_]\w*(?:\.\w+|\[[^[\]]*\])*(?![\w.[(])/i
