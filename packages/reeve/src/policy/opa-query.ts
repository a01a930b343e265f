/** What a policy is asked: without a query, for `deny` of its package. */
export function opaQuery(query: string | null | undefined, code: string): string {
  if (query !== null && query !== undefined && query.trim() !== '') return withData(query)
  const name = /^\s*package\s+([^\s;]+)/m.exec(code)?.[1] ?? ''
  return `data.${name}.deny`
}

/** `data.` may be left out. Other terms are asked as they are. */
export function withData(query: string): string {
  const text = query.trim()
  return BARE_REFERENCE.test(text) ? `data.${text}` : text
}

/** A name that is not called: a query declares none, so it must be a document's. */
const BARE_REFERENCE =
  /^(?!(?:data|input|true|false|null|not|some|every)\b)[a-z_]\w*(?:\.\w+|\[[^[\]]*\])*(?![\w.[(])/i
