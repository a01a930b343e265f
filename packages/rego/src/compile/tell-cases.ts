import { TEST_CASE } from '../builtins/tracing.ts'
import type { Literal, Rule, Term } from '../syntax/tree.ts'

/**
 * Rewrites an object rule so that an evaluation reports every key for which its body is tried.
 * `test_add[name] if { some name, t in cases; t.want == add(t.a, t.b) }` only has entries for cases
 * that hold, but a test must name those that do not.
 */
export function withCases(rule: Rule): Rule {
  const [, ...keys] = rule.path
  const wanted = variablesOf(keys)
  const missing = new Set(wanted)
  let at = 0
  while (missing.size > 0 && at < rule.body.length) {
    const literal = rule.body[at]
    // Variables declared by `some` alone have no value yet.
    if (literal !== undefined && literal.type !== 'some')
      for (const name of variablesOf(literal)) missing.delete(name)
    at++
  }
  const told: Literal = { type: 'expression', term: caseCall(keys, rule.at), with: [], at: rule.at }
  return { ...rule, body: [...rule.body.slice(0, at), told, ...rule.body.slice(at)] }
}

function caseCall(keys: readonly Term[], at: number): Term {
  return {
    type: 'call',
    name: TEST_CASE.split('.'),
    operands: [{ type: 'array', items: keys, at }],
    at,
  }
}

/** Returns the names of all variables in a part of a rule. */
function variablesOf(node: object): readonly string[] {
  if ('type' in node && node.type === 'var' && 'name' in node) return [String(node.name)]
  return Object.values(node).flatMap((part: unknown) =>
    typeof part === 'object' && part !== null ? variablesOf(part) : [],
  )
}
