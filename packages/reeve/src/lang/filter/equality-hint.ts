import type { Expression } from './ast.ts'
import type { Filter } from './compile.ts'

/**
 * Fields that must equal a text for a row to pass: the `Field == "text"` parts of a top-level `and`
 * chain. A list may fetch by an index on one of them; it still asks the filter about every row it
 * gets.
 */
export function equalityHint(filter: Filter): ReadonlyMap<string, string> {
  const hint = new Map<string, string>()
  for (const part of conjuncts(filter.expression)) {
    if (part.kind !== 'match' || part.operator !== 'equal' || part.negated) continue
    const [field, ...deeper] = part.selector.path
    if (field === undefined || deeper.length > 0 || !isTextField(filter, field)) continue
    // Of two demands on one field the first is as good as any: no row passes both unless they
    // agree.
    if (!hint.has(field)) hint.set(field, part.value)
  }
  return hint
}

/** The parts that must all hold, wherever parentheses put them. */
function conjuncts(expression: Expression): readonly Expression[] {
  const found: Expression[] = []
  const pending = [expression]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.kind === 'and') pending.push(next.right, next.left)
    else found.push(next)
  }
  return found
}

/** Texts compare as written; the literal of a number or a boolean has several spellings. */
function isTextField(filter: Filter, field: string): boolean {
  const { kinds, hidden } = filter.options
  if (hidden?.includes(field) === true) return false
  if (kinds === undefined) return true
  return kinds.kind === 'struct' && kinds.fields.get(field)?.kind === 'string'
}
